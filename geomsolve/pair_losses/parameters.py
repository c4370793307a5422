"""The parameters that losses of two sides take: how each is spelled, bounded and explained, said once."""

from __future__ import annotations

from geomsolve.registry import TEMPERATURE as TEMPERATURE
from geomsolve.registry import Parameter, choice, number, whole

BATCH = Parameter(
    "batch",
    ("--batch",),
    whole(2),
    "B",
    "Pairs in a batch (default: clip the limit of large ones, siglip as many as there are points on a side).",
)
BIAS = Parameter(
    "bias",
    ("--bias",),
    number("a number", -1e6, 1e6),
    "B",
    "Bias, added to the logit, as SigLIP's code has it: it starts at -10.",
)
NEGATIVES = Parameter(
    "sampling",
    ("--sampling",),
    choice("iid", "supervised"),
    "iid|supervised",
    "Where negatives come from: all texts, own ones included (iid), or those paired with other images (supervised).",
)
MARGIN = Parameter(
    "margin",
    ("--margin",),
    number("a margin", 0, 2),
    "M",
    "Taken off the cosine with the own classifier, as in CosFace.",
)
ANGLE = Parameter(
    "margin",
    ("--margin",),
    number("an angle in radians", 0, 1.5),
    "M",
    "Added to the angle with the own classifier, in radians.",
)
PRIOR = Parameter(
    "prior",
    ("--prior",),
    choice("uniform", "props"),
    "uniform|props",
    "What classes weigh in the softmax: all alike, or by share, which is logit adjustment.",
)
