"""Do real networks collapse where geomsolve says?  Handwritten digits, a small network, one minute on a CPU.

Three digits of scikit-learn's data set, 110 zeros, 7 threes and 7 eights; a small perceptron trained by the supervised
contrastive loss of pytorch-metric-learning on random batches of 64 samples in two views.  For every temperature the
program prints what geomsolve predicts for the cosine between the two rare classes, and what the trained network has.

    cosine      between the mean embeddings of 3 and 8
    margin      of a rare training sample: its cosine with its own class mean, less that with the other rare mean
    accuracy    of nearest class mean on threes and eights that were not trained on

Above the predicted temperature the two rare classes are one point: no margin is left, and accuracy falls.  The last row
draws classes equally often, which the theory says restores the regular simplex.

    pip install 'geomsolve[torch]' scikit-learn
    python examples/collapse_on_digits.py --figure collapse.png

At the usual temperature of .1 the loss is at its optimum and yet the angles are not as predicted: the loss does not fix
them.  This saves the embeddings of such a training, and geomsolve says so:

    python examples/collapse_on_digits.py --save .
    geomsolve compare digits.npy --labels digits-labels.npy -t 0.1 --batch 64
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from pytorch_metric_learning.losses import SupConLoss
from sklearn.datasets import load_digits
from torch import Tensor
from torch.nn.functional import normalize

from geomsolve import Imbalance, solve

DIGITS, COUNTS = (0, 3, 8), (110, 7, 7)
BATCH, VIEWS, STEPS = 64, 2, 1500
TEMPERATURES = (0.2, 0.5, 0.8, 1.1, 1.2, 1.5, 2.0)
LOW = 0.1
"""Temperature of the embeddings that are saved: the usual default, where the loss fixes no angle."""

NOISE = 0.05
"""Standard deviation of the noise that makes a view of an image whose pixels run from 0 to 1."""


@dataclass(frozen=True)
class Row:
    """One training: what was predicted and what came out."""

    temperature: float
    balanced: bool
    predicted: float
    cosine: float
    margin: float
    accuracy: float


def data(seed: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Images and labels to train on, and the rest of the rare digits to test on."""
    images, digits = load_digits(return_X_y=True)
    rng = np.random.default_rng(seed)
    train, test = [], []
    for digit, count in zip(DIGITS, COUNTS, strict=True):
        places = rng.permutation(np.flatnonzero(digits == digit))
        train.append(places[:count])
        test.append(places[count:] if digit != DIGITS[0] else places[:0])
    label = {digit: number for number, digit in enumerate(DIGITS)}

    def part(places: list[np.ndarray]) -> tuple[Tensor, Tensor]:
        chosen = np.concatenate(places)
        labels = [label[int(digit)] for digit in digits[chosen]]
        return torch.tensor(images[chosen] / 16, dtype=torch.float32), torch.tensor(labels)

    mean = torch.tensor(images[np.concatenate(train)].mean(0) / 16, dtype=torch.float32)
    (x, y), (unseen, answers) = part(train), part(test)
    return x - mean, y, unseen - mean, answers


def prediction(temperature: float, balanced: bool) -> float:
    """The cosine between the two rare classes at the optimum of the loss on these batches."""
    loss = {"name": "supcon", "temperature": temperature, "batch": BATCH, "views": VIEWS}
    counts = (1, 1, 1) if balanced else COUNTS
    return float(solve(Imbalance(counts=counts, loss=loss)).gram[1, 2])


def fitted(temperature: float, balanced: bool, seed: int = 0, steps: int = STEPS) -> torch.nn.Module:
    """The trained network."""
    torch.manual_seed(seed)
    images, labels, _, _ = data(seed)
    network = torch.nn.Sequential(
        torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Linear(128, 128), torch.nn.ReLU(), torch.nn.Linear(128, 32)
    )
    optimizer = torch.optim.Adam(network.parameters(), lr=3e-3)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
    criterion = SupConLoss(temperature=temperature)
    chance = 1 / torch.tensor(COUNTS, dtype=torch.float32)[labels] if balanced else torch.ones(len(labels))
    for _ in range(steps):
        drawn = torch.multinomial(chance, BATCH, replacement=True)
        views = images[drawn].repeat(VIEWS, 1)
        z = network(views + NOISE * torch.randn_like(views))
        loss = criterion(z, labels[drawn].repeat(VIEWS))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
    return network


def train(temperature: float, balanced: bool, seed: int = 0) -> Row:
    """Train the network and measure it."""
    network = fitted(temperature, balanced, seed)
    images, labels, unseen, answers = data(seed)
    with torch.no_grad():
        z, held_out = normalize(network(images)), normalize(network(unseen))
        means = normalize(torch.stack([z[labels == k].mean(0) for k in range(3)]))
        rare = labels > 0
        near = (z[rare] @ means.T)[:, 1:]
        own = labels[rare] - 1
        margins = near.gather(1, own[:, None]) - near.gather(1, 1 - own[:, None])
        right = (held_out @ means.T).argmax(1) == answers
    return Row(
        temperature,
        balanced,
        prediction(temperature, balanced),
        float(means[1] @ means[2]),
        float(margins.median()),
        float(right.float().mean()),
    )


def rows(seed: int = 0) -> list[Row]:
    """All trainings: every temperature, then one with a balanced sampler."""
    return [*(train(t, False, seed) for t in TEMPERATURES), train(0.5, True, seed)]


def save(folder: Path, temperature: float = LOW, seed: int = 0, steps: int = STEPS) -> None:
    """Train at a low temperature, and save the embeddings of the training set with their labels."""
    images, labels, _, _ = data(seed)
    network = fitted(temperature, False, seed, steps)
    with torch.no_grad():
        z = network(images)
    np.save(folder / "digits.npy", z.numpy())
    np.save(folder / "digits-labels.npy", labels.numpy())


def threshold() -> float:
    """The temperature above which the two rare classes are predicted to be one point."""
    loss = {"name": "supcon", "temperature": 1.0, "batch": BATCH, "views": VIEWS}
    nearest = solve(Imbalance(counts=COUNTS, loss=loss)).nearest_threshold
    assert nearest is not None
    return float(nearest["value"])


def figure(found: list[Row], path: str) -> None:
    """Predicted and trained cosines, and accuracy, against temperature."""
    from matplotlib.figure import Figure

    drawn = Figure(figsize=(7, 3.2), layout="constrained")
    left, right = drawn.subplots(1, 2)
    plain = [row for row in found if not row.balanced]
    t = [row.temperature for row in plain]
    fine = np.linspace(0.2, 2.0, 60)
    left.plot(fine, [prediction(float(x), False) for x in fine], color="0.4", label="predicted")
    left.plot(t, [row.cosine for row in plain], "o", color="C3", label="trained network")
    balanced = [row for row in found if row.balanced]
    left.plot(
        [row.temperature for row in balanced], [row.cosine for row in balanced], "s", color="C0", label="balanced"
    )
    right.plot(t, [row.accuracy for row in plain], "o-", color="C3")
    right.plot([row.temperature for row in balanced], [row.accuracy for row in balanced], "s", color="C0")
    for axes in (left, right):
        axes.axvline(threshold(), color="0.7", linestyle=":")
        axes.set_xlabel("temperature")
    left.set_ylabel("cosine between 3 and 8")
    right.set_ylabel("accuracy on 3 and 8")
    right.set_ylim(0.4, 1.0)
    left.legend(frameon=False)
    drawn.savefig(path, dpi=150)


def main() -> None:
    """Train, print the table, and draw it where asked."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--figure", metavar="FILE", help="also draw it")
    parser.add_argument("--save", metavar="FOLDER", type=Path, help="only save embeddings of a training at .1")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    if arguments.save:
        save(arguments.save, seed=arguments.seed)
        return
    print(f"Predicted: above temperature {threshold():.4g} the classes 3 and 8 are one point.\n")
    print("temperature  sampler    predicted  trained   margin  accuracy")
    found = rows(arguments.seed)
    for row in found:
        sampler = "balanced" if row.balanced else "as it is"
        print(
            f"{row.temperature:11.2f}  {sampler:9s}  {row.predicted:+9.3f}  {row.cosine:+7.3f}  {row.margin:7.4f}  "
            f"{row.accuracy:8.2f}"
        )
    if arguments.figure:
        figure(found, arguments.figure)


if __name__ == "__main__":
    main()
