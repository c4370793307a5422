"""The distance to the predicted geometry, inside a training loop.

    from geomsolve.torch import GeometryProbe

    probe = GeometryProbe(counts=[5000, 500, 50], loss={"name": "supcon", "temperature": 0.1})
    for epoch in range(epochs):
        for images, labels in loader:
            z = encoder(images)
            loss = criterion(z, labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            probe.update(z, labels)
        reading = probe.read()
        print(f"off by {reading.max_gram_error:.3f}, scatter {reading.within_class:.3f}")
        probe.reset()

Needs torch.  Sums stay on the device of the embeddings; :meth:`GeometryProbe.read` moves K x d numbers, once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import normalize

from geomsolve.analyses.imbalance import ImbalanceReport, geometry
from geomsolve.errors import InputError
from geomsolve.gram.measure import Measurement, gram_error
from geomsolve.gram.types import FloatArray
from geomsolve.questions.imbalance import Imbalance


@dataclass(frozen=True)
class Reading:
    """``gram`` (K, K) of the class means seen so far and its largest difference ``max_gram_error`` from the prediction;
    ``within_class``, ``nc1`` and ``simplex_distance`` as in :class:`geomsolve.gram.measure.Measurement`;
    ``samples`` seen.  ``open``: the loss does not fix the angles, so that there is nothing for ``max_gram_error`` to be
    measured from, and it is nan."""

    gram: FloatArray
    max_gram_error: float
    within_class: float
    nc1: float
    simplex_distance: float
    samples: int
    open: bool


class GeometryProbe:
    """Feed it batches, ask it how far the class means are from the certified prediction; see the module.

    Takes what :class:`geomsolve.Imbalance` takes: classes by ``props``, ``counts`` or ``dataset``, and the ``loss``.
    Labels are 0, ..., K - 1 in that order.  ``prediction`` is the report of :func:`geomsolve.solve`.
    """

    def __init__(self, **problem: Any) -> None:
        self.prediction: ImbalanceReport = geometry(Imbalance(**problem))
        self.n_classes = len(self.prediction.names)
        self.reset()

    def reset(self) -> None:
        """Forget all batches."""
        self._sums: Tensor | None = None
        self._counts: Tensor | None = None
        self._strays: Tensor | int = 0

    @torch.no_grad()
    def update(self, embeddings: Tensor, labels: Tensor) -> None:
        """Add a batch: ``embeddings`` (n, d) of any length, ``labels`` (n,) from 0 to K - 1.

        Raises :class:`geomsolve.InputError` if the shapes do not fit each other or earlier batches.
        """
        if embeddings.ndim != 2 or labels.shape != embeddings.shape[:1]:
            raise InputError(
                f"wanted embeddings (n, d) and labels (n,), got {tuple(embeddings.shape)} and {tuple(labels.shape)}"
            )
        if self._sums is None or self._counts is None:
            shape = (self.n_classes, embeddings.shape[1])
            self._sums = torch.zeros(shape, dtype=torch.float64, device=embeddings.device)
            self._counts = torch.zeros(self.n_classes, dtype=torch.float64, device=embeddings.device)
        if embeddings.shape[1] != self._sums.shape[1]:
            raise InputError(f"embeddings had {self._sums.shape[1]} dimensions before, now {embeddings.shape[1]}")
        z = normalize(embeddings.detach().double(), dim=1)
        index = labels.to(z.device).long()
        known = (index >= 0) & (index < self.n_classes)  # looked at in read(): here it would wait for the device
        self._strays += int(index.numel()) - known.sum()
        index, z = torch.where(known, index, 0), z * known[:, None]
        self._sums.index_add_(0, index, z)
        self._counts.index_add_(0, index, known.double())

    def read(self) -> Reading:
        """What has been seen so far; raises :class:`geomsolve.InputError` while some class has not been seen."""
        counts = np.zeros(self.n_classes) if self._counts is None else self._counts.cpu().numpy()
        unseen = np.flatnonzero(counts == 0)
        if self._sums is None or unseen.size:
            raise InputError(f"{unseen.size} of {self.n_classes} classes have not been seen yet, first {unseen[0]}")
        sums = self._sums.cpu().numpy()
        if strays := int(self._strays):
            raise InputError(f"{strays:,} labels are not among the classes, which run from 0 to {self.n_classes - 1}")
        if not np.all(np.isfinite(sums)):
            raise InputError("some embeddings were nan or infinite; training has diverged")
        found, predicted = Measurement.of(sums, counts), self.prediction
        return Reading(
            gram=found.gram,
            max_gram_error=np.nan if predicted.open else gram_error(found.gram, predicted.gram),
            within_class=found.within_class,
            nc1=found.nc1,
            simplex_distance=found.simplex_distance,
            samples=int(counts.sum()),
            open=predicted.open,
        )
