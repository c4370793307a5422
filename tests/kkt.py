"""The optimality conditions of  minimise F(G), G psd, G_aa = 1,  one function each, on the full K x K matrix.

Lagrangian F(G) + <diag(mu), G - I> - <S, G>: stationarity S = D + diag(mu), primal G psd with unit diagonal, dual S
psd, complementarity <S, G> = 0 and, since both are psd, S G = 0.  D comes from the definitions in ``helpers``.
"""

from __future__ import annotations

import numpy as np
from helpers import Definition


def slope(definition: Definition, gram: np.ndarray) -> np.ndarray:
    """Symmetrised derivative of F by central differences, zero diagonal."""
    k = len(gram)
    d = np.zeros((k, k))
    h = 1e-2
    for a in range(k):
        for b in range(k):
            if a != b:
                unit = np.zeros((k, k))
                unit[a, b] = h
                for j, c in ((1, 4 / 5), (2, -1 / 5), (3, 4 / 105), (4, -1 / 280)):
                    d[a, b] += c * (definition.value(gram + j * unit) - definition.value(gram - j * unit)) / h
    return (d + d.T) / 2


def dual(definition: Definition, gram: np.ndarray) -> np.ndarray:
    """S = D + diag(mu) with the multipliers that make (S G)_aa = 0."""
    d = slope(definition, gram)
    return d - np.diag(np.diag(d @ gram))


def primal_infeasibility(gram: np.ndarray) -> float:
    return max(float(np.abs(np.diag(gram) - 1).max()), -float(np.linalg.eigvalsh(gram)[0]), 0.0)


def dual_infeasibility(definition: Definition, gram: np.ndarray) -> float:
    return max(0.0, -float(np.linalg.eigvalsh(dual(definition, gram))[0]))


def complementarity(definition: Definition, gram: np.ndarray) -> float:
    return abs(float(np.sum(dual(definition, gram) * gram)))


def stationarity(definition: Definition, gram: np.ndarray) -> float:
    """Largest force on a unit vector tangential to the sphere: S G = 0 in the metric of the vectors, S X = 0."""
    values, vectors = np.linalg.eigh(gram)
    embedding = vectors * np.sqrt(np.maximum(values, 0))
    return float(np.abs(dual(definition, gram) @ embedding).max())
