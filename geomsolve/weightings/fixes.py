"""What to change so that a weighting can be attained: every proposal is put to the same verdict before it is made.

What only the weighting knows it proposes itself (``limits.py`` has the mathematics); here stands what is proposed for
any of them, and the order.
"""

from __future__ import annotations

from collections.abc import Iterator

from geomsolve.weightings.base import Weighting
from geomsolve.weightings.limits import Fix, Works, largest_ratio
from geomsolve.weightings.target import Target, Verdict


def find_fixes(weighting: Weighting, target: Target, verdict: Verdict, works: Works, *, rtol: float) -> tuple[Fix, ...]:
    """Changes that make the target attainable, each confirmed by ``works`` on the changed question."""
    if verdict.kind == "realizable" or target.partial:
        return ()
    found: list[Fix] = []
    for fix in _candidates(weighting, target, verdict, works, rtol):
        if all(fix.settings != other.settings for other in found) and works(fix.settings):
            found.append(fix)
    return tuple(found)


def _candidates(weighting: Weighting, target: Target, verdict: Verdict, works: Works, rtol: float) -> Iterator[Fix]:
    if verdict.obstacle == "dimension":
        d = verdict.least_dimension
        yield Fix("dim", d, f"the target needs {d} dimensions", {"dim": d})
    if target.normalise != "rows":
        why = "normalising by columns distorts the weights; by rows is what the loss is meant to do"
        yield Fix("normalise", "rows", why, {"normalise": "rows"})
    elif target.latents.freer and verdict.obstacle == "spectrum":
        yield from _weaker(weighting, target, rtol)
    yield from weighting.fixes(target, verdict, works)
    if target.latents.freer:
        similarity, why = target.latents.freer
        yield Fix("similarity", similarity, why, {"similarity": similarity})
    if target.include:
        why = "without self pairs the target is fixed only up to a constant, which leaves room"
        yield Fix("self_pairs", "exclude", why, {"self_pairs": "exclude"})
    yield from weighting.substitutes(target)


def _weaker(weighting: Weighting, target: Target, rtol: float) -> Iterator[Fix]:
    """The largest temperature and the like: all of them weaken the wish for distance."""
    ratio = largest_ratio(target, rtol)
    if ratio is None:
        return
    if weighting.strengthened_by_temperature:
        t = target.temperature * ratio
        yield Fix("temperature", t, f"the largest temperature that works is {t:.6g}", {"temperature": t})
    for name, value in weighting.rescaled(ratio).items():
        what = name.replace("_", " ")
        yield Fix(name, value, f"the smallest {what} that works is {value:.6g}", {name: value})
