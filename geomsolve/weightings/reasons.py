"""Why a verdict is what it is, in one or two sentences: the ``reason`` of every answer."""

from __future__ import annotations

from geomsolve.weightings.base import Weighting
from geomsolve.weightings.target import Target, Verdict


def reason(weighting: Weighting, target: Target, verdict: Verdict, dim: int | None) -> str:
    """The obstacle, or that there is none, with the eigenvalue that decides; then what the weighting says of itself."""
    latents, spectrum = target.latents, verdict.spectrum
    what = f"{latents.noun}s"
    if verdict.obstacle == "zero weights":
        return target.unattained
    if verdict.obstacle == "self weights":
        return (
            "the weights of samples with themselves differ, but a sample is equally similar to itself everywhere, so "
            "no constant fits all of them"
        )
    assert spectrum is not None
    lowest = f"{0.0 if abs(spectrum.min_eigenvalue) <= spectrum.tolerance else spectrum.min_eigenvalue:.6g}"
    if target.partial and verdict.kind == "realizable":
        return f"the missing {what} can be filled in (smallest eigenvalue then {lowest})"
    if target.partial:
        return f"no values of the missing {what} help: the best completion has the smallest eigenvalue {lowest}"
    if verdict.obstacle == "dimension":
        return f"the wanted {what} need {verdict.least_dimension} dimensions, and only {dim} are allowed"
    if verdict.kind == "realizable":
        free = "" if target.include else ", for a suitable constant"
        said = f"{latents.judged_by} has no negative eigenvalue (smallest {lowest}){free}"
    elif lowest == "0":
        said = (
            "the wanted cosines are so near 1 that their matrix has no negative eigenvalue beyond rounding, but the "
            "distances they stand for are not those of points on a unit sphere"
        )
    else:
        free = "" if target.include else ", whatever the free constant"
        said = f"{latents.judged_by} has a negative eigenvalue, {lowest}{free}; points cannot have that"
    about = weighting.about(target, verdict) if target.include and latents.unit and target.normalise == "rows" else ""
    return f"{said}; {about}" if about else said
