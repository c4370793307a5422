"""What ``compare`` answers of two sides: images and texts beside what their loss wants, or several checkpoints."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from geomsolve.report import ProvenReport, Table, jsonable


@dataclass(frozen=True)
class Checkpoint:
    """What was measured of one file of images and one of texts, and how far it is from what is wanted.

    ``read`` {embeddings, texts}: what was read.  ``measured``: {partner_cosine{mean, min, max}, other_cosine{mean, min,
    max}, modality_gap, alignment}, and of classes also {scatter{first, second}, cross}.  ``value_measured`` is the loss
    of the data, of classes that with each class at its mean, and ``excess`` how far it lies above the optimum.
    ``gap_price``: what the measured modality gap costs by itself under clean CLIP, None elsewhere.
    ``max_cosine_error``: the largest difference of a cosine between classes from the wanted one, None without classes.
    """

    read: dict[str, str]
    dim: int
    measured: dict[str, Any]
    value_measured: float
    excess: float
    gap_price: float | None
    max_cosine_error: float | None
    verdict: str


@dataclass(frozen=True)
class CompareCrossmodalReport(ProvenReport):
    """Measured and predicted side by side; value, bound and proof are those of the predicted optimum.

    ``prediction``: {partner_cosine, other_cosine, modality_gap, alignment, rank, structure, tied}, and of classes also
    {cross}.  ``pairs`` compared of ``rows`` given; ``classes`` of the pairs, where they have any, each {name, count,
    proportion}.  The last of the ``checkpoints`` is the answer; where it is the only one, its fields are the report's.
    """

    command: ClassVar[str] = "compare"
    apart: ClassVar[tuple[str, ...]] = ("checkpoints",)
    verdicts: ClassVar[tuple[str, ...]] = ("matches", "loose", "not there yet")

    nouns: tuple[str, str]
    pairs: int
    rows: int
    classes: list[dict[str, Any]] | None
    prediction: dict[str, Any]
    checkpoints: tuple[Checkpoint, ...]

    @property
    def last(self) -> Checkpoint:
        """The last checkpoint."""
        return self.checkpoints[-1]

    @property
    def measured(self) -> dict[str, Any]:
        """What was measured of the last checkpoint."""
        return self.last.measured

    @property
    def value_measured(self) -> float:
        """The loss of the last checkpoint, in nats."""
        return self.last.value_measured

    @property
    def excess(self) -> float:
        """How far the loss of the last checkpoint lies above the optimum, in nats."""
        return self.last.excess

    @property
    def gap_price(self) -> float | None:
        """What the modality gap of the last checkpoint costs by itself, in nats."""
        return self.last.gap_price

    @property
    def verdict(self) -> str:
        """That on the last checkpoint."""
        return self.last.verdict

    @property
    def headline(self) -> str:
        return self.verdict

    @property
    def asked(self) -> dict[str, Any]:
        return {"value": self.value, "verdict": self.verdict}

    @property
    def table(self) -> Table:
        kept = ("modality_gap", "alignment")
        rows = [
            {
                "verdict": each.verdict,
                "excess": each.excess,
                "partner_cosine": each.measured["partner_cosine"]["mean"],
                "other_cosine": each.measured["other_cosine"]["mean"],
                **{key: each.measured[key] for key in kept},
            }
            for each in self.checkpoints
        ]
        return Table.of_rows(rows, [each.read["embeddings"] for each in self.checkpoints])

    def to_dict(self, **detail: Any) -> dict[str, Any]:
        """The JSON object, with the value of the optimum under the name that ``compare`` has for it too."""
        found = [jsonable(each) for each in self.checkpoints]
        own = found[0] if len(found) == 1 else {"checkpoints": found, "verdict": self.verdict}
        return {**super().to_dict(**detail), **own, "value_predicted": self.value}
