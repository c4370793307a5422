"""A sweep as one self-contained page to play with: sliders move the classes on their circle or sphere.

Beside them stand the loss and the angles along the first parameter, with the places marked where classes collapse.  The
page loads nothing; styles, script and data stand in it, and its content security policy allows that script alone.

Where all geometries lie in a plane the classes are points of the circle, else of the sphere; of more than three
dimensions the three that show most are drawn, and the page says how much.  Every point is turned onto the one before
it, so that classes move as little as they can.
"""

from __future__ import annotations

import json
from html import escape
from typing import Any

import numpy as np

from geomsolve._version import __version__
from geomsolve.analyses.sweep import MOST_DRAWN, SweepReport
from geomsolve.analyses.sweep_crossmodal import SweepCrossmodalReport
from geomsolve.cli.frame import framed, part
from geomsolve.cli.render import loss_phrase
from geomsolve.errors import InputError
from geomsolve.gram.embedding import embed, procrustes
from geomsolve.gram.types import FloatArray
from geomsolve.plots._style import spaced_in_log
from geomsolve.plots._words import classes, geometry
from geomsolve.report import jsonable
from geomsolve.words import in_degrees, listing, number, rounded

MOST_NUMBERS = 2_000_000
"""Coordinates of all classes at all points together."""

FLAT = 1e-6
"""Part of a Gram matrix that is nothing but rounding."""


def page(report: SweepReport | SweepCrossmodalReport) -> str:
    """The page about a sweep; InputError where its classes are too many to be drawn."""
    data = data_of(report)
    names = listing([axis["label"] for axis in data["axes"]])
    loss = {key: value for key, value in report.problem["loss"].items() if key not in report.over}
    sliders = "".join(
        f'<label for="axis-{i}">{escape(axis["label"])} <output id="at-{i}" for="axis-{i}"></output></label>'
        f'<input type="range" id="axis-{i}" min="0" max="{len(axis["values"]) - 1}" step="1" '
        f'value="{axis["start"]}" aria-describedby="said">'
        for i, axis in enumerate(data["axes"])
    )
    rows = "".join(_row(point, report.over, row) for point, row in zip(data["points"], report.rows, strict=True))
    heads = "".join(f'<th scope="col">{escape(axis["label"])}</th>' for axis in data["axes"])
    text = json.dumps(data, allow_nan=False, ensure_ascii=False).replace("<", "\\u003c")
    return framed(
        "geomsolve sweep",
        f"""<h1>How the geometry changes with {escape(names)}</h1>
<p class="faint">{escape(loss_phrase(loss))}; {escape(data["classes"])}. Made by geomsolve {__version__}.</p>
<noscript><p>Sliders and pictures need JavaScript; the table below does not.</p></noscript>
<main class="play">
<section class="stage" aria-label="Where the classes are">
<svg id="stage" viewBox="-1.7 -1.35 3.4 2.7" role="img" tabindex="0" aria-label="class means"></svg>
<p class="faint" id="hint"></p>
</section>
<section class="side">
<div class="sliders">{sliders}</div>
<p id="said" role="status" aria-live="polite"></p>
<p class="faint" id="proof"></p>
<svg id="loss" class="chart" viewBox="0 0 360 150" role="img" aria-label="optimal loss"></svg>
<svg id="angle" class="chart" viewBox="0 0 360 150" role="img" aria-label="angles"></svg>
</section>
</main>
<details><summary>All points as a table</summary><div class="wide"><table>
<thead><tr>{heads}<th scope="col">geometry</th><th scope="col" class="number">loss, nats</th></tr></thead>
<tbody>
{rows}</tbody></table></div></details>
<script type="application/json" id="data">{text}</script>
""",
        styles=("page.css", "play.css"),
        script=part("play.js"),
    )


def _row(point: dict[str, Any], over: dict[str, list[float]], row: dict[str, Any]) -> str:
    cells = "".join(f'<td class="number">{number(row[name], 6)}</td>' for name in over)
    return f'<tr>{cells}<td>{escape(point["said"])}</td><td class="number">{rounded(point["loss"], 9)}</td></tr>\n'


def data_of(report: SweepReport | SweepCrossmodalReport) -> dict[str, Any]:
    """What the page's script draws: axes, names and, at each point, places, loss, angles and words."""
    sides = isinstance(report, SweepCrossmodalReport)
    grams = [gram for gram in report.geometries if gram is not None]
    if not grams:
        raise InputError(f"a page is drawn of up to {MOST_DRAWN} points; use --plot", field="html")
    count = grams[0].shape[0]
    if 3 * count * len(report.rows) > MOST_NUMBERS:
        raise InputError(f"{len(report.rows):,} points of {count} classes are too many for a page", field="html")
    dims = 2 if all(_rank(gram) <= 2 for gram in grams) else 3
    places = placed(report.geometries, dims)
    if isinstance(report, SweepCrossmodalReport):
        first = count // 2
        names = [str(i + 1) for i in range(first)] + [str(i + 1) for i in range(count - first)]
        words = f"{first} {report.nouns[0]}s and {count - first} {report.nouns[1]}s"
        points = [_of_sides(row, report.nouns) for row in report.rows]
        marks: list[dict[str, Any]] = []
    else:
        first, names = count, list(report.names)
        sized = "majority" in report.over or "imbalance" in report.over
        words = f"{count} classes" if sized else classes({"problem": report.problem}) or f"{count} classes"
        points = [_of_classes(row) for row in report.rows]
        marks = [mark for mark in report.collapse or [] if isinstance(mark[next(iter(report.over))], (int, float))]
    for point, place in zip(points, places, strict=True):
        point["at"], point["share"] = (None, 0.0) if place is None else place
    axes = [
        {
            "name": name,
            "label": name.replace("_", " "),
            "values": values,
            "log": bool(spaced_in_log(sorted(values))),
            "start": len(values) // 2,
        }
        for name, values in report.over.items()
    ]
    whole = {
        "axes": axes,
        "names": names,
        "first": first,
        "nouns": list(report.nouns) if sides else [],  # type: ignore[union-attr]  # sides have them
        "classes": words,
        "dims": dims,
        "points": points,
        "marks": marks,
    }
    plain: dict[str, Any] = jsonable(whole)
    return plain


def placed(grams: list[FloatArray | None], dims: int) -> list[tuple[list[list[float]], float] | None]:
    """For each Gram matrix points in the plane or in space, turned onto the one before, and the part that they show."""
    found: list[tuple[list[list[float]], float] | None] = []
    before: FloatArray | None = None
    for gram in grams:
        if gram is None:
            found.append(None)
            continue
        points = embed(gram, dims)
        points = np.pad(points, ((0, 0), (0, dims - points.shape[1])))
        if before is not None:
            _, points = procrustes(points, before)
        before = points
        found.append((points.round(4).tolist(), min(1.0, float(np.sum(points**2) / np.trace(gram)))))
    return found


def _rank(gram: FloatArray) -> int:
    values = np.linalg.eigvalsh(gram)
    return int(np.sum(values > FLAT * len(gram)))


def _of_classes(row: dict[str, Any]) -> dict[str, Any]:
    known = row["structure"] != "undetermined"
    facts = {"kind": row["structure"], "min_angle_deg": row["min_angle_deg"], "max_angle_deg": row["max_angle_deg"]}
    lost = row["simplex_excess"] or 0.0
    loses = f" A regular simplex would lose {number(lost, 2)} nats." if lost > 1e-12 else ""
    return {
        "said": geometry({**facts, "groups": row["groups"]}),
        "loss": row["value"],
        "low": row["min_angle_deg"] if known else None,
        "high": row["max_angle_deg"] if known else None,
        "proof": _proof(row) + loses,
    }


def _of_sides(row: dict[str, Any], nouns: tuple[str, str]) -> dict[str, Any]:
    one, two = nouns
    own, gap = row["partner_angle_deg"], row["modality_gap"]
    apart = "" if own is None else f"; each {one} is {in_degrees(own)} or less from its own {two}"
    said = f"{row['structure'][:1].upper()}{row['structure'][1:]}: modality gap {number(gap, 3)}{apart}"
    return {"said": said, "loss": row["value"], "low": own, "high": row["other_angle_deg"], "proof": _proof(row)}


def _proof(row: dict[str, Any]) -> str:
    value = rounded(row["value"], 9)
    if not row["certified"]:
        return f"Loss {value} nats, not proven: the gap is {row['gap']:.1e}."
    return f"Loss {value} nats, proven: no embedding goes below {rounded(row['lower_bound'], 9)}."
