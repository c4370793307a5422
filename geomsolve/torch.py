"""The distance to the predicted geometry, inside a training loop: a metric with the calls of torchmetrics.

    from geomsolve.torch import GeometryProbe

    probe = GeometryProbe([5000, 500, 50], loss="supcon", temperature=0.1)
    for epoch in range(epochs):
        for images, labels in loader:
            z = encoder(images)
            loss = criterion(z, labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            probe.update(z, labels)
        reading = probe.compute()
        print(f"off by {reading.max_gram_error:.3f}, scatter {reading.within_class:.3f}")
        logger.log_metrics(reading.to_dict("geometry/"))
        probe.reset()

Needs torch.  What is kept are the sums S_a of the unit vectors of each class and their numbers n_a, from which all else
follows (``gram/measure.py``); they add up over batches, over probes (:meth:`GeometryProbe.merge`) and over the
processes of a distributed training, which :meth:`GeometryProbe.compute` does by itself.  They stay on the device of the
embeddings, in float64 or, where a device has none, in float32 with the rounding of each sum kept beside it (Neumaier).
Nothing here waits for a device before :meth:`GeometryProbe.compute`, which moves K x d numbers, once.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import Any, Self

import numpy as np

try:
    import torch
except ModuleNotFoundError:
    raise ModuleNotFoundError(
        "geomsolve.torch needs torch; install it with: pip install 'geomsolve[torch]'", name="torch"
    ) from None
from torch import Tensor
from torch import distributed as dist

from geomsolve.analyses.imbalance import ImbalanceReport, geometry
from geomsolve.analyses.named import loss_of
from geomsolve.errors import InputError
from geomsolve.gram.measure import Measurement, different
from geomsolve.gram.orbits import Orbits
from geomsolve.gram.simplex import simplex_cosine
from geomsolve.gram.structure import angle_degrees, coinciding
from geomsolve.gram.types import FloatArray, IntArray
from geomsolve.losses import ClassifierLoss, Loss
from geomsolve.questions.imbalance import Imbalance

MEASURED = 1000
"""Classes up to which the loss at the measured cosines is worked out."""

REFUSED = ("{n} of the labels are not among the classes, which run from 0 to {last}",
           "{n} of the labels are no whole numbers",
           "{n} of the embeddings are zero, and a zero vector has no direction",
           "{n} of the embeddings are nan or infinite; training has diverged")  # fmt: skip
"""What is wrong with samples that are counted as refused, in the order in which they are counted."""


@dataclass(frozen=True)
class Reading:
    """What a probe has seen: ``counts`` (K,) of the samples of each class.

    ``gram`` (K, K) of the class means, nan for a class that has not been seen.  Over the pairs of classes that were:
    ``max_gram_error`` and ``rms_gram_error``, the largest difference of a cosine from the prediction and the root of
    the mean square; ``simplex_distance`` as in :class:`geomsolve.gram.measure.Measurement`; ``min_angle_deg``, the
    smallest angle; ``merged``, groups of classes that are nearly at one point.  ``within_class`` and ``nc1`` as there.
    ``excess``: by how many nats classes at these means lose against the optimum.  ``samples`` seen.
    ``open``: the loss does not fix the angles, so that there is nothing to be off from, and both errors are nan.
    What is not known is nan: all that needs two classes before two have been seen, ``excess`` before all have.
    """

    gram: FloatArray
    counts: IntArray
    max_gram_error: float
    rms_gram_error: float
    excess: float
    within_class: float
    nc1: float
    simplex_distance: float
    min_angle_deg: float
    merged: tuple[tuple[str, ...], ...]
    samples: int
    open: bool

    @property
    def unseen(self) -> int:
        """Classes of which there was no sample."""
        return int(np.sum(self.counts == 0))

    @property
    def width(self) -> float:
        """The root of the mean square distance of a sample from the mean of its class."""
        return float(np.sqrt(self.within_class))

    def to_dict(self, prefix: str = "") -> dict[str, float]:
        """Scalars for a logger, their names after ``prefix``; nan for what is not known.

        ``error``, ``rms``: of cosines.  ``excess`` in nats.  ``width``, see there.  ``smallest_angle`` in degrees.
        ``merged_groups``: how many groups of classes are at one point.  ``unseen``: classes without a sample.
        """
        found = {
            "error": self.max_gram_error,
            "rms": self.rms_gram_error,
            "excess": self.excess,
            "width": self.width,
            "smallest_angle": self.min_angle_deg,
            "merged_groups": float(len(self.merged)),
            "unseen": float(self.unseen),
        }
        return {f"{prefix}{name}": float(value) for name, value in found.items()}


class GeometryProbe:
    """Feed it batches, ask it how far the class means are from the certified prediction; see the module.

    Takes what :class:`geomsolve.Imbalance` takes: classes by ``props``, ``counts``, ``labels`` or ``dataset``, and the
    ``loss``.  Labels are 0, ..., K - 1 in that order.  ``prediction`` is the report of :func:`geomsolve.solve`.
    ``within``: a cosine this near to 1 is that of classes at one point.  ``sync``: :meth:`compute` adds up all
    processes of a distributed training, all of which have to call it.
    """

    def __init__(self, /, *classes: Any, within: float = 0.1, sync: bool = True, **problem: Any) -> None:
        question = Imbalance(*classes, **problem)
        loss = loss_of(question)
        if isinstance(loss, ClassifierLoss):
            raise InputError(f"{loss.name} is one of features and classifiers; a probe takes a loss of features alone")
        self.prediction: ImbalanceReport = geometry(question)
        self.n_classes = len(self.prediction.names)
        self.within = within
        self.sync = sync
        self._loss: Loss = loss
        self.reset()

    def reset(self) -> None:
        """Forget all batches."""
        self._sums: Tensor | None = None
        self._rounding: Tensor | None = None
        self._counts: Tensor | None = None
        self._refused: Tensor | None = None

    def update(self, embeddings: Tensor, labels: Tensor) -> None:
        """Add a batch: ``embeddings`` (n, d) of any length and type, ``labels`` (n,) from 0 to K - 1.

        Raises :class:`geomsolve.InputError` if the shapes do not fit each other or earlier batches, and on a CPU for
        what else is refused: labels that are none of the classes or no whole numbers, and zero vectors.  On other
        devices looking would mean waiting, so that :meth:`compute` raises it.
        """
        if embeddings.ndim != 2 or labels.shape != embeddings.shape[:1]:
            raise InputError(
                f"wanted embeddings (n, d) and labels (n,), got {tuple(embeddings.shape)} and {tuple(labels.shape)}"
            )
        if embeddings.is_complex() or labels.is_complex():
            raise InputError("wanted real embeddings and labels, got complex numbers")
        if self._sums is not None and embeddings.shape[1] != self._sums.shape[1]:
            raise InputError(f"embeddings had {self._sums.shape[1]} dimensions before, now {embeddings.shape[1]}")
        # what is kept lives on outside of inference mode; autocast leaves the widest numbers of a device as they are
        with torch.inference_mode(False), torch.no_grad():
            sums, counts, refused = self._of_batch(embeddings.detach(), labels.detach())
            if refused is not None and refused.device.type == "cpu":
                self._complain(refused * torch.tensor([1, 1, 1, 0]))
            self._add(sums, counts, refused)

    def _of_batch(self, embeddings: Tensor, labels: Tensor) -> tuple[Tensor, Tensor, Tensor | None]:
        """Sums, numbers of samples by class, and how many samples are refused for which reason; None for none."""
        z = embeddings.to(_widest(embeddings.device))
        if embeddings.dtype == z.dtype:  # squares of what is not narrower may be too large or too small
            z = z / z.abs().amax(dim=1, keepdim=True).clamp_min(torch.finfo(z.dtype).tiny) if z.shape[1] else z
        lengths = torch.linalg.vector_norm(z, dim=1)
        given = labels.to(z.device)
        index, unit, refused = given, z.div_(lengths[:, None]), None  # z is a copy
        if z.device.type == "cpu" and self._all_good(given, lengths):
            index = given.long()
            good = torch.ones_like(index)
        else:  # on other devices asking would mean waiting
            whole = given == given.floor() if given.is_floating_point() else torch.ones_like(given, dtype=torch.bool)
            index = torch.where(whole, given, 0).long()
            known = (index >= 0) & (index < self.n_classes)
            finite = torch.isfinite(lengths)
            good = known & finite & (lengths > 0) & whole
            unit, index = torch.where(good[:, None], unit, 0), torch.where(good, index, 0)
            reasons = (whole & ~known, ~whole, lengths == 0, ~finite)
            refused = torch.stack([reason.sum() for reason in reasons])
        sums = z.new_zeros(self.n_classes, z.shape[1]).index_add_(0, index, unit)
        counts = torch.zeros(self.n_classes, dtype=torch.int64, device=z.device).index_add_(0, index, good.long())
        return sums, counts, refused

    def _all_good(self, labels: Tensor, lengths: Tensor) -> bool:
        """Whether no sample is refused, by the extremes of whole numbers: fewer steps than asking of each sample."""
        if labels.dtype not in WHOLE or not labels.numel():
            return False
        (first, last), (shortest, longest) = labels.aminmax(), lengths.aminmax()  # nan if one is
        return int(first) >= 0 and int(last) < self.n_classes and float(shortest) > 0 and float(longest) < inf

    def _add(self, sums: Tensor, counts: Tensor, refused: Tensor | None) -> None:
        """Add to what is kept, in numbers that are not wide without losing what rounding cuts off."""
        if self._sums is None or self._counts is None or self._refused is None:
            none = torch.zeros(len(REFUSED), dtype=torch.int64, device=sums.device)
            self._sums, self._counts, self._refused = sums, counts, none if refused is None else refused
            return
        device = self._sums.device
        sums = sums.to(device=device, dtype=self._sums.dtype)
        total = self._sums + sums
        if total.dtype != torch.float64:
            larger = self._sums.abs() >= sums.abs()
            lost = torch.where(larger, (self._sums - total) + sums, (sums - total) + self._sums)
            self._rounding = lost if self._rounding is None else self._rounding + lost
        self._sums = total
        self._counts = self._counts + counts.to(device)
        if refused is not None:
            self._refused = self._refused + refused.to(device)

    def merge(self, *others: GeometryProbe) -> Self:
        """Add what other probes have seen; raises :class:`geomsolve.InputError` if they are of other classes."""
        for other in others:
            if other.prediction.names != self.prediction.names:
                raise InputError("the other probe is of other classes; merge probes of the same question")
            if other._sums is None or other._counts is None:
                continue
            if self._sums is not None and other._sums.shape != self._sums.shape:
                raise InputError(
                    f"embeddings had {self._sums.shape[1]} dimensions here, {other._sums.shape[1]} in the other probe"
                )
            self._add(other._sums, other._counts, other._refused)
            if other._rounding is not None:
                own = torch.zeros_like(other._rounding) if self._rounding is None else self._rounding
                self._rounding = own + other._rounding.to(own)
        return self

    merge_state = merge

    def compute(self) -> Reading:
        """What has been seen so far, in all processes of a distributed training.

        Raises :class:`geomsolve.InputError` for what was refused, and for embeddings that were not finite.
        """
        sums, counts, refused = self._summed()
        self._complain(refused)
        return self._reading(sums.numpy(), counts.numpy())

    read = compute

    def _summed(self) -> tuple[Tensor, Tensor, Tensor]:
        """Sums, numbers and refusals of all processes, on the CPU."""
        k = self.n_classes
        if self._sums is None or self._counts is None or self._refused is None:
            sums, numbers = torch.zeros(k, 0, dtype=torch.float64), torch.zeros(k + len(REFUSED), dtype=torch.int64)
        else:
            sums = self._sums.cpu().double()
            sums = sums if self._rounding is None else sums + self._rounding.cpu().double()
            numbers = torch.cat([self._counts, self._refused]).cpu()
        if self.sync and dist.is_available() and dist.is_initialized() and dist.get_world_size() > 1:
            here = torch.device("cuda", torch.cuda.current_device()) if dist.get_backend() == "nccl" else "cpu"
            width = torch.tensor([sums.shape[1], -sums.shape[1] if sums.shape[1] else -(2**31)], device=here)
            dist.all_reduce(width, op=dist.ReduceOp.MAX)  # a process without a batch does not know the dimensions
            if 0 < int(width[0]) != -int(width[1]):
                raise InputError(f"embeddings have {-int(width[1])} to {int(width[0])} dimensions in the processes")
            if sums.shape[1] != int(width[0]):
                sums = torch.zeros(k, int(width[0]), dtype=torch.float64)
            sums, numbers = sums.to(here), numbers.to(here)
            dist.all_reduce(sums)
            dist.all_reduce(numbers)
        numbers = numbers.cpu()
        return sums.cpu(), numbers[:k], numbers[k:]

    def _complain(self, refused: Tensor) -> None:
        for reason, n in zip(REFUSED, refused.tolist(), strict=True):
            if n:
                raise InputError(reason.format(n=f"{n:,}", last=self.n_classes - 1))

    def _reading(self, sums: FloatArray, counts: IntArray) -> Reading:
        k, predicted = self.n_classes, self.prediction
        seen = np.flatnonzero(counts)
        gram = np.full((k, k), np.nan)
        merged: tuple[tuple[str, ...], ...] = ()
        within, nc1, excess = np.nan, np.nan, np.nan
        error, rms, distance, angle = np.nan, np.nan, np.nan, np.nan
        if seen.size == 1:
            gram[seen, seen] = 1.0
            within = max(1 - float(np.sum(sums[seen] ** 2)) / float(counts[seen[0]]) ** 2, 0.0)
        if seen.size > 1:
            found = Measurement.of(sums[seen], counts[seen].astype(np.float64))
            within, nc1 = found.within_class, found.nc1
            gram[np.ix_(seen, seen)] = found.gram
            cosines = different(found.gram)
            distance = float(np.abs(cosines - simplex_cosine(k)).max())
            angle = angle_degrees(float(cosines.max()))
            groups = coinciding(Orbits.trivial(np.full(seen.size, 1 / seen.size)), found.gram, self.within)
            merged = tuple(tuple(predicted.names[seen[a]] for a in group) for group in groups)
            if not predicted.open:
                off = cosines - different(predicted.gram[np.ix_(seen, seen)])
                error, rms = float(np.abs(off).max()), float(np.sqrt(np.mean(off**2)))
        if seen.size == k <= MEASURED:
            excess = self._excess(gram)
        return Reading(
            gram=gram,
            counts=counts,
            max_gram_error=error,
            rms_gram_error=rms,
            excess=excess,
            within_class=within,
            nc1=nc1,
            simplex_distance=distance,
            min_angle_deg=angle,
            merged=merged,
            samples=int(counts.sum()),
            open=predicted.open,
        )

    def _excess(self, gram: FloatArray) -> float:
        """What classes at these means lose against the optimum, in nats; nan where that takes too long."""
        try:
            value = self._loss.objective(self.prediction.orbits.single()).value(gram)
        except InputError:  # of batches without replacement, which take few distinct counts
            return np.nan
        return value - self.prediction.value


def _widest(device: torch.device) -> torch.dtype:
    """The widest floating-point numbers that a device has."""
    return torch.float32 if device.type in WITHOUT_FLOAT64 else torch.float64


WHOLE = {torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8}
"""Types of labels that their extremes are asked of."""

WITHOUT_FLOAT64 = {"mps", "xla"}
"""Kinds of devices that have no float64, or none worth the time."""
