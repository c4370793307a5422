"""Reached against predicted: cosines, or squared distances, of where descent ended."""

from __future__ import annotations

from typing import Any

import numpy as np

from geomsolve.plots._geometry import OPEN, agreement
from geomsolve.plots._style import canvas, entitled, number, weighting_of
from geomsolve.plots._words import question

VERDICTS = {"agrees": "Gradient descent ends where the proof says"}


def figure(answer: dict[str, Any]) -> Any:
    """The picture of a ``check`` answer; None for one stored without its cosines, as there are too many."""
    if "gram" not in answer["descent"]:
        return None
    predicted, reached = (np.array(answer[part]["gram"]) for part in ("prediction", "descent"))
    drawn = canvas((4.8, 4.8))
    axes = drawn.add_subplot()
    noun, one_of_many = answer["prediction"].get("noun", "cosine"), answer["prediction"].get("open", False)
    agreement(axes, predicted, reached, ("reached", noun), one_of_many=one_of_many)
    off = f"orange: largest difference {number(answer['max_gram_error'], 2)}"
    axes.set_title(OPEN if one_of_many else off, fontsize=8)
    subject = question(answer) if "loss" in answer["problem"] else weighting_of(answer)
    entitled(drawn, VERDICTS.get(answer["verdict"], f"Gradient descent: {answer['verdict']}"), subject)
    return drawn
