"""The parameters that losses take: how each is spelled, bounded and explained, said once.

A loss declares which of these it uses as dataclass fields (``temperature: float = parameter(TEMPERATURE, 0.1)``).
The command line makes one flag of each, and a flag given to a loss that does not declare it is an error.
"""

from __future__ import annotations

from geomsolve.registry import BATCH as BATCH
from geomsolve.registry import EPSILON as EPSILON
from geomsolve.registry import REPLACEMENT as REPLACEMENT
from geomsolve.registry import TEMPERATURE as TEMPERATURE
from geomsolve.registry import VIEWS as VIEWS
from geomsolve.registry import (
    Parameter,
    Synonym,
    budget,
    choice,
    exponent,
    groups,
    margins,
    number,
    one_each,
    per_class,
    switch,
    text,
    whole,
)

NEGATIVES = Parameter(
    "negatives",
    ("--negatives",),
    whole(1, infinite=True),
    "K|inf",
    "Negatives an anchor is compared with.",
    also=(Synonym("--queue"),),
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
FULL_BATCH = Parameter("full_batch", ("--full-batch",), switch, "", "One batch holds the whole set; needs counts.")
SAMPLER = Parameter(
    "sampler",
    ("--sampler",),
    exponent(balanced=0.0, sqrt=0.5),
    "ALPHA|balanced|sqrt",
    "Classes are drawn in proportion to their share to this power: 1 as they are, 0 equally often.",
)
ANCHOR_WEIGHTS = Parameter(
    "anchor_weights",
    ("--anchor-weights",),
    per_class("balanced", "effective:", zero=True),
    "balanced|effective:BETA|LIST",
    "Class weights of the loss: all classes alike in sum, by effective number of samples, or a list or @file.",
)
DENOMINATOR = Parameter(
    "denominator",
    ("--denominator",),
    per_class("plain", "balanced"),
    "plain|balanced|LIST",
    "How much each class counts among what an anchor is compared with: balanced averages every class (as BCL does).",
)
LOGIT_ADJUST = Parameter(
    "logit_adjust",
    ("--logit-adjust",),
    number("a number", -10, 10),
    "ETA",
    "Adds ETA log(share of the class) to the logits an anchor is compared with.",
)
PAIR_MARGIN = Parameter(
    "pair_margin",
    ("--pair-margin",),
    margins(),
    "MATRIX",
    "Adds a margin to the cosine of each pair of classes, a row and a column a class, 0,.1;.1,0 or @file.",
)
BATCHES = Parameter(
    "batches",
    ("--batches",),
    groups(),
    "CLASSES;CLASSES",
    "Batches that always hold the same classes, 1,2,3;2,3,4 or @file: classes that never meet are not compared.",
)
POSITIVES = Parameter(
    "positives",
    ("--positives",),
    whole(1),
    "K",
    "Positives an anchor has besides its own other view.",
)
TARGET_WEIGHT = Parameter(
    "target_weight",
    ("--target-weight",),
    number("a weight", 1e-6, 1e6),
    "W",
    "Weight of the pull to a class's target, where each positive has 1.",
)
COMPLEMENT = Parameter(
    "complement",
    ("--complement",),
    choice("yes", "no"),
    "yes|no",
    "Whether a learned prototype of every class stands in each batch.",
)
BATCH_WEIGHTS = Parameter(
    "batch_weights",
    ("--batch-weights",),
    one_each("batch"),
    "LIST",
    "How often each of the fixed batches comes, in their order (default: all alike).",
)
MARGIN = Parameter(
    "margin",
    ("--margin",),
    number("a margin", 1e-6, 2),
    "M",
    "Hinge margin: a negative costs nothing below cosine 1 - M.",
)
POS_MARGIN = Parameter(
    "pos_margin",
    ("--pos-margin",),
    number("a cosine", -0.999, 1),
    "C",
    "Cosine from which on a positive pair costs nothing.",
)
NEG_MARGIN = Parameter(
    "neg_margin",
    ("--neg-margin",),
    number("a cosine", -1, 0.999),
    "C",
    "Cosine down to which a negative pair costs.",
)
NEG_DISTANCE = Parameter(
    "neg_distance",
    ("--neg-distance",),
    number("a distance", 1e-6, 100),
    "D",
    "Euclidean distance, 2 at most between unit vectors, that negative pairs are to keep: the margin of losses on "
    "distances.",
)
POS_DISTANCE = Parameter(
    "pos_distance",
    ("--pos-distance",),
    number("a distance", 1e-6, 2, zero=True),
    "D",
    "Euclidean distance up to which a positive pair costs nothing.",
)
SQUARED = Parameter("squared", ("--squared",), switch, "", "Squares of what distances fall short.")
BASE = Parameter(
    "base",
    ("--base",),
    number("a cosine", -1, 1),
    "C",
    "Cosine around which pairs are weighed: similarities are compared with it.",
)
BIAS = Parameter(
    "bias",
    ("--bias",),
    number("a number", -1e6, 1e6),
    "B",
    "Bias, subtracted from the logit; SigLIP's code adds it: -10 there is 10 here, but for --loss siglip.",
)
ALPHA = Parameter(
    "alpha",
    ("--alpha",),
    number("a number", 1e-3, 1e3),
    "A",
    "Sharpness of the soft maximum over positive pairs; the optimum does not depend on it, but the levels do.",
)
UNIFORM_T = Parameter(
    "uniform_t",
    ("--uniform-t",),
    number("a number", 1e-6, 1e4),
    "S",
    "Sharpness s of the Gaussian potential exp(-s |x - y|^2).",
)
DELTA = Parameter(
    "delta",
    ("--delta",),
    number("a distance", 1e-100, 1e6, zero=True),
    "D",
    "Floor under the distance 1 - cosine whose logarithm is taken.",
)
TAIL_WEIGHT = Parameter(
    "tail_weight",
    ("--tail-weight",),
    number("a weight", 0, 1),
    "L",
    "Weight lambda of the extreme-value term of the logit, 1 - lambda of the cosine.",
)
TAIL_SHAPE = Parameter(
    "tail_shape",
    ("--tail-shape",),
    number("a number", 0, 1e6),
    "B",
    "Weibull shape beta of the extreme-value term.",
)
HARDNESS = Parameter(
    "hardness",
    ("--hardness",),
    number("a number", 1e-12, 1e6),
    "B",
    "Draw negatives with density proportional to e^(B cosine); not convex, so the answer is not certified.",
)
PSI = Parameter(
    "psi",
    ("--psi",),
    text(500, "an expression in the cosine x of at most 500 characters, such as log1p(exp(5*(x-0.3)))"),
    "EXPR",
    "What two classes at cosine x cost, x**2 or log1p(exp(5*(x-0.3))): convex, of numpy's smooth functions.",
)
CONSTRAINT = Parameter(
    "constraint",
    ("--constraint",),
    budget(),
    "budget:E_H,E_W",
    "Mean squared length that features, and classifiers, may have (layer-peeled model); one number is for both.",
)
REGULARISE = Parameter(
    "regularise",
    ("--regularise", "--regularize"),
    number("a weight", 1e-12, 1e6),
    "LAM",
    "Weight decay, the root of that on features times that on classifiers; needs counts.",
)
UFM = Parameter(
    "ufm",
    ("--ufm",),
    choice("seli"),
    "seli",
    "Unconstrained features in the limit of vanishing weight decay (unless another form is given).",
)
SMOOTHING = Parameter(
    "smoothing",
    ("--smoothing",),
    number("a share", 1e-9, 0.999999, zero=True),
    "E",
    "Label smoothing: the share of the target that is spread over all classes.",
)
