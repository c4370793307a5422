"""Generalised minimal residuals (Saad & Schultz 1986) for  A x = b,  A known by its products: :func:`gmres`.

x is where |b - A x| is least on the span of b, A b, A^2 b, ...  The span is kept orthonormal, each new row against the
others twice, and its Hessenberg matrix triangular by rotations, so that the residual is known at each step.

Symbols: x ``found``, b ``right``, R ``triangle``.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from geomsolve.gram.types import FloatArray

RESTART, CYCLES = 50, 2
"""Steps before it starts anew from where it is, and how often it does."""


def gmres(apply: Callable[[FloatArray], FloatArray], right: FloatArray, rtol: float) -> tuple[FloatArray, bool]:
    """x (n,) with |right - A x| <= ``rtol`` |right|, and whether that was reached; A as ``apply``, ``right`` (n,).

    Arithmetic of the dtype of ``right``, whose rounding no ``rtol`` goes below.
    """
    goal = max(rtol, float(np.finfo(right.dtype).eps)) * float(np.linalg.norm(right))
    found = np.zeros(right.size)
    for _ in range(CYCLES):
        rest = right - apply(found.astype(right.dtype)) if found.any() else right
        size = float(np.linalg.norm(rest))
        if not size > goal:
            break
        basis = np.empty((RESTART + 1, right.size), dtype=right.dtype)
        triangle, turns, ahead = np.zeros((RESTART, RESTART)), np.zeros((RESTART, 2)), np.zeros(RESTART + 1)
        basis[0], ahead[0], count = rest / size, size, 0
        while count < RESTART and abs(ahead[count]) > goal:
            image = apply(basis[count])
            column = np.zeros(count + 2)
            for _ in range(2):
                along = basis[: count + 1] @ image
                image = image - along @ basis[: count + 1]
                column[:-1] += along
            column[-1] = length = float(np.linalg.norm(image))
            for i, (cosine, sine) in enumerate(turns[:count]):
                column[i : i + 2] = cosine * column[i] + sine * column[i + 1], cosine * column[i + 1] - sine * column[i]
            across = float(np.hypot(column[count], column[-1]))
            if not 0 < across < np.inf:
                break
            cosine, sine = turns[count] = column[count] / across, length / across
            triangle[:count, count], triangle[count, count] = column[:count], across
            ahead[count : count + 2] = cosine * ahead[count], -sine * ahead[count]
            basis[count + 1] = image / length if length > 0 else 0.0
            count += 1
        found += np.linalg.solve(triangle[:count, :count], ahead[:count]) @ basis[:count]
        if not abs(ahead[count]) > goal:
            break
    else:
        return found, False
    return found, True
