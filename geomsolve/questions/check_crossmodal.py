"""The question of ``geomsolve check`` about two sides: does gradient descent reach the predicted geometry?"""

from __future__ import annotations

from typing import Literal

from geomsolve.questions.check import Composed, Training
from geomsolve.questions.crossmodal import Crossmodal


class CheckCrossmodal(Composed):
    """Does gradient descent on the loss of two sides, one free vector a point, reach what is predicted?

    ``CheckCrossmodal(props=[0.5, 0.3, 0.2], noise=0.1, loss={"name": "clip", "temperature": 0.5})``; needs torch.
    """

    kind: Literal["check_crossmodal"] = "check_crossmodal"
    question: Crossmodal
    training: Training = Training()
