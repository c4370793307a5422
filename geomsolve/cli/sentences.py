"""The answer of a row of ``batch`` as a sentence with its unit, from what the row holds alone.

A row is stored, maybe by another version, and its headline is made for a table: a number, or a name.  Whatever a
sentence cannot be made of keeps its headline.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from geomsolve.plots._words import geometry
from geomsolve.plots.sweep import said
from geomsolve.words import counted, number, rounded

Row = dict[str, Any]


def sentence(row: Row) -> str:
    """What a person reads as the answer of a row; its headline where nothing better can be said."""
    headline = str(row.get("headline") or "")
    made = SENTENCES.get(str(row.get("command")))
    if made is None or not headline:
        return headline
    try:
        return made(row, headline) or headline
    except (KeyError, TypeError, ValueError, AttributeError):  # the row may be anyone's, its parts anything
        return headline


def _imbalance(row: Row, headline: str) -> str:
    lost = headline.rpartition(", worth ")[2] if ", worth " in headline else ""
    return geometry(row["structure"]) + (
        f"; a regular simplex would lose {lost.replace(': unseen', ', unseen in training')}" if lost else ""
    )


def _threshold(row: Row, headline: str) -> str:
    found, over = row["threshold"], str(row["over"]).replace("_", " ")
    if found is None:
        return f"No collapse along {over}: {headline}"
    value = number(float(found["value"]))
    if "before" in found:
        return f"From {found['before']} to {found['after']} at {over} {value}"
    where = "above" if row["collapsed_above"] else "below"
    if over == "majority":
        return (
            f"The smaller classes collapse where the largest has {'more' if where == 'above' else 'less'} than {value}"
        )
    counts = {"batch": f"{value} samples a batch", "negatives": f"{value} negatives"}
    return f"The smaller classes collapse {where} {counts.get(over, f'{over} {value}')}"


def _levels(row: Row, headline: str) -> str:
    if "matches" in row:
        return headline
    levels = f"Optimum at {number(row['optimum'])} nats, total collapse at {number(row['collapse'])} nats"
    own, place = row.get("loss_value"), row.get("position")
    if own is None or place is None:
        return levels
    return f"{levels}; {number(own)} nats stands at {place:.0%} of the way up"


def _capacity(row: Row, headline: str) -> str:
    angle = row.get("best_min_angle_deg")
    if angle is not None:
        return (
            f"Smallest angle {number(angle)}°, {'and no arrangement has more' if row['optimal'] else 'the best found'}"
        )
    verb = {"classes": "fit", "dimensions": "are needed"}.get(headline.rpartition(" ")[2])
    return f"{headline} {verb}" if verb else headline


def _capital(row: Row, headline: str) -> str:
    return headline[:1].upper() + headline[1:]


def _realizable(row: Row, headline: str) -> str:
    said = {
        "realizable": "Realizable: an embedding attains every wanted value",
        "inconsistent": "Inconsistent: no embedding attains what is wanted",
        "degenerate": "Degenerate: only a limit would attain what is wanted",
    }.get(headline)
    excess = (row.get("optimum") or {}).get("excess")
    if said and headline == "inconsistent" and excess:
        said += f"; the best stays {rounded(excess, 3)} nats above the ideal"
    return said or headline


def _check(row: Row, headline: str) -> str:
    if headline != "agrees":
        return f"Gradient descent: {headline}"
    return "Gradient descent ends where the proof says"


def _compare(row: Row, headline: str) -> str:
    said = {
        "matches": "The encoder has the predicted geometry",
        "loose": "The loss does not fix these angles, and the encoder is at its optimum",
        "not there yet": "Not there yet: the loss can still fall",
        "another geometry": "Another geometry than the one predicted",
        "dimension": "Too few dimensions for the predicted geometry",
    }.get(headline, headline)
    error = row.get("max_gram_error")
    return said if error is None else f"{said} (cosines are off by at most {number(error, 2)})"


def _advise(row: Row, headline: str) -> str:
    if headline == "nothing to change":
        return "Nothing to change: the classes stand as wanted"
    options = row["options"]
    now, best = row["now"]["min_angle_deg"], options[0]["min_angle_deg"]
    return f"Best change: {headline}; the smallest angle goes from {now:.1f}° to {best:.1f}°"


def _design(row: Row, headline: str) -> str:
    said = {"weights exist": "There are weights that make", "no such weights": "No weights make"}.get(headline)
    return f"{said} the target the optimum" if said else headline


def _contrast(row: Row, headline: str) -> str:
    return f"Smallest angles of {counted(len(row['rows']), 'loss', 'losses')}: {headline}"


def _negatives(row: Row, headline: str) -> str:
    least = row["least_negatives"]
    if least["exact"] is None:
        return headline
    return f"{least['exact']:,} negatives are within {least['accuracy']:g} nats of infinitely many"


def _diversity(row: Row, headline: str) -> str:
    lost = row["identity"]["value"] - row["optimum"]["value"]
    verb = "is violated" if headline == "violated" else headline
    above = f"lie {rounded(lost, 3)} nats above the optimum" if lost > 1e-9 else "are optimal"
    return f"The diversity condition {verb}; the latents {above}"


SENTENCES: dict[str, Callable[[Row, str], str]] = {
    "advise": _advise,
    "capacity": _capacity,
    "check": _check,
    "compare": _compare,
    "contrast": _contrast,
    "crossmodal": _capital,
    "design": _design,
    "diversity": _diversity,
    "imbalance": _imbalance,
    "levels": _levels,
    "negatives": _negatives,
    "realizable": _realizable,
    "sweep": lambda row, _: said(row),
    "threshold": _threshold,
}
"""How the answer of each command is said; of others their headline is a sentence."""
