"""Labels that are places in a tree: supervised contrastive losses at every level, mixed.

    w_ij = sum over levels l with i and j under one node:  lambda_l / n_l(i),    sum_l lambda_l = 1

n_l(i) is the number of samples under the node of i at level l, itself left out where self pairs are.  Every level alone
is SupCon on its nodes, so that F = sum_l lambda_l F_l.  Nodes of the top level have weight 0 with each other.

Merging of the classes of a group, two levels: at the geometry where each group is a point the optimum is the SupCon
optimum of the groups' shares, whatever lambda, and the slope of F is affine in lambda.  So the lambda of the upper
level at which it is optimal are an interval up to 1 (``analyses/tree_merging.py``).  With more levels the same holds of
the lowest groups and of the share lambda that the last level but one has in the weight of the last two, the others'
weights being kept.  Two levels, M equal groups of m classes:

    lambda >= (1 - x) / (1 + (M - 1) x),    x = e^{-M / ((M - 1) tau)}        (derived for this project)

Symbols: lambda ``level_weights``, n_l ``crowd``, M ``groups``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from geomsolve.errors import InputError
from geomsolve.gram.types import FloatArray, IntArray
from geomsolve.registry import Parameter, one_each, parameter
from geomsolve.weightings.base import Weighting, register
from geomsolve.weightings.latents import Latents
from geomsolve.weightings.several import logarithm

LEVEL_WEIGHTS = Parameter(
    "level_weights",
    ("--level-weights",),
    one_each("level of the tree"),
    "LIST",
    "Weight of each level of a tree, top first, as in 0.3,0.7 (default: all alike).",
)


@register
@dataclass(frozen=True)
class Hierarchy(Weighting):
    """SupCon at every level of a tree; see the module.  ``level_weights`` from the top, made to sum to 1."""

    name: ClassVar[str] = "hierarchy"
    title: ClassVar[str] = "the hierarchy"
    summary: ClassVar[str] = "places in a tree: SupCon at every level, mixed by level weights"
    condition: ClassVar[str] = (
        "A hierarchy mixes supervised contrastive losses, one for each level of a tree. Samples of different groups at "
        "the top have weight 0, which asks for a similarity of minus infinity: no finite embedding attains it "
        "(degenerate). In the best one siblings stand closer than others, and from a certain weight of the upper level "
        "on they share a point: with M equal groups that is (1 - x) / (1 + (M - 1) x), x = exp(-M / ((M - 1) "
        "temperature))."
    )
    source: ClassVar[str] = "hierarchical supervised contrastive losses (one SupCon a level); thresholds derived here"
    places: ClassVar[bool] = True
    also: ClassVar[tuple[str, ...]] = ("tree", "hierarchical", "hierarchical-supcon", "hisupcon", "himulcon")

    level_weights: tuple[float, ...] | None = parameter(LEVEL_WEIGHTS, None)

    def mixture(self, levels: int) -> FloatArray:
        """lambda (levels,), sum 1."""
        given = self.level_weights or (1.0,) * levels
        if len(given) != levels:
            raise InputError(
                f"{len(given)} weights for a tree of {levels} levels; give one a level, top first",
                field="level_weights",
            )
        weights: FloatArray = np.asarray(given, dtype=np.float64) / sum(given)
        return weights

    def log_weights(self, labels: FloatArray, temperature: float, latents: Latents) -> FloatArray:
        return self.weigh(
            labels, np.ones(len(labels), dtype=np.int64), include=True, temperature=temperature, latents=latents
        )

    def weigh(
        self, labels: FloatArray, sizes: IntArray, *, include: bool, temperature: float, latents: Latents
    ) -> FloatArray:
        weights = np.zeros((len(labels), len(labels)))
        for level, share in enumerate(self.mixture(labels.shape[1])):
            same = together(labels, level + 1)
            crowd = same @ sizes - (0 if include else 1)
            weights += np.where(same, share / np.maximum(crowd, 1), 0.0)
        return logarithm(weights)

    def in_force(self, temperature: float) -> dict[str, Any]:
        return {} if self.level_weights is None else {"level_weights": list(self.level_weights)}

    def mixed(self, upper: float, levels: int) -> Weighting | None:
        if levels < 2:
            return None
        *above, last, own = self.mixture(levels).tolist()
        return Hierarchy((*above, upper * (last + own), (1 - upper) * (last + own))) if last + own > 0 else None

    def without_last(self, levels: int) -> Weighting:
        *above, last, own = self.mixture(levels).tolist()
        return Hierarchy((*above, last + own))

    def upper_weight(self, levels: int) -> float:
        last, own = self.mixture(levels).tolist()[-2:]
        return float(last / (last + own))


def together(labels: FloatArray, levels: int) -> FloatArray:
    """Which rows (m, m) are under one node, ``levels`` from the top."""
    node = np.unique(labels[:, :levels], axis=0, return_inverse=True)[1].ravel()
    same: FloatArray = (node[:, None] == node).astype(np.float64)
    return same
