"""The parameters that weightings take, each declared once; see ``registry.py``."""

from __future__ import annotations

from geomsolve.registry import EPSILON as EPSILON
from geomsolve.registry import TEMPERATURE, Parameter, choice, matrix, number
from geomsolve.weightings.kernels import KERNELS

SIGMA = Parameter(
    "sigma", ("--sigma",), number("a width", 1e-12, 1e12), "S", "Width of the kernel, in the unit of the labels."
)
KERNEL = Parameter("kernel", ("--kernel",), choice(*KERNELS), "NAME", f"Kernel on labels: {', '.join(KERNELS)}.")
TARGET_TEMPERATURE = Parameter(
    "target_temperature",
    ("--target-temperature",),
    TEMPERATURE.values,
    "T",
    "Temperature of the labels' cosines (default: that of the latents).",
)
WEIGHTS = Parameter(
    "weights", ("--weights",), matrix, "MATRIX", "Symmetric weights, 1,.5;.5,1 or @file; blank is unknown."
)
TARGET = Parameter(
    "target",
    ("--target",),
    matrix,
    "MATRIX",
    "Wanted cosines (or distances) instead of weights: @file, rows, pairs i,j,s, condensed.",
)
DISTANCES = Parameter(
    "distances",
    ("--distances",),
    choice("squared", "plain"),
    "squared|plain",
    "The target holds distances, squared or plain, of Euclidean latents.",
)
