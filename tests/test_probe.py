"""The probe of a training loop: its numbers, what it refuses, and where it has to work."""

from __future__ import annotations

import contextlib
import json
import math
import subprocess
import sys

import numpy as np
import pytest

from geomsolve import Imbalance, InputError, solve

torch = pytest.importorskip("torch")
from geomsolve import torch as probes  # noqa: E402
from geomsolve.torch import GeometryProbe  # noqa: E402

COUNTS = [70, 20, 10]


def samples(rng, dim=5, noise=0.1):
    labels = np.repeat([0, 1, 2], COUNTS)
    order = rng.permutation(labels.size)
    z = np.eye(3, dim)[labels] - 1 / 3 + noise * rng.standard_normal((labels.size, dim))
    return torch.tensor(z[order]), torch.tensor(labels[order])


def measured(z, labels):
    """The cosines between class means, in numpy, and the mean square distance to the own one."""
    unit = z.double().numpy() / np.linalg.norm(z.double().numpy(), axis=1, keepdims=True)
    means = np.array([unit[labels.numpy() == a].mean(0) for a in range(3)])
    scatter = np.mean(np.sum((unit - means[labels.numpy()]) ** 2, axis=1))
    directions = means / np.linalg.norm(means, axis=1, keepdims=True)
    return directions @ directions.T, scatter


def test_every_scalar_is_what_its_name_says(rng):
    z, labels = samples(rng)
    probe = GeometryProbe(COUNTS, loss="supcon", temperature=0.5)
    for part in torch.arange(100).split(17):
        probe.update(z[part], labels[part])
    gram, scatter = measured(z, labels)
    predicted = solve(Imbalance(COUNTS, tau=0.5))
    off = (gram - predicted.gram)[np.triu_indices(3, 1)]
    found = probe.compute().to_dict("geometry/")
    pairs = gram[np.triu_indices(3, 1)]
    p, t = np.array(COUNTS) / 100, 0.5
    loss = -1 / t + np.sum(p * np.log(np.exp(gram / t) @ p))  # of the population limit, at the class means
    wanted = {
        "error": np.abs(off).max(),
        "rms": np.sqrt(np.mean(off**2)),
        "excess": loss - predicted.value,
        "width": np.sqrt(scatter),
        "smallest_angle": np.degrees(np.arccos(pairs.max())),
        "merged_groups": 0,
        "unseen": 0,
    }
    assert found == pytest.approx({f"geometry/{name}": value for name, value in wanted.items()}, abs=1e-9)
    assert found["geometry/excess"] > 1e-4
    assert all(type(value) is float for value in found.values())


def test_an_optimum_that_is_reached_loses_nothing_and_merged_classes_are_named():
    probe = GeometryProbe([95, 3, 2], temperature=1.0)
    probe.update(torch.tensor([[1.0, 0], [-1, 0], [-1, 0]]), torch.arange(3))
    reading = probe.compute()
    assert reading.merged == (("2", "3"),)
    assert reading.to_dict()["merged_groups"] == 1
    assert reading.to_dict()["error"] == pytest.approx(0, abs=1e-6)
    assert reading.excess == pytest.approx(0, abs=1e-9)
    assert reading.width == 0


def test_classes_that_were_not_seen_are_null_for_themselves():
    probe = GeometryProbe(COUNTS, temperature=0.5)
    nothing = probe.compute()
    assert nothing.samples == 0
    assert all(math.isnan(x) for name, x in nothing.to_dict().items() if name not in ("merged_groups", "unseen"))
    probe.update(torch.tensor([[1.0, 0], [-1, 0]]), torch.tensor([0, 2]))
    reading = probe.compute()
    assert reading.unseen == 1
    assert reading.gram[0, 2] == -1
    assert np.isnan(reading.gram[1]).all()
    assert np.isnan(reading.gram[:, 1]).all()
    assert reading.max_gram_error == pytest.approx(1 + probe.prediction.gram[0, 2], abs=1e-12)
    assert reading.min_angle_deg == pytest.approx(180)
    assert math.isnan(reading.excess)


@pytest.mark.parametrize(
    ("z", "labels", "words"),
    [
        (torch.ones(2, 2), torch.tensor([0, 3]), "1 of the labels are not among the classes, which run from 0 to 2"),
        (torch.ones(2, 2), torch.tensor([0, -1]), "not among the classes"),
        (torch.ones(2, 2), torch.tensor([0.5, 1]), "1 of the labels are no whole numbers"),
        (torch.ones(2, 2), torch.tensor([math.nan, 1]), "no whole numbers"),
        (torch.tensor([[0.0, 0], [1, 1]]), torch.tensor([0, 1]), "1 of the embeddings are zero"),
        (torch.ones(3, 2), torch.zeros(2).long(), r"labels \(n,\)"),
        (torch.ones(2, 4), torch.tensor([0, 1]), "2 dimensions before, now 4"),
        (torch.ones(2, 2, dtype=torch.complex64), torch.tensor([0, 1]), "complex"),
    ],
)
def test_what_is_wrong_is_refused_at_once_and_not_kept(z, labels, words):
    probe = GeometryProbe(COUNTS)
    probe.update(torch.ones(1, 2), torch.tensor([0]))
    with pytest.raises(InputError, match=words):
        probe.update(z, labels)
    assert probe.compute().samples == 1


def test_a_diverged_training_is_told_of_when_it_is_asked():
    probe = GeometryProbe(COUNTS)
    probe.update(torch.tensor([[math.nan, 1], [math.inf, 0], [1, 0]]), torch.tensor([0, 1, 2]))
    with pytest.raises(InputError, match="2 of the embeddings are nan or infinite; training has diverged"):
        probe.compute()
    probe.reset()
    assert probe.compute().samples == 0
    with pytest.raises(InputError, match="features and classifiers"):
        GeometryProbe(COUNTS, loss="cross-entropy")


def test_whole_numbers_in_any_type_and_vectors_of_any_length(rng):
    z, labels = samples(rng)
    wanted, _ = measured(z, labels)
    for scale in (1e-200, 1e200):
        probe = GeometryProbe(COUNTS)
        probe.update(z * scale, labels.to(torch.float32))
        np.testing.assert_allclose(probe.compute().gram, wanted, atol=1e-12)


@pytest.mark.parametrize("without", [False, True], ids=["float64", "no float64"])
def test_merged_probes_have_seen_it_all(rng, monkeypatch, without):
    """Also on a device without float64, here the CPU taken for one: 7 + 9 digits of a sum instead of 16."""
    if without:
        monkeypatch.setattr(probes, "WITHOUT_FLOAT64", {"cpu"})
    z, labels = samples(rng)
    one, other, empty = (GeometryProbe(COUNTS) for _ in range(3))
    one.update(z[:60], labels[:60])
    for part in torch.arange(60, 100).split(3):
        other.update(z[part], labels[part])
    gram, scatter = measured(z, labels)
    reading = empty.merge(one, other, GeometryProbe(COUNTS)).compute()
    tolerance = 1e-6 if without else 1e-12
    np.testing.assert_allclose(reading.gram, gram, atol=tolerance)
    assert reading.within_class == pytest.approx(scatter, abs=tolerance)
    assert reading.counts.tolist() == COUNTS
    assert one.compute().samples == 60
    with pytest.raises(InputError, match="other classes"):
        one.merge(GeometryProbe([1, 1]))


def test_rounding_does_not_pile_up_without_float64(monkeypatch):
    """3,000 batches, each a sample along (1, 1e-4): plain float32 loses more than a hundred times as much."""
    monkeypatch.setattr(probes, "WITHOUT_FLOAT64", {"cpu"})
    probe = GeometryProbe([1, 1])
    sums = torch.tensor([[1.0, 1e-4], [0, 0]], dtype=torch.float32)
    for _ in range(3000):
        probe._add(sums, torch.tensor([1, 0]), torch.zeros(4, dtype=torch.int64))
    total, _, _ = probe._summed()
    exact = 3000 * float(sums[0, 1])
    plain = float(np.add.accumulate(np.full(3000, 1e-4, dtype=np.float32))[-1])
    assert abs(float(total[0, 1]) - exact) < 1e-8 * exact
    assert abs(plain - exact) > 1e-6 * exact


@pytest.mark.parametrize("around", ["inference", "autocast", "no_grad", "mixed"])
def test_it_works_within_other_modes(rng, around):
    z, labels = samples(rng)
    wanted, _ = measured(z, labels)
    modes = {
        "inference": torch.inference_mode,
        "autocast": lambda: torch.autocast("cpu", dtype=torch.bfloat16),
        "no_grad": torch.no_grad,
    }
    probe = GeometryProbe(COUNTS)
    for i, part in enumerate(torch.arange(100).split(20)):
        mode = list(modes.values())[i % 3] if around == "mixed" else modes[around]
        with mode() if i != 2 else contextlib.nullcontext():  # in and out
            probe.update(z[part] * 1, labels[part])
    np.testing.assert_allclose(probe.compute().gram, wanted, atol=1e-12)
    weights = z.clone().requires_grad_()
    probe.update(weights, labels)
    assert weights.grad is None
    assert not probe._sums.requires_grad


WORKER = """
import json, sys
import torch
from torch import distributed as dist
from geomsolve import InputError
from geomsolve.torch import GeometryProbe
rank, place = int(sys.argv[1]), sys.argv[2]
dist.init_process_group("gloo", init_method=f"file://{place}", rank=rank, world_size=2)
z = torch.tensor([[1.0, 0], [0, 1], [-1, 0], [1, 1]])
y = torch.tensor([0, 1, 2, 0])
probe = GeometryProbe([70, 20, 10], temperature=0.5)
alone = GeometryProbe([70, 20, 10], temperature=0.5, sync=False)
half = slice(2 * rank, 2 * rank + 2)
probe.update(z[half], y[half]), alone.update(z[half], y[half])
said = {"both": probe.compute().gram.tolist(), "alone": alone.compute().samples, "again": probe.compute().samples}
probe.reset()
if rank:
    probe.update(z, y)
said["one empty"] = probe.compute().samples
probe.reset()
probe.update(z[:, :1] if rank else z, y) if not rank else probe.update(torch.ones(4, 1), y)
try:
    probe.compute()
except InputError as error:
    said["error"] = str(error)
print(json.dumps(said))
dist.destroy_process_group()
"""


@pytest.mark.slow
def test_processes_of_a_distributed_training_add_up(tmp_path):
    workers = [
        subprocess.Popen(
            [sys.executable, "-c", WORKER, str(rank), str(tmp_path / "meeting")],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )
        for rank in range(2)
    ]  # fmt: skip
    ended = [worker.communicate(timeout=120) for worker in workers]
    assert [worker.returncode for worker in workers] == [0, 0], ended
    whole = GeometryProbe(COUNTS, temperature=0.5)
    whole.update(torch.tensor([[1.0, 0], [0, 1], [-1, 0], [1, 1]]), torch.tensor([0, 1, 2, 0]))
    for out, _ in ended:
        said = json.loads(out.splitlines()[-1])
        np.testing.assert_allclose(said["both"], whole.compute().gram, atol=1e-15)
        assert (said["alone"], said["again"], said["one empty"]) == (2, 4, 4)
        assert said["error"] == "embeddings have 1 to 2 dimensions in the processes"


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of the trainer
def test_the_callback_logs_each_epoch(tmp_path):
    try:
        import lightning.pytorch as trainers
    except ModuleNotFoundError:
        trainers = pytest.importorskip("pytorch_lightning", reason="pip install 'geomsolve[lightning]'")
    from geomsolve.lightning import GeometryCallback

    class Encoder(trainers.LightningModule):
        def __init__(self, returned):
            super().__init__()
            self.map, self.returned = torch.nn.Linear(5, 3), returned

        def training_step(self, batch, index):
            z = self.map(batch[0])
            return {"loss": z.square().mean(), "embeddings": z, "labels": batch[1]} if self.returned else z.mean()

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), lr=0.0)

    z, labels = samples(np.random.default_rng(0))
    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(z.float(), labels), batch_size=20)
    probe = GeometryProbe(COUNTS, temperature=0.5)
    how = {"max_epochs": 2, "accelerator": "cpu", "logger": False, "enable_checkpointing": False}
    how |= {"enable_progress_bar": False, "enable_model_summary": False, "default_root_dir": tmp_path}
    trainer = trainers.Trainer(callbacks=[GeometryCallback(probe)], **how)
    encoder = Encoder(returned=True)
    trainer.fit(encoder, loader)
    assert probe.compute().samples == 100  # of the last epoch
    with torch.no_grad():
        gram, _ = measured(encoder.map(z.float()), labels)
    off = np.abs(gram - probe.prediction.gram).max()
    assert float(trainer.callback_metrics["geometry/error"]) == pytest.approx(off, abs=1e-5)
    with pytest.raises(InputError, match="'embeddings' and 'labels'"):
        trainers.Trainer(callbacks=[GeometryCallback(probe)], **how).fit(Encoder(returned=False), loader)
