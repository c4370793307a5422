"""Pairwise losses with a potential psi that the user writes down:  F(C) = sum_gh pair_mass_gh psi(C_gh).

psi and its first two derivatives come from arithmetic on triples (psi, psi', psi''), by the chain rule

    f(u):  f(u),  f'(u) u',  f''(u) u'^2 + f'(u) u''

once in floating-point numbers, for the solvers, and once in enclosures (``enclosures.py``), for the proof that psi is
convex on [-1, 1]: psi'' >= 0 on every cell of a partition, which is refined where that is not decided yet.  Where a
cell has psi'' < 0 psi is refused, and where one stays undecided convexity has only been checked at points.  A convex
psi rises on all of [-1, 1] iff psi'(-1) >= 0; else classes attract each other below the cosine where psi is least.

Beyond [-1, 1], where no cosine is but iterates of a solver may be, psi goes on as the parabola that fits its end.

Symbols: x the cosine, psi ``value``, psi' ``slope``, psi'' ``bend``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from geomsolve.gram.types import FloatArray
from geomsolve.objectives.base import Curvature, Objective
from geomsolve.objectives.enclosures import Enclosure
from geomsolve.objectives.expression import Node, read_expression
from geomsolve.objectives.pairs import entrywise

POINTS = 4097
"""Points of [-1, 1] at which psi is looked at first."""

CELLS, MOST_CELLS, FINEST = 64, 200_000, 2.0**-40
"""Cells that the proof begins with, the most that it looks at, and how small they get."""

DENTED = 1e-10
"""Negative second derivatives at points, relative to the largest, up to which they may be rounding."""

LEVEL = 1e-12
"""Variation of psi, relative above 1, up to which it is constant."""

MARGIN = 0.5
"""How much more than psi falls at -1, relative to its steepest slope, is added to make slopes positive."""


def _sigmoid(v: FloatArray) -> FloatArray:
    small = np.exp(-np.abs(v))
    sigmoid: FloatArray = np.where(v >= 0, 1.0, small) / (1 + small)
    return sigmoid


def _softplus(v: FloatArray) -> FloatArray:
    return np.maximum(v, 0.0) + np.log1p(np.exp(-np.abs(v)))


def _bump(v: FloatArray) -> FloatArray:
    return _sigmoid(v) * _sigmoid(-v)


FLOATS: Mapping[str, Callable[..., Any]] = {
    **{name: getattr(np, name) for name in ("exp", "expm1", "log", "log1p", "sin", "cos", "sinh", "cosh", "tanh")},
    "arctan": np.arctan,
    "softplus": _softplus,
    "sigmoid": _sigmoid,
    "bump": _bump,
    "power": lambda v, c: v**c,
    "over": lambda v: 1 / v,
}
"""What the derivatives are made of, on numbers; bump is that of the logistic function."""

_HALF_PI = Enclosure(np.nextafter(np.pi / 2, 0), np.nextafter(np.pi / 2, 2))

ENCLOSED: Mapping[str, Callable[..., Any]] = {
    "exp": lambda v: v.rising(np.exp, least=0.0),
    "expm1": lambda v: v.rising(np.expm1, least=-1.0),
    "log": lambda v: v.rising(np.log, domain=0.0),
    "log1p": lambda v: v.rising(np.log1p, domain=-1.0),
    "sin": lambda v: (v - _HALF_PI).cosine(),
    "cos": Enclosure.cosine,
    "sinh": lambda v: v.rising(np.sinh),
    "cosh": lambda v: v.magnitude().rising(np.cosh, least=1.0),
    "tanh": lambda v: v.rising(np.tanh, least=-1.0, most=1.0),
    "arctan": lambda v: v.rising(np.arctan),
    "softplus": lambda v: v.rising(_softplus, least=0.0),
    "sigmoid": lambda v: v.rising(_sigmoid, least=0.0, most=1.0),
    "bump": lambda v: (-v.magnitude()).rising(_bump, least=0.0, most=0.25),
    "power": Enclosure.power,
    "over": Enclosure.reciprocal,
}
"""The same on enclosures."""


@dataclass(frozen=True)
class Triple:
    """A function's value, slope and bend, each a number or an enclosure."""

    value: Any
    slope: Any
    bend: Any


def derivatives(number: Callable[[float], Any], on: Mapping[str, Callable[..., Any]]) -> dict[str, Callable[..., Any]]:
    """What every operation of an expression does to triples, in the arithmetic ``on``, whose constants are made by
    ``number``."""
    one, two, four = number(1.0), number(2.0), number(4.0)

    def chain(u: Triple, value: Any, slope: Any, bend: Any) -> Triple:
        return Triple(value, slope * u.slope, bend * on["power"](u.slope, 2.0) + slope * u.bend)

    def times(u: Triple, v: Triple) -> Triple:
        bend = u.bend * v.value + two * (u.slope * v.slope) + u.value * v.bend
        return Triple(u.value * v.value, u.slope * v.value + u.value * v.slope, bend)

    def over(u: Triple) -> Triple:
        r = on["over"](u.value)
        return chain(u, r, -on["power"](r, 2.0), two * on["power"](r, 3.0))

    def power(u: Triple, c: float) -> Triple:
        if c in (0.0, 1.0):
            return u if c else Triple(one, number(0.0), number(0.0))
        v = u.value
        return chain(
            u, on["power"](v, c), number(c) * on["power"](v, c - 1), number(c * (c - 1)) * on["power"](v, c - 2)
        )

    def exp(u: Triple) -> Triple:
        e = on["exp"](u.value)
        return chain(u, e, e, e)

    def expm1(u: Triple) -> Triple:
        e = on["exp"](u.value)
        return chain(u, on["expm1"](u.value), e, e)

    def log(u: Triple) -> Triple:
        r = on["over"](u.value)
        return chain(u, on["log"](u.value), r, -on["power"](r, 2.0))

    def log1p(u: Triple) -> Triple:
        r = on["over"](one + u.value)
        return chain(u, on["log1p"](u.value), r, -on["power"](r, 2.0))

    def turn(name: str, other: str, sign: float) -> Callable[[Triple], Triple]:
        """f' = +-g and f'' = sign f: sines and cosines, of both kinds."""

        def apply(u: Triple) -> Triple:
            f, g = on[name](u.value), on[other](u.value)
            return chain(u, f, -g if name == "cos" else g, f if sign > 0 else -f)

        return apply

    def tanh(u: Triple) -> Triple:
        t, slope = on["tanh"](u.value), four * on["bump"](two * u.value)
        return chain(u, t, slope, -(two * (t * slope)))

    def arctan(u: Triple) -> Triple:
        r = on["over"](one + on["power"](u.value, 2.0))
        return chain(u, on["arctan"](u.value), r, -(two * (u.value * on["power"](r, 2.0))))

    def softplus(u: Triple) -> Triple:
        return chain(u, on["softplus"](u.value), on["sigmoid"](u.value), on["bump"](u.value))

    return {
        "+": lambda u, v: Triple(u.value + v.value, u.slope + v.slope, u.bend + v.bend),
        "-": lambda u, v: Triple(u.value - v.value, u.slope - v.slope, u.bend - v.bend),
        "*": times,
        "/": lambda u, v: times(u, over(v)),
        "power": power,
        "exp": exp,
        "expm1": expm1,
        "log": log,
        "log1p": log1p,
        "tanh": tanh,
        "arctan": arctan,
        "softplus": softplus,
        "sin": turn("sin", "cos", -1.0),
        "cos": turn("cos", "sin", -1.0),
        "sinh": turn("sinh", "cosh", 1.0),
        "cosh": turn("cosh", "sinh", 1.0),
    }


_ON_FLOATS = derivatives(np.float64, FLOATS)
_ON_ENCLOSURES = derivatives(Enclosure.point, ENCLOSED)


def at_points(node: Node, x: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Value, slope and bend at ``x``, in numbers, which need not be finite."""
    zero, one = np.float64(0.0), np.float64(1.0)
    with np.errstate(all="ignore"):
        made = node.walk(Triple(x, one, zero), lambda c: Triple(np.float64(c), zero, zero), _ON_FLOATS)
    value, slope, bend = (np.broadcast_to(part, x.shape) for part in (made.value, made.slope, made.bend))
    return value, slope, bend


def on_cells(node: Node, low: FloatArray, high: FloatArray) -> tuple[Enclosure, Enclosure, Enclosure]:
    """Enclosures of value, slope and bend on the cells [low, high]."""
    zero, one = Enclosure.point(0.0), Enclosure.point(1.0)
    with np.errstate(all="ignore"):
        made = node.walk(
            Triple(Enclosure(low, high), one, zero), lambda c: Triple(Enclosure.point(c), zero, zero), _ON_ENCLOSURES
        )
    value, slope, bend = (
        Enclosure(np.broadcast_to(part.low, low.shape), np.broadcast_to(part.high, low.shape))
        for part in (made.value, made.slope, made.bend)
    )
    return value, slope, bend


@dataclass(frozen=True)
class Potential:
    """A convex psi.  ``proven``: its convexity was, not only checked at ``points`` points; ``strict``: psi'' > 0.

    ``least``: the cosine where psi is least, -1 if it rises throughout and 1 if it falls.
    """

    node: Node
    proven: bool
    strict: bool
    points: int
    least: float

    def jet(self, cosines: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Value, slope and bend at ``cosines``, with a parabola beyond [-1, 1]."""
        inside = np.clip(cosines, -1.0, 1.0)
        value, slope, bend = at_points(self.node, inside)
        away = cosines - inside
        return value + (slope + bend * away / 2) * away, slope + bend * away, bend


@lru_cache(maxsize=256)
def potential(text: str) -> Potential:
    """The potential that an expression in x states; ValueError where it is none, not finite, constant or not convex."""
    node = read_expression(text)
    x = np.linspace(-1.0, 1.0, POINTS)
    value, slope, bend = at_points(node, x)
    for what, numbers in (("psi", value), ("its slope", slope), ("its second derivative", bend)):
        lost = ~np.isfinite(numbers)
        if lost.any():
            raise ValueError(f"{what} is not finite at x = {x[lost][0]:g}; it has to be on all of [-1, 1]")
    if np.ptp(value) <= LEVEL * max(1.0, float(np.abs(value).max())):
        raise ValueError("psi is constant on [-1, 1], so that every geometry is as good as any other")
    worst = int(np.argmin(bend))
    if bend[worst] < -DENTED * float(np.abs(bend).max()):
        raise _dented(float(x[worst]), float(bend[worst]))
    proven, strict, seen = _prove(node)
    return Potential(node, proven, strict, POINTS + seen, _least(node, x, slope))


def _dented(x: float, bend: float) -> ValueError:
    return ValueError(
        f"psi is not convex at x = {x:g}: its second derivative is {bend:.3g} there; only a convex psi has an optimum "
        "that is proven"
    )


def _prove(node: Node) -> tuple[bool, bool, int]:
    """Whether psi'' >= 0 is proven on [-1, 1], whether psi'' > 0 is, and how many cells were looked at.

    ValueError where psi'' < 0 on a cell, or psi is not proven to be finite on a smallest one.
    """
    edges = np.linspace(-1.0, 1.0, CELLS + 1)
    low, high = edges[:-1], edges[1:]
    strict, seen = True, 0
    while True:
        value, slope, bend = on_cells(node, low, high)
        seen += low.size
        if (dent := bend.high < 0).any():
            place = int(np.argmax(dent))
            raise _dented(float(low[place] + high[place]) / 2, float(bend.high[place]))
        finite = value.finite & slope.finite & bend.finite
        done = finite & (bend.low >= 0)
        strict = strict and bool(np.all(bend.low[done] > 0))
        if done.all():
            return True, strict, seen
        low, high, finite = low[~done], high[~done], finite[~done]
        if seen + 2 * low.size > MOST_CELLS or high[0] - low[0] <= FINEST:
            if not finite.all():
                raise ValueError(
                    f"psi or a derivative of it is not finite near x = {low[~finite][0]:.6g}, or not known to be; it "
                    "has to be on all of [-1, 1]"
                )
            return False, False, seen
        middle = (low + high) / 2
        low, high = np.concatenate([low, middle]), np.concatenate([middle, high])


def _least(node: Node, x: FloatArray, slope: FloatArray) -> float:
    """The cosine where psi is least, up to the accuracy of its slope."""
    if slope[0] >= -LEVEL * float(np.abs(slope).max()):
        return -1.0
    if slope[-1] <= 0:
        return 1.0
    from scipy.optimize import brentq  # here, since few potentials need it

    place = int(np.argmax(slope > 0))
    return float(brentq(lambda t: float(at_points(node, np.array([t]))[1][0]), x[place - 1], x[place]))


class PairPotential(Objective):
    """F = sum_gh pair_mass_gh psi(C_gh); see the module."""

    def __init__(self, mass: FloatArray, psi: Potential) -> None:
        self.mass, self.psi = mass, psi
        self.unique_minimiser = psi.strict
        ends = psi.jet(np.array([-1.0, 1.0]))[1]
        steepest = float(np.abs(ends).max())
        if ends[0] <= 1e-6 * steepest:
            self.attraction = mass * (MARGIN * steepest - float(ends[0]))

    def evaluate(self, cosines: FloatArray) -> tuple[float, FloatArray]:
        value, slope, _ = self.psi.jet(cosines)
        return float(np.sum(self.mass * value)), self.mass * slope

    def curvature(self, cosines: FloatArray) -> Curvature:
        return entrywise(self.mass * self.psi.jet(cosines)[2])
