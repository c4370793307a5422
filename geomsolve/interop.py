"""Losses of other libraries as the losses here, with the parameters that they were made with.

    from pytorch_metric_learning.losses import SupConLoss
    solve(Imbalance([0.7, 0.2, 0.1], loss=from_pml(SupConLoss(0.1))))

    pytorch-metric-learning    SupConLoss, NTXentLoss, TripletMarginLoss and MultiSimilarityLoss on cosines,
                               ContrastiveLoss on cosines or distances, LiftedStructureLoss on distances
    lightly                    NTXentLoss, with or without a memory bank, DCLLoss
    sentence-transformers      MultipleNegativesRankingLoss and its symmetric and cached kin: scale s is temperature 1/s

What these libraries do besides is said, not guessed: a loss on another distance than the cosine, or one that is not a
function of cosines, is refused.  Nothing is loaded: whoever has made a loss has its library.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from geomsolve.errors import InputError, nearest
from geomsolve.registry import LOSSES

LossDict = dict[str, Any]


def from_pml(loss: Any) -> LossDict:
    """A loss of pytorch-metric-learning, as the key ``loss`` of a question takes it.

    Raises :class:`InputError` for a loss that is none of the library or has no counterpart.
    """
    return _found(loss, "pytorch_metric_learning", "pytorch-metric-learning", _PML)


def from_lightly(loss: Any) -> LossDict:
    """The same for a loss of lightly; each sample of a batch is a class of its own there."""
    return _found(loss, "lightly", "lightly", _LIGHTLY)


def from_sentence_transformers(loss: Any) -> LossDict:
    """The same for a loss of sentence-transformers, whose logits are ``scale`` times cosines."""
    return _found(loss, "sentence_transformers", "sentence-transformers", _SENTENCE_TRANSFORMERS)


def _found(loss: Any, package: str, library: str, known: Mapping[str, Callable[[Any], LossDict]]) -> LossDict:
    kind = loss if isinstance(loss, type) else type(loss)
    homes = [base for base in kind.__mro__ if base.__module__.split(".")[0] == package]
    if not homes:
        raise InputError(f"wanted a loss of {library}, got {kind.__name__} of {kind.__module__}", field="loss")
    if isinstance(loss, type):
        raise InputError(
            f"wanted a loss, got the class {kind.__name__}; make one, as in {kind.__name__}()", field="loss"
        )
    name = next((base.__name__ for base in homes if base.__name__ in known), None)
    if name is not None:
        return known[name](loss)
    if not LOSSES.knows(kind.__name__):
        complaint = LOSSES.unknown(kind.__name__, field="loss")
        if "unknown" not in complaint.message:
            raise complaint
    raise InputError(
        f"{kind.__name__} of {library} has no counterpart here; {nearest(kind.__name__, known)}", field="loss"
    )


def _on_distances(loss: Any) -> bool:
    """Whether a loss of pytorch-metric-learning compares plain Euclidean distances of unit vectors."""
    distance = getattr(loss, "distance", None)
    plain = {"normalize_embeddings": True, "p": 2, "power": 1}
    return type(distance).__name__ == "LpDistance" and all(
        getattr(distance, key, value) == value for key, value in plain.items()
    )


def _contrastive(loss: Any) -> LossDict:
    if _on_distances(loss):
        return {
            "name": "contrastive-distance",
            "pos_distance": float(loss.pos_margin),
            "neg_distance": float(loss.neg_margin),
        }
    _cosine(loss)
    return {"name": "contrastive", "pos_margin": float(loss.pos_margin), "neg_margin": float(loss.neg_margin)}


def _lifted(loss: Any) -> LossDict:
    """A margin of positive pairs takes as much off that of negative ones; their number is that of a batch."""
    if not _on_distances(loss):
        raise InputError("LiftedStructureLoss is known on plain Euclidean distances of unit vectors", field="loss")
    return {"name": "lifted-structure", "neg_distance": float(loss.neg_margin) - float(loss.pos_margin)}


def _multi_similarity(loss: Any) -> LossDict:
    _cosine(loss)
    return {"name": "multi-similarity", "temperature": 1 / float(loss.beta), "base": float(loss.base)}


def _cosine(loss: Any) -> None:
    """Refuse a loss of pytorch-metric-learning on another distance than the cosine."""
    distance = getattr(loss, "distance", None)
    if distance is not None and type(distance).__name__ != "CosineSimilarity":
        raise InputError(
            f"{type(loss).__name__} has the distance {type(distance).__name__}, and losses here are functions of "
            "cosines; make it with distance=CosineSimilarity()",
            field="loss",
        )


def _tempered(name: str) -> Callable[[Any], LossDict]:
    def found(loss: Any) -> LossDict:
        _cosine(loss)
        return {"name": name, "temperature": float(loss.temperature)}

    return found


def _triplet(loss: Any) -> LossDict:
    _cosine(loss)
    for switch in ("swap", "smooth_loss"):
        if getattr(loss, switch, False):
            raise InputError(
                f"TripletMarginLoss with {switch}=True has no counterpart here; leave it out", field="loss"
            )
    return {"name": "triplet", "margin": float(loss.margin)}


def _lightly_nt_xent(loss: Any) -> LossDict:
    """SimCLR, or infonce against a memory bank of so many samples."""
    bank = getattr(getattr(loss, "memory_bank", None), "size", getattr(loss, "memory_bank_size", 0))
    size = int(bank[0] if isinstance(bank, (tuple, list)) else bank or 0)
    temperature = float(loss.temperature)
    if size:
        return {"name": "infonce", "temperature": temperature, "negatives": size}
    return {"name": "nt-xent", "temperature": temperature}


def _ranking(loss: Any) -> LossDict:
    similarity = getattr(loss, "similarity_fct", None)
    called = getattr(similarity, "__name__", "cos_sim")
    if similarity is not None and "cos" not in called:
        raise InputError(
            f"{type(loss).__name__} compares by {called}, and losses here are functions of cosines; make it with "
            "similarity_fct=cos_sim",
            field="loss",
        )
    return {"name": "mnrl", "temperature": 1 / float(loss.scale)}


_PML = {
    "SupConLoss": _tempered("supcon"),
    "NTXentLoss": _tempered("nt-xent"),
    "TripletMarginLoss": _triplet,
    "ContrastiveLoss": _contrastive,
    "LiftedStructureLoss": _lifted,
    "MultiSimilarityLoss": _multi_similarity,
}
_LIGHTLY = {"NTXentLoss": _lightly_nt_xent, "DCLLoss": _tempered("dcl")}
_SENTENCE_TRANSFORMERS = {
    name: _ranking
    for prefix in ("", "Cached")
    for name in (f"{prefix}MultipleNegativesRankingLoss", f"{prefix}MultipleNegativesSymmetricRankingLoss")
}
