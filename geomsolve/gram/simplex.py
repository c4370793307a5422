"""The regular simplex: K unit vectors with all mutual cosines -1/(K - 1), the most spread-out arrangement."""

from __future__ import annotations


def simplex_cosine(n_classes: int) -> float:
    """Mutual cosine -1/(K - 1) of the regular simplex with K = ``n_classes`` >= 2 corners."""
    return -1.0 / (n_classes - 1)
