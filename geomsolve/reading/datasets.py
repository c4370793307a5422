"""Class counts of well-known imbalanced data sets, by name, each with its source.

The long-tailed CIFAR sets follow the published rule (Cui et al. 2019), with f = 1 / factor:

    exp    n_i = int(n_max f^(i / (K - 1)))
    step   the first K // 2 classes n_max, the rest int(n_max f)

A factor below 1 is taken for the share of the smallest class in the largest, f itself.  Names are told apart by their
letters and digits alone: CIFAR-100-LT is cifar100-lt.

The counts of three large sets are not at hand class by class, only their published figures.  Their namesakes that end
in ``-shaped`` are power laws with exactly these figures (classes, training images, largest and smallest class):

    n_i = int(n_min + (n_max - n_min) (1 - i / (K - 1))^a),   a chosen so that the total is right.
"""

from __future__ import annotations

from dataclasses import dataclass

from geomsolve.errors import InputError, bare, nearest


@dataclass(frozen=True)
class DataSet:
    """``counts`` of the training set by class ``names``; ``source`` in one line; ``notes`` on how a name was read."""

    name: str
    counts: tuple[int, ...]
    names: tuple[str, ...]
    source: str
    notes: tuple[str, ...] = ()


_CIFAR10 = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
_GRADES = ("no DR", "mild", "moderate", "severe", "proliferative")

_FIXED = {
    d.name: d
    for d in (
        DataSet(
            "ham10000",
            (6705, 1113, 1099, 514, 327, 142, 115),
            ("nv", "mel", "bkl", "bcc", "akiec", "vasc", "df"),
            "Tschandl et al. 2018, HAM10000 training images",
        ),
        DataSet(
            "isic2019",
            (4522, 12875, 3323, 867, 2624, 239, 253, 628),
            ("MEL", "NV", "BCC", "AK", "BKL", "DF", "VASC", "SCC"),
            "ISIC 2019 challenge, training images",
        ),
        DataSet("eyepacs", (25810, 2443, 5292, 873, 708), _GRADES, "Kaggle diabetic retinopathy 2015, training images"),
        DataSet("aptos2019", (1805, 370, 999, 193, 295), _GRADES, "APTOS 2019 blindness detection, training images"),
        DataSet("ddr", (6266, 630, 4477, 236, 913), _GRADES, "Li et al. 2019, DDR, gradable images"),
        DataSet("creditcard-fraud", (284315, 492), ("genuine", "fraud"), "Dal Pozzolo et al. 2015, credit card fraud"),
    )
}

_SHAPED: dict[str, tuple[int, int, int, float, str]] = {
    "imagenet-lt-shaped": (1000, 1280, 5, 10.5267, "Liu et al. 2019, ImageNet-LT"),
    "places-lt-shaped": (365, 4980, 5, 30.1115, "Liu et al. 2019, Places-LT"),
    "inaturalist2018-shaped": (8142, 1000, 2, 18.24008, "Van Horn et al. 2018, iNaturalist 2018"),
}
_SHAPED_SOURCE = "a power law with the totals of {}; not its list of classes"

_CIFAR = {"cifar10-lt": (10, 5000), "cifar100-lt": (100, 500)}
_CIFAR_SOURCE = "Cui et al. 2019, long-tailed CIFAR by the {} rule, imbalance factor {}"
EXAMPLES = ("cifar10-lt:100", "cifar10-lt:100:step", "cifar100-lt:100", *_FIXED, *_SHAPED)
"""Names that ``list datasets`` shows; the CIFAR ones take any factor."""


def long_tail(n_classes: int, largest: int, factor: float, rule: str) -> tuple[int, ...]:
    """Class counts by the published ``rule``, 'exp' or 'step'."""
    f = 1 / factor
    if rule == "step":
        half = n_classes // 2
        return (largest,) * half + (int(largest * f),) * (n_classes - half)
    return tuple(int(largest * f ** (i / (n_classes - 1))) for i in range(n_classes))


def power_law(n_classes: int, largest: int, smallest: int, exponent: float) -> tuple[int, ...]:
    """Class counts that fall from ``largest`` to ``smallest`` by the rule of the ``-shaped`` sets."""
    return tuple(int(smallest + (largest - smallest) * (1 - i / (n_classes - 1)) ** exponent) for i in range(n_classes))


def dataset(name: str) -> DataSet:
    """The data set called ``name``; an error naming the nearest one if there is none."""
    known = {bare(each): each for each in (*_FIXED, *_SHAPED, *_CIFAR)}
    written, *options = name.split(":")
    base = known.get(bare(written), "")
    if base in _FIXED and not options:
        return _FIXED[base]
    if base in _SHAPED and not options:
        n_classes, largest, smallest, exponent, source = _SHAPED[base]
        counts = power_law(n_classes, largest, smallest, exponent)
        return DataSet(base, counts, tuple(str(i) for i in range(len(counts))), _SHAPED_SOURCE.format(source))
    if base not in _CIFAR:
        raise InputError(f"unknown data set {name!r}; {nearest(name, EXAMPLES)}")
    n_classes, largest = _CIFAR[base]
    factor, rule = [*options, "exp"][:2] if options else ("", "exp")
    notes: tuple[str, ...] = ()
    try:
        ratio = float(factor)
        if 0 < ratio < 1:
            ratio = float(f"{1 / ratio:.12g}")
            notes = (f"dataset: {factor} is taken for the smallest class over the largest, a factor of {ratio:g}",)
        if len(options) > 2 or rule not in ("exp", "step") or not 1 <= ratio <= largest:
            raise ValueError
    except ValueError:
        raise InputError(
            f"{name!r} needs an imbalance factor from 1 to {largest}, then maybe a rule (exp, step), "
            f"as in {base}:100 or {base}:100:step"
        ) from None
    names = _CIFAR10 if n_classes == 10 else tuple(str(i) for i in range(n_classes))
    source = _CIFAR_SOURCE.format(rule, f"{ratio:g}")
    return DataSet(name, long_tail(n_classes, largest, ratio, rule), names, source, notes)
