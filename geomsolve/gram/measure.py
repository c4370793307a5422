"""What geometry do given embeddings have?  From class sums alone, so that one pass over the data is enough.

For unit vectors z_i with class means m_a (not unit: the more a class scatters, the shorter its mean), overall mean m
and class shares p_a:

    G_ab           = <m_a, m_b> / (|m_a| |m_b|)                     cosines between the directions of the class means
    within class   = sum_a p_a (1 - |m_a|^2)                        mean squared distance to the class mean
    NC1            = within / sum_a p_a |m_a - m|^2                 within-class over between-class scatter

NC1 here is tr(Sigma_W) / tr(Sigma_B); Papyan, Han & Donoho 2020 use tr(Sigma_W Sigma_B^+) / K, which needs a second
pass.  Both are 0 exactly when every class is a point.

Symbols: m_a ``sums`` / ``weights``, p_a ``weights`` / their sum.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from geomsolve.gram.simplex import simplex_cosine
from geomsolve.gram.types import FloatArray


@dataclass(frozen=True)
class Measurement:
    """``gram`` (K, K); ``scatter`` (K,) within each class; ``within_class``, ``nc1`` and ``simplex_distance`` as in
    the module and in :class:`geomsolve.gram.structure.Structure`.  A class whose mean is 0 has no direction: its
    cosines are 0.
    """

    gram: FloatArray
    scatter: FloatArray
    within_class: float
    nc1: float
    simplex_distance: float

    @classmethod
    def of(cls, sums: FloatArray, weights: FloatArray) -> Measurement:
        """From ``sums`` (K, d), the weighted sum of the unit vectors of each class, and ``weights`` (K,), the sum
        of the weights (or the count) of each class."""
        means = sums / weights[:, None]
        share = weights / weights.sum()
        lengths = np.linalg.norm(means, axis=1)
        directions = np.divide(means, lengths[:, None], out=np.zeros_like(means), where=lengths[:, None] > 1e-12)
        gram = np.clip(directions @ directions.T, -1.0, 1.0)
        np.fill_diagonal(gram, 1.0)
        scatter = np.maximum(1 - lengths**2, 0.0)
        within = float(share @ scatter)
        between = float(share @ np.sum((means - share @ means) ** 2, axis=1))
        different = gram[~np.eye(gram.shape[0], dtype=bool)]
        distance = float(np.abs(different - simplex_cosine(gram.shape[0])).max())
        return cls(gram, scatter, within, within / between if between > 0 else np.inf, distance)


def gram_error(one: FloatArray, other: FloatArray) -> float:
    """Largest difference of two Gram matrices (K, K), entry by entry."""
    return float(np.abs(one - other).max())
