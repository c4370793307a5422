"""Gram matrices to vectors and back, and the distance between two embeddings up to a rigid motion.

    embed       Z with Z Z' = G up to the clipped negative eigenvalues, coordinates in order of decreasing spread
    procrustes  min over orthogonal Q (and, where asked, a shift) of |X Q - Y|_F   (Schoenemann 1966)

Symbols: G ``gram``, Z ``points``.
"""

from __future__ import annotations

import numpy as np

from geomsolve.gram.types import FloatArray


def embed(gram: FloatArray, dim: int | None = None, *, tolerance: float = 0.0) -> FloatArray:
    """Points (n, r) with Gram matrix ``gram`` (n, n); r counts eigenvalues above ``tolerance``, at most ``dim``.

    The sign of each coordinate is fixed so that its largest entry is positive: equal input, equal output.
    """
    values, vectors = np.linalg.eigh((gram + gram.T) / 2)
    order = np.argsort(-values, kind="stable")
    kept = order[values[order] > tolerance][:dim]
    points = vectors[:, kept] * np.sqrt(values[kept])
    if points.size:
        largest = np.take_along_axis(points, np.abs(points).argmax(axis=0)[None, :], axis=0)
        points = points * np.where(largest < 0, -1.0, 1.0)
    return np.asarray(points, dtype=np.float64)


def procrustes(points: FloatArray, onto: FloatArray, *, shift: bool = False) -> tuple[float, FloatArray]:
    """The distance |X Q - Y|_F after the best orthogonal map Q, and X Q; with ``shift`` also the best translation.

    ``points`` X (n, r) and ``onto`` Y (n, s); the narrower is padded with zeros.
    """
    width = max(points.shape[1], onto.shape[1])
    x = np.pad(points, ((0, 0), (0, width - points.shape[1])))
    y = np.pad(onto, ((0, 0), (0, width - onto.shape[1])))
    centre = y.mean(axis=0) if shift else np.zeros(width)
    x = x - x.mean(axis=0) if shift else x
    left, _, right = np.linalg.svd(x.T @ (y - centre))
    moved: FloatArray = x @ (left @ right) + centre
    return float(np.linalg.norm(moved - y)), moved
