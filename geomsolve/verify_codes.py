"""Checks proofs of how far apart points can be, for ``verify_further.py``; knows ``verify.py`` and nothing else.

K unit vectors in d dimensions: that the ones that are given have cosines of at most u, and that no others have all of
theirs below l, by

    simplex       l = -1/(K - 1), as the square of the sum of the points is not negative
    orthoplex     l = 0 for K >= d + 2 (Rankin 1955)
    polynomial    f = 1 + sum_k f_k P_k, f_k >= 0, P_k the Gegenbauer polynomial of the sphere with P_k(1) = 1, of which
                  the sum over all pairs of K points is not negative for k >= 1: where f <= 0 on [-1, l], K points with
                  no cosine above l have  K^2 <= sum of f over all pairs <= K f(1),  which K > f(1) contradicts
                  (Delsarte 1977).  f < 0 by Sturm's theorem: no root in [-1, l], and f(l) < 0.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from geomsolve import verify
from geomsolve.verify import Balls, Outcome, _ball, _dot, _entry, _need, _number, _numbers, below

MOST_DEGREES = 60
WAYS = ("simplex", "orthoplex", "polynomial")


def spacing(data: Any, claim: str, text: Any, by: Any = None) -> Outcome:
    """A claim about the largest cosine of so many points in so many dimensions."""
    question = _entry(data, "question", dict, "classes dim")
    count, dim = (_entry(question, key, int) for key in ("classes", "dim"))
    _need(
        2 <= count <= verify.MOST_SIZE and 1 <= dim <= verify.MOST_SIZE, "wanted 2 classes or more, 1 dimension or more"
    )
    limit = _number(text, claim)
    if claim == "cosine":
        return f"the points have cosines of at most {text}", *_largest(data, count, dim, limit)
    said = f"no {count} points in {dim} dimensions have all cosines below {text}"
    _need(by in WAYS, f"by: wanted one of {', '.join(WAYS)}")
    if by == "simplex":
        return said, limit * (count - 1) <= -1, "the square of the sum of the points is not negative"
    if by == "orthoplex":
        return said, limit <= 0 and count >= dim + 2, "Rankin's theorem"
    f: list[Any] = [1, *_numbers(data, "polynomial")]
    _need(2 <= len(f) <= MOST_DEGREES + 1 and dim >= 2, "polynomial: too many or too few numbers, or a line")
    fits = all(x >= 0 for x in f) and sum(f) < count and -1 < limit < 1
    return said, fits and _negative(_polynomial(f, dim), limit), f"f(1) = {float(sum(f)):.9g} is below {count}"


def _largest(data: Any, count: int, dim: int, limit: Any) -> tuple[bool | None, str]:
    rows = [_numbers({"points": row}, "points", dim) for row in _entry(data, "points", list)]
    _need(len(rows) == count <= 2 * verify.MOST_ORBITS and all(any(row) for row in rows), "points: wanted one a class")
    unit: Balls = []
    for row in rows:
        length = _ball(_dot(row, row)).sqrt()
        unit.append([_ball(x) / length for x in row])
    cosines = [_dot(x, y) for i, x in enumerate(unit) for y in unit[:i]]
    return below(
        *((c, _ball(limit)) for c in cosines)
    ), f"largest {max(c.upper() for c in cosines).str(15, radius=False)}"


def _polynomial(f: list[Any], dim: int) -> Any:
    """1 + sum_k f_k P_k, by (k + d - 2) P_{k+1} = (2k + d - 2) t P_k - k P_{k-1}."""
    flint = verify.flint
    t, before, now = (flint.fmpq_poly(x) for x in ([0, 1], [1], [0, 1]))
    total = flint.fmpq_poly([1])
    for k, x in enumerate(f[1:], 1):
        total += now * flint.fmpq(*x.as_integer_ratio())
        before, now = now, ((2 * k + dim - 2) * t * now - k * before) / (k + dim - 2)
    return total


def _negative(f: Any, limit: Any) -> bool:
    """Whether f < 0 on [-1, limit]: at both ends, where Sturm's chain has as many changes of sign."""
    chain = [f, f.derivative()]
    while chain[-1] != 0 and chain[-1].degree() > 0:
        rest = -(chain[-2] % chain[-1])
        chain.append(rest / abs(rest[rest.degree()]) if rest != 0 else rest)  # or its numbers would grow without end
    ends = (verify.flint.fmpq(-1), verify.flint.fmpq(*limit.as_integer_ratio()))
    signs = [[value > 0 for each in chain if (value := each(x)) != 0] for x in ends]
    changes = [sum(a != b for a, b in pairwise(row)) for row in signs]
    return bool(f(ends[0]) < 0 and f(ends[1]) < 0 and changes[0] == changes[1])


KINDS: verify.Kinds = {"spacing": (spacing, {"cosine": "at_most", "spacing": "at_least by"})}
