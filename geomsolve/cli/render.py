"""Pieces of text that several commands print: numbers, grids of cosines, how sure an answer is."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
from rich.style import Style
from rich.table import Table
from rich.text import Text

from geomsolve.gram.structure import angle_degrees
from geomsolve.gram.types import FloatArray
from geomsolve.words import counted, in_degrees, left, rounded, signed

FEW = 6
"""Numbers up to which a list among the parameters is written out."""

COLD, HOT = (33, 102, 172), (178, 24, 43)
"""Colours of cosine -1 and +1: the ends of a scale that stays legible for colour-blind readers; 0 is white."""


def colour(cosine: float) -> Style:
    """Background for a cosine: blue below 0, red above, white at 0."""
    weight = min(1.0, abs(cosine))
    end = COLD if cosine < 0 else HOT
    red, green, blue = (round(255 + (c - 255) * weight) for c in end)
    ink = "white" if weight > 0.6 else "black"
    return Style(color=ink, bgcolor=f"rgb({red},{green},{blue})")


def chosen(count: int, fits: int) -> list[int | None]:
    """Positions to show when only ``fits`` of ``count`` do: the first and the last, None where some are left out."""
    if count <= fits:
        return list(range(count))
    tail = fits // 2
    return [*range(fits - tail - 1), None, *range(count - tail, count)]


def cosine_grid(cosines: FloatArray, labels: Sequence[str], single: Sequence[bool], width: int) -> Table:
    """Cosines on and below the diagonal, angles in degrees above it, as many as ``width`` columns of text hold.

    ``cosines`` (m, m); where ``single`` is true the diagonal describes no pair and shows a dot.
    """
    longest = max(len(label) for label in labels)
    margin = min(longest, 24)
    cell = max(len(signed(-1.0)), min(longest, 12, (width - margin - 1) // len(labels) - 1))
    positions = chosen(len(labels), max(4, (width - margin - 1) // (cell + 1)))
    grid = Table(box=None, padding=(0, 1, 0, 0), show_header=True, header_style="bold")
    grid.add_column("", no_wrap=True, max_width=margin, overflow="ellipsis")
    for b in positions:
        title = "…" if b is None else labels[b]
        grid.add_column(title, justify="right", no_wrap=True, max_width=cell, overflow="ellipsis")
    for a in positions:
        if a is None:
            grid.add_row("…", *("…" for _ in positions))
            continue
        cells: list[Text] = []
        for b in positions:
            if b is None:
                cells.append(Text("…"))
            elif a == b and single[a]:
                cells.append(Text("·"))
            else:
                cosine = float(cosines[a, b])
                shown = in_degrees(angle_degrees(cosine)) if b > a else signed(cosine)
                cells.append(Text(shown, style=colour(cosine)))
        grid.add_row(Text(labels[a], style="bold"), *cells)
    return grid


def cosine_phrase(x: float) -> str:
    """A cosine with its angle: +0.5000 (60.0°)."""
    return f"{signed(x)} ({in_degrees(angle_degrees(float(np.clip(x, -1, 1))))})"


def proof_lines(
    value: float,
    lower_bound: float,
    gap: float,
    certified: bool,
    tolerance: float,
    *,
    embedding: str = "embedding",
    assumption: str = "",
    advice: str = "Try another --solver.",
) -> str:
    """How sure the answer is, in one or two sentences; ``embedding`` is what the bound holds for.

    ``assumption`` says for which of these, and after a semicolon what the others may do; empty where for all.
    """
    kept, others = holds_for(assumption)
    such = f"no {'such ' if assumption else ''}{embedding}"
    figures = f"loss value {rounded(value, 9)} nats; {such} goes below {rounded(lower_bound, 9)} ({left(gap, value)})"
    if certified:
        return f"Proven{kept}: {figures}.{others}"
    allowed = tolerance * max(1.0, abs(value))
    return f"NOT PROVEN{kept}: {figures}; a proof needs a gap of at most {allowed:.1e}. {advice}{others}"


def holds_for(assumption: str) -> tuple[str, str]:
    """What a proof takes for granted, as ' for ...' and as a sentence on what the others may do; both may be empty."""
    if not assumption:
        return "", ""
    kept, _, others = assumption.partition("; ")
    return f" for {kept}", f" {others[:1].upper()}{others[1:]}." if others else ""


def effort(solver: dict[str, Any]) -> str:
    """What solving took."""
    return f"{counted(solver['iterations'], 'step')}, {solver['seconds']:.2g} s"


BLOCKS, PLAIN = "▁▂▃▄▅▆▇█", "_.-:=+*#"
"""Heights of a sparkline, and what stands for them where the terminal knows only ASCII."""


def sparkline(values: Sequence[float], width: int, *, plain: bool = False) -> str:
    """Values as a row of characters of rising height, at most ``width`` of them."""
    if len(values) > width:
        values = [values[round(i * (len(values) - 1) / (width - 1))] for i in range(width)]
    ramp = PLAIN if plain else BLOCKS
    low, high = min(values), max(values)
    span = high - low if high - low > 1e-9 * max(1.0, abs(high)) else 0.0
    return "".join(ramp[round((x - low) / span * (len(ramp) - 1)) if span else 0] for x in values)


def loss_phrase(loss: dict[str, Any]) -> str:
    """'Loss supcon, temperature 0.1': a loss with every parameter that is in force."""
    return f"Loss {loss_words(loss)}"


def loss_words(loss: dict[str, Any]) -> str:
    """'supcon, temperature 0.1'; of a loss that is not known here as well."""
    name = str(loss.get("name", "supcon"))
    shown = [name]
    for key, value in loss.items():
        if key == "name" or value is False:
            continue
        label = parameter_words(key, name)
        shown.append(label if value is True else f"{label} {_parameter(value)}")
    return ", ".join(shown)


def parameter_words(key: str, loss: str) -> str:
    """A parameter of the loss of that name, or what else may vary, in words."""
    from geomsolve.losses import known_losses

    cls = known_losses().get(loss)
    plain = key.replace("_", " ")
    return cls.spelled.get(key, plain) if cls else plain


def _parameter(value: Any) -> str:
    """A parameter's value: a word, a number, or numbers class by class where they are few."""
    if isinstance(value, (list, tuple)):
        nested = any(isinstance(x, (list, tuple)) for x in value)
        return "given by class" if nested or len(value) > FEW else ",".join(map(_parameter, value))
    return f"{value:g}" if isinstance(value, (int, float)) else str(value)


def extreme_pair(cosines: FloatArray, pairs: FloatArray, largest: bool) -> tuple[int, int]:
    """Positions of the two orbits with the largest or smallest cosine between different classes."""
    masked = np.where(pairs > 0, cosines, -np.inf if largest else np.inf)
    flat = int(np.argmax(masked) if largest else np.argmin(masked))
    return flat // cosines.shape[0], flat % cosines.shape[0]


EXACT_MEAN = "The mean over batches is exact: all compositions of a batch are enumerated."


def mean_over_batches(expectations: Collection[str], loss: str) -> str:
    """Which mean over batches the values of the ``loss`` of that name are of; empty where there is no choice."""
    if "ratio" not in expectations:
        return EXACT_MEAN if "exact" in expectations else ""
    from geomsolve.losses import find_loss

    where = "Where" if "exact" in expectations else "As"
    return (
        f"{where} a batch has too many compositions to enumerate, the ratio of expectations stands for the mean over "
        f"batches: the mean over the {find_loss(loss).averaged} of ever more batches together. geomsolve imbalance "
        "measures the difference at a point."
    )
