"""Measured against predicted cosines of the class means; of several checkpoints, how far off each is."""

from __future__ import annotations

from typing import Any

import numpy as np

from geomsolve.plots._geometry import OPEN, agreement
from geomsolve.plots._style import BLUE, FAINT, GREEN, INK, ORANGE, canvas, clipped, entitled, number
from geomsolve.plots._words import question

SAID = {
    "matches": "The encoder has the predicted geometry",
    "loose": "The loss does not fix these angles, and the encoder is at its optimum",
    "not there yet": "Not there yet: the loss can still fall",
    "another geometry": "Another geometry than the one predicted",
    "dimension": "Too few dimensions for the predicted geometry",
}
"""Verdicts in words."""


def figure(answer: dict[str, Any]) -> Any:
    """The picture of a ``compare`` answer; None for one stored without its cosines, as there are too many."""
    if "nouns" in answer:
        return curves(answer) if "checkpoints" in answer else sides(answer)
    if "checkpoints" in answer:
        return curve(answer)
    if "gram" not in answer["measured"]:
        return None
    predicted, measured = (np.array(answer[part]["gram"]) for part in ("prediction", "measured"))
    drawn = canvas((4.8, 4.8))
    axes = drawn.add_subplot()
    one_of_many = answer["prediction"].get("open", False)
    pair = agreement(axes, predicted, measured, ("measured", "cosine"), one_of_many=one_of_many)
    if one_of_many:
        axes.set_title(OPEN, fontsize=8)
    else:
        within = answer["problem"]["within"]
        ends = np.array(axes.get_xlim())
        axes.fill_between(ends, ends - within, ends + within, color=FAINT, alpha=0.2, linewidth=0, zorder=0)
        names = " / ".join(clipped(answer["classes"][a]["name"]) for a in pair)
        error = number(answer["max_gram_error"], 2)
        axes.set_title(f"shaded: within {number(within)}\norange: largest difference {error}, {names}", fontsize=8)
    entitled(drawn, SAID.get(answer["verdict"], answer["verdict"]), question(answer))
    return drawn


def curve(answer: dict[str, Any]) -> Any:
    """How far off each checkpoint is, and how much its classes have collapsed."""
    found = answer["checkpoints"]
    place = np.arange(1, len(found) + 1)
    drawn = canvas((6.4, 3.6))
    axes = drawn.add_subplot()
    one_of_many = found[-1]["prediction"].get("open", False)
    for key, color, label in (
        ()
        if one_of_many
        else (
            ("max_gram_error", ORANGE, "largest difference"),
            ("rms_gram_error", BLUE, "rms difference"),
            ("noise_floor", FAINT, "noise of class means"),
        )
    ):
        axes.plot(place, [each[key] for each in found], "o-", color=color, markersize=4, label=label)
    scatter = [each["measured"]["within_class"] for each in found]
    axes.plot(place, scatter, "s--", color=GREEN, markersize=3.5, label="within-class scatter")
    if not one_of_many:
        axes.axhline(answer["problem"]["within"], color=INK, linewidth=0.8, linestyle=":")
    axes.set_xticks(place, [clipped(each["read"]["embeddings"], 12) for each in found], rotation=30, ha="right")
    axes.set_ylim(bottom=0)
    axes.set_ylabel("mean squared distance" if one_of_many else "cosine")
    axes.legend()
    last = (
        "the loss does not fix the angles" if one_of_many else f"dotted: within {number(answer['problem']['within'])}"
    )
    axes.set_title(last, fontsize=8)
    entitled(drawn, f"Last checkpoint: {SAID.get(answer['verdict'], answer['verdict'])}", question(answer))
    return drawn


def sides(answer: dict[str, Any]) -> Any:
    """Of images and texts: the range of cosines within and across pairs, and the gap, beside what is predicted."""
    measured, predicted = answer["measured"], answer["prediction"]
    drawn = canvas((6.4, 2.8))
    axes = drawn.add_subplot()
    rows = {"within pairs": "partner_cosine", "across pairs": "other_cosine", "modality gap": "modality_gap"}
    for row, key in enumerate(rows.values()):
        found = measured[key]
        if isinstance(found, dict):
            axes.plot([found["min"], found["max"]], [row, row], color=FAINT, linewidth=3, solid_capstyle="butt")
        mean = found["mean"] if isinstance(found, dict) else found
        axes.plot([mean], [row], "o", color=BLUE, label=None if row else "measured (mean)")
        axes.plot([predicted[key]], [row], "|", color=ORANGE, markersize=16, label=None if row else "predicted")
    axes.set_yticks(range(len(rows)), list(rows))
    axes.set(xlim=(-1.05, 2.05), ylim=(2.5, -0.5), xlabel="cosine, or distance of the means")
    axes.legend(loc="lower right")
    entitled(drawn, SAID.get(answer["verdict"], answer["verdict"]), question(answer))
    return drawn


def curves(answer: dict[str, Any]) -> Any:
    """Of images and texts: mean cosines and modality gap from checkpoint to checkpoint, dotted what is predicted."""
    found, predicted = answer["checkpoints"], answer["prediction"]
    place = np.arange(1, len(found) + 1)
    drawn = canvas((6.4, 3.6))
    axes = drawn.add_subplot()
    for key, color, label in (
        ("partner_cosine", BLUE, "cosine within pairs"),
        ("other_cosine", GREEN, "cosine across pairs"),
        ("modality_gap", ORANGE, "modality gap"),
    ):
        values = [each["measured"][key] for each in found]
        means = [value["mean"] if isinstance(value, dict) else value for value in values]
        axes.plot(place, means, "o-", color=color, markersize=4, label=label)
        axes.axhline(predicted[key], color=color, linewidth=0.8, linestyle=":")
    axes.set_xticks(place, [clipped(each["read"]["embeddings"], 12) for each in found], rotation=30, ha="right")
    axes.set_ylabel("cosine, or distance of the means")
    axes.legend()
    axes.set_title("dotted: predicted", fontsize=8)
    entitled(drawn, f"Last checkpoint: {SAID.get(answer['verdict'], answer['verdict'])}", question(answer))
    return drawn
