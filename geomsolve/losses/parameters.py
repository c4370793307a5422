"""The parameters that losses take: how each is spelled, read, bounded and explained, said once.

A loss declares which of these it uses as dataclass fields (``temperature: float = parameter(TEMPERATURE, 0.1)``).
The command line makes one flag of each, and a flag given to a loss that does not declare it is an error.
"""

from __future__ import annotations

from geomsolve.registry import Parameter, choice, number, switch, whole

TEMPERATURE = Parameter(
    "temperature",
    ("-t", "--temperature"),
    number("a temperature above 0, from 0.0001 to 1e6", lambda x: 1e-4 <= x <= 1e6),
    "T",
    "Temperature: similarities are cosines divided by it (default 0.1).",
)
NEGATIVES = Parameter(
    "negatives",
    ("--negatives",),
    whole(1, infinite=True),
    "K|inf",
    "Negatives an anchor is compared with (default inf).",
)
SAMPLING = Parameter(
    "sampling",
    ("--sampling",),
    choice("iid", "supervised"),
    "iid|supervised",
    "Where negatives come from: all classes, own class included (iid), or only other classes (supervised).",
)
FORM = Parameter(
    "form",
    ("--form",),
    choice("sum", "mean"),
    "sum|mean",
    "Whether the negatives' exponentials are summed or averaged.",
)
BATCH = Parameter("batch", ("--batch",), whole(2), "B", "Samples in a random batch (default: the population limit).")
VIEWS = Parameter("views", ("--views",), whole(1), "V", "Augmented views of each sample in a batch (default 2).")
REPLACEMENT = Parameter(
    "replacement",
    ("--replacement",),
    choice("yes", "no"),
    "yes|no",
    "Whether a batch may hold a sample twice; no, as data loaders draw, needs counts (default yes; levels: no).",
)
FULL_BATCH = Parameter("full_batch", ("--full-batch",), switch, "", "One batch holds the whole set; needs counts.")
EPSILON = Parameter(
    "epsilon",
    ("--epsilon",),
    number("a weight above 0, at most 1", lambda x: 0 < x <= 1),
    "E",
    "Weight of pairs from different classes, against 1 within a class (default 0.1).",
)
MARGIN = Parameter(
    "margin",
    ("--margin",),
    number("a margin above 0, from 1e-6 to 2", lambda x: 1e-6 <= x <= 2),
    "M",
    "Hinge margin: a negative costs nothing below cosine 1 - M (default 1).",
)
BIAS = Parameter(
    "bias",
    ("--bias",),
    number("a number from -1e6 to 1e6", lambda x: abs(x) <= 1e6),
    "B",
    "Bias, subtracted from the logit (default 0); SigLIP's code adds it: -10 there is 10 here.",
)
UNIFORM_T = Parameter(
    "uniform_t",
    ("--uniform-t",),
    number("a number above 0, from 1e-6 to 1e4", lambda x: 1e-6 <= x <= 1e4),
    "S",
    "Sharpness s of the Gaussian potential exp(-s |x - y|^2) (default 2).",
)
DELTA = Parameter(
    "delta",
    ("--delta",),
    number("a number, at least 0", lambda x: x >= 0),
    "D",
    "Floor under the distance 1 - cosine whose logarithm is taken (default 0).",
)
TAIL_WEIGHT = Parameter(
    "tail_weight",
    ("--tail-weight",),
    number("a weight from 0 to 1", lambda x: 0 <= x <= 1),
    "L",
    "Weight lambda of the extreme-value term of the logit, 1 - lambda of the cosine (default 0.5).",
)
TAIL_SHAPE = Parameter(
    "tail_shape",
    ("--tail-shape",),
    number("a number, at least 0", lambda x: x >= 0),
    "B",
    "Weibull shape beta of the extreme-value term (default 1).",
)
HARDNESS = Parameter(
    "hardness",
    ("--hardness",),
    number("a number above 0", lambda x: x > 0),
    "B",
    "Draw negatives with density proportional to e^(B cosine); not convex, so the answer is not certified.",
)
