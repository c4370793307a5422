"""Training with cross-entropy: free features, several a class, and one classifier a class, with torch's own loss.

    budget        features and classifiers are scaled to the lengths that they may have; with label smoothing, only down
    weight decay  lam (|W|^2 + sum over all N samples of |h|^2) / 2 is added; a feature stands for N q_i of the samples
    margins       the limit lam -> 0 has no end, as logits grow for ever; its direction is that of the shortest vectors
                  that leave every sample ahead of all other classes by 1.  Trained is (|W|^2 + sum_i q_i |h_i|^2) / 2
                  with squares of what margins lack; the value is that of the vectors scaled up to margins of 1

The vectors are those of all features first, classifiers after.

Symbols: h ``features``, W ``classifiers``, q_i ``population.weights``, lam ``decay``.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from geomsolve.descent.experiments import Estimate, Experiment
from geomsolve.descent.population import Population

STIFFNESS = 300.0
"""Weight of the squares of what margins lack: they stay short by a force, well below 1, over this."""

NO_MARGIN = 1e-6
"""Least margin that vectors are scaled up from."""


class Classifier(Experiment):
    """Cross-entropy on one population.

    ``weights`` (K,) of the classes, sum 1; ``added`` (K,) to the logits; ``budget`` of features and of classifiers, or
    ``decay`` and how many ``samples`` there are; margins where there is neither.
    """

    whole = True
    spherical = False

    def __init__(
        self,
        population: Population,
        weights: Tensor,
        added: Tensor,
        smoothing: float,
        *,
        budget: tuple[float, float] | None = None,
        decay: float = 0.0,
        samples: int = 0,
    ) -> None:
        super().__init__(population)
        self.weights, self.added, self.smoothing = weights, added, smoothing
        self.budget, self.decay, self.samples = budget, decay, samples

    @property
    def rows(self) -> int:
        return len(self.population) + self.n_classes

    @property
    def n_classes(self) -> int:
        """How many classifiers there are."""
        return int(self.population.sizes.numel())

    def sides(self, z: Tensor) -> tuple[Tensor, Tensor]:
        """Features (N, d) and classifiers (K, d), within the budget."""
        features, classifiers = z[: len(self.population)], z[len(self.population) :]
        if self.budget is None:
            return features, classifiers
        shares = 1 / self.population.sizes[self.population.labels].double()
        found = []
        for vectors, square, most in (
            (features, shares @ features.square().sum(1), self.budget[0]),
            (classifiers, classifiers.square().sum(), self.budget[1]),
        ):
            scale = torch.sqrt(self.n_classes * most / square)
            found.append((scale.clamp(max=1) if self.smoothing else scale) * vectors)
        return found[0], found[1]

    def length(self, z: Tensor) -> Tensor:
        """(|W|^2 + sum_i q_i |h_i|^2) / 2."""
        features, classifiers = self.sides(z)
        return (self.population.weights @ features.square().sum(1) + classifiers.square().sum()) / 2

    def margins(self, z: Tensor) -> Tensor:
        """(N, K): how far each sample is ahead of each class; 1 for its own."""
        features, classifiers = self.sides(z)
        logits, own = features @ classifiers.T, self.population.labels[:, None]
        return (logits.gather(1, own) - logits).scatter(1, own, 1.0)

    def step(self, z: Tensor, generator: torch.Generator) -> Tensor:
        if self.budget is None and not self.decay:
            short = torch.relu(1 - self.margins(z)).square().sum(1)
            return self.length(z) + STIFFNESS / 2 * (short / self.population.sizes[self.population.labels]).sum()
        features, classifiers = self.sides(z)
        labels = self.population.labels
        losses = cross_entropy(
            features @ classifiers.T + self.added, labels, reduction="none", label_smoothing=self.smoothing
        )
        loss = (self.weights / self.population.sizes)[labels] @ losses
        if self.decay:
            size = self.samples * (self.population.weights @ features.square().sum(1)) + classifiers.square().sum()
            loss = loss + self.decay / 2 * size
        return loss

    def value(self, z: Tensor, generator: torch.Generator) -> Estimate:
        with torch.no_grad():
            if self.budget is None and not self.decay:
                return Estimate(float(self.length(z) / self.margins(z).min().clamp(min=NO_MARGIN)))
            return Estimate(float(self.step(z, generator)))

    def measured(self, z: Tensor) -> tuple[Tensor, float]:
        """Class means and classifiers (2 K, d), and the mean squared distance of features to them over that to 0."""
        features, classifiers = self.sides(z)
        labels, weights = self.population.labels, self.population.weights
        means = torch.zeros_like(classifiers).index_add_(0, labels, features)
        means = means / self.population.sizes[:, None]
        spread = float(weights @ (features - means[labels]).square().sum(1))
        whole = float(weights @ features.square().sum(1))
        return torch.cat([means, classifiers]), spread / whole if whole > 0 else 0.0
