"""What is decided in fractions, or in more digits than doubles have: directions and thresholds for proofs.

A threshold is where collapse, G = v v', begins to be optimal: its dual matrix S is definite on a complement of v on one
side and not on the other, which ``verify.py`` tells at any fraction.  Whole multiples of 10^-digits are bisected.

Symbols: A ``matrix``, S in the blocks of ``verify.positive``.
"""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from math import lcm
from typing import Any

from geomsolve import verify
from geomsolve.errors import InputError

SPARE = 20
"""Digits of a direction beyond those of the threshold."""


def enclose(question: dict[str, Any], low: Decimal, high: Decimal, *, above: bool, digits: int) -> tuple[Any, Any]:
    """The ends, as decimals, of an interval of width 10^-digits within [low, high]; a direction in which S is negative
    at the end where classes do not collapse.  ``above``: they do at ``high``, not at ``low``.

    Raises :class:`InputError` without python-flint, or where the threshold is not between the two.
    """
    if verify.flint is None:
        raise InputError(
            "more than 12 digits need python-flint: pip install 'geomsolve[proof]'; or leave this out", field="digits"
        )
    verify.flint.ctx.prec = 4 * digits + 128
    unit = 10**digits

    def collapsed(x: int) -> bool:
        q, signs = verify.along(question, Fraction(x, unit))
        found = verify.positive(q, *verify.collapsed(q, signs), 0)
        if found is None:
            raise InputError("a threshold cannot be told apart in so many digits; ask for fewer", field="digits")
        return found

    a, b = int(Fraction(low) * unit), int(Fraction(high) * unit)
    if collapsed(a) == above or collapsed(b) != above:
        raise InputError("the threshold was not found precisely enough; ask for fewer digits", field="digits")
    while b - a > 1:
        middle = (a + b) // 2
        a, b = (a, middle) if collapsed(middle) == above else (middle, b)
    ends = tuple(decimal(Fraction(x, unit), digits) for x in (a, b))
    return ends, downhill(question, Fraction(a if above else b, unit), digits + SPARE)


def downhill(question: dict[str, Any], x: Fraction, digits: int) -> Any:
    """One number an orbit with a negative form, ``digits`` of them, or the orbit within which S is negative."""
    q, signs = verify.along(question, x)
    D, mu = verify.collapsed(q, signs)
    for g in q.m:
        if q.sizes[g] > 1 and mu[g] < D[g][g]:
            return {"within": g}
    n = q.sizes
    block = [
        [n[g] * (mu[g] + (n[g] - 1) * D[g][g]) if g == h else n[g] * n[h] * D[g][h] for h in q.m[1:]] for g in q.m[1:]
    ]
    found = negative_direction([[middle(entry) for entry in row] for row in block])
    assert found is not None
    most = max(map(abs, found))
    return ["0", *(decimal(Fraction(round(y / most * 10**digits), 10**digits), digits) for y in found)]


def middle(ball: Any) -> Fraction:
    """The middle of a ball as a fraction."""
    mantissa, exponent = ball.mid().man_exp()
    return Fraction(int(mantissa)) * Fraction(2) ** int(exponent)


def decimal(x: Fraction, digits: int) -> str:
    """A multiple of 10^-digits as a decimal."""
    whole = int(x * 10**digits)
    text = f"{abs(whole):0{digits + 1}d}"
    return f"{'-' if whole < 0 else ''}{text[:-digits]}.{text[-digits:]}"


def negative_direction(matrix: list[list[Fraction]]) -> list[Fraction] | None:
    """A vector x of whole numbers with x'Ax < 0, by exact elimination; None for A that is positive semidefinite.

    A pivot below 0 is such a direction in what is left of A; so is a e_j + e_i where a pivot is 0 and A_ij is not.
    What was eliminated takes the values at which it costs least.
    """
    a, m = [list(row) for row in matrix], len(matrix)
    steps: list[tuple[int, list[Fraction]]] = []
    x: list[Fraction] | None = None
    for j in range(m):
        beside = next((i for i in range(j + 1, m) if a[j][i]), None)
        if a[j][j] < 0 or (a[j][j] == 0 and beside is not None):
            x = [Fraction(0)] * m
            x[j] = Fraction(1)
            if a[j][j] == 0 and beside is not None:
                x[beside] = Fraction(1)
                x[j] = -(a[beside][beside] + 1) / (2 * a[j][beside])
            break
        if a[j][j] > 0:
            row = [entry / a[j][j] for entry in a[j]]
            steps.append((j, row))
            for i in range(j + 1, m):
                ratio = a[i][j]
                a[i] = [a[i][k] - ratio * row[k] if k > j else Fraction(0) for k in range(m)]
    if x is None:
        return None
    for j, row in reversed(steps):
        x[j] = -sum((row[k] * x[k] for k in range(j + 1, m)), Fraction(0))
    scale = lcm(*(entry.denominator for entry in x))
    return [entry * scale for entry in x]
