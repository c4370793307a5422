"""Verdicts in fractions: whether the cosines that y-Aware wants are those of unit vectors, without any rounding.

    T_ij = 1 - temperature |y_i - y_j|^2 / (2 sigma^2),  a matrix of fractions where labels, temperature and sigma are

is eliminated exactly: psd with as many positive pivots as dimensions are needed, or x'Tx < 0 for a vector x of whole
numbers.  Eigenvalues in double precision cannot tell this within rounding of 0.

A number that was written as a fraction is read as a double; the fraction with the smallest denominator that is the same
double is what was written, as long as that denominator is below 10^7.

Symbols: T ``matrix``, x ``against``.
"""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from math import lcm
from typing import Any

from geomsolve.errors import InputError
from geomsolve.questions.realizable import Realizable
from geomsolve.weightings import Weighting
from geomsolve.weightings.target import Verdict

Matrix = list[list[Fraction]]

MOST_LABELS = 200
"""Distinct labels up to which a matrix of fractions is eliminated."""

SIMPLE = 10**7
"""Largest denominator of a fraction that a double is taken for."""

SPELLED = 8
"""Entries up to which a vector is written out in a sentence."""


def exact(x: float) -> str:
    """The number that was written and read as ``x``: a decimal as long as it is, else a fraction."""
    shortest = Decimal(int(x)) if x == int(x) else Decimal(repr(float(x)))
    if len(shortest.as_tuple().digits) < 15:
        return format(shortest, "f")
    fraction = Fraction(x).limit_denominator(SIMPLE)
    return str(fraction) if float(fraction) == x else format(shortest, "f")


def decided(problem: Realizable, weighting: Weighting, verdict: Verdict) -> tuple[Verdict, dict[str, Any]]:
    """The verdict in exact numbers in place of that of eigenvalues, and what shows it.

    That is ``positive_semidefinite``; ``rank`` of T, or None; x as ``against`` and x'Tx as ``form``, in fractions, or
    None.
    """
    labels, sigma = in_fractions(problem, weighting, "exact")
    T = target(labels, exact(problem.temperature), sigma)
    rank, x = eliminate(T)
    if x is None:
        shown: dict[str, Any] = {"positive_semidefinite": True, "rank": rank, "against": None, "form": None}
        return replace(verdict, kind="realizable", obstacle="", least_dimension=rank), shown
    form = sum(x[i] * x[j] * T[i][j] for i in range(len(x)) for j in range(len(x)))
    shown = {"positive_semidefinite": False, "rank": None, "against": [str(entry) for entry in x], "form": str(form)}
    return replace(verdict, kind="inconsistent", obstacle="spectrum", least_dimension=None), shown


def in_words(shown: dict[str, Any]) -> str:
    """Why an exact verdict is what it is."""
    x = shown["against"]
    if x is None:
        return (
            "the matrix T of wanted cosines, in fractions, is positive semidefinite of rank "
            f"{shown['rank']}, by exact elimination"
        )
    vector = f"x = ({', '.join(x)})" if len(x) <= SPELLED else f"a vector x of {len(x)} whole numbers (in the JSON)"
    return f"the matrix T of wanted cosines has x'Tx = {shown['form']} for {vector}, exactly; points cannot have that"


def eliminate(matrix: Matrix) -> tuple[int, list[Fraction] | None]:
    """How many pivots of a symmetric A (m, m) are above 0, and a vector x of whole numbers with x'Ax < 0, exactly.

    x is None for A that is positive semidefinite; the pivots then count its rank.

    A pivot below 0 is such a direction in what is left of A; so is a e_j + e_i where a pivot is 0 and A_ij is not.
    What was eliminated takes the values at which it costs least.
    """
    scale, m = lcm(*(entry.denominator for row in matrix for entry in row)), len(matrix)
    a = [[int(entry * scale) for entry in row] for row in matrix]  # whole numbers throughout: Bareiss 1968
    steps: list[tuple[int, list[int]]] = []
    x: list[Fraction] | None = None
    last = 1
    for j in range(m):
        beside = next((i for i in range(j + 1, m) if a[j][i]), None)
        if a[j][j] < 0 or (a[j][j] == 0 and beside is not None):
            x = [Fraction(0)] * m
            x[j] = Fraction(1)
            if a[j][j] == 0 and beside is not None:
                x[beside] = Fraction(1)
                x[j] = Fraction(-a[beside][beside] - 1, 2 * a[j][beside])
            break
        if a[j][j] > 0:
            row, pivot = a[j], a[j][j]
            steps.append((j, row))
            for i in range(j + 1, m):
                below, ratio = a[i], row[i]
                for k in range(i, m):
                    below[k] = a[k][i] = (pivot * below[k] - ratio * row[k]) // last
            last = pivot
    if x is None:
        return len(steps), None
    for j, row in reversed(steps):
        x[j] = -sum((row[k] * x[k] for k in range(j + 1, m)), Fraction(0)) / row[j]
    common = lcm(*(entry.denominator for entry in x))
    return len(steps), [entry * common for entry in x]


def in_fractions(problem: Realizable, weighting: Weighting, field: str) -> tuple[list[list[str]], str]:
    """Distinct labels, and sigma, of a target that is a matrix of fractions.

    Raises :class:`InputError` about ``field``, which asked for them, where it is none.
    """
    known = weighting.in_proofs
    plain = (
        (problem.similarity or weighting.similarity) == "cosine"
        and problem.self_pairs == "include"
        and problem.arc is None
        and problem.bin is None
    )
    if known is None or not plain or problem.normalise != "rows" or problem.dim is not None or problem.labels is None:
        raise InputError(
            "exact verdicts are for y-Aware with a Gaussian kernel and cosine latents, on labels as given; leave this "
            "out, or --arc, --dim, --self-pairs, --normalise, --similarity",
            field=field,
        )
    labels = list(dict.fromkeys(tuple(exact(x) for x in row) for row in problem.points.tolist()))
    if len(labels) > MOST_LABELS:
        raise InputError(f"{len(labels):,} distinct labels are too many for exact elimination", field=field)
    return [list(row) for row in labels], exact(known["sigma"])


def target(labels: list[list[str]], temperature: str, sigma: str) -> Matrix:
    """The cosines wanted of the labels, T_ij = 1 - temperature |y_i - y_j|^2 / (2 sigma^2)."""
    y = [[Fraction(x) for x in row] for row in labels]
    unit = lcm(*(x.denominator for row in y for x in row))
    whole = [[int(x * unit) for x in row] for row in y]
    factor = Fraction(temperature) / (2 * Fraction(sigma) ** 2 * unit**2)
    p, q = factor.numerator, factor.denominator
    m = len(whole)
    T = [[Fraction(1)] * m for _ in range(m)]
    for i, u in enumerate(whole):
        for j, v in enumerate(whole[:i]):
            T[i][j] = T[j][i] = Fraction(q - p * sum((a - b) ** 2 for a, b in zip(u, v, strict=True)), q)
    return T
