"""What to change, in words: each change as an instruction, and the lines that follow a collapse."""

from __future__ import annotations

from typing import Any

from rich.console import Console

from geomsolve.analyses.remedies import Remedy
from geomsolve.questions.spelled import flags, written
from geomsolve.words import in_degrees, listing, number

LONGEST = 400
"""Characters of a command up to which it is printed."""


def flags_of(change: dict[str, Any]) -> str:
    """A change as flags, or in words where it is none."""
    if "merge" in change:
        return f"classes {change['merge']} as one"
    words = flags({key: value for key, value in change.items() if key not in ("loss", "dim")})
    for key in ("loss", "dim"):
        if key in change:
            words += [f"--{key}", written(change[key])]
    return " ".join(words)


def instruction(change: dict[str, Any], now: dict[str, Any]) -> str:
    """A change as an instruction; ``now`` are the parameters of the loss in force."""
    if set(change) == {"anchor_weights", "denominator"}:
        return "Count every class alike, as anchors and in the denominator"
    ((key, value),) = change.items()
    said = {
        "denominator": "Average every class in the denominator",
        "anchor_weights": "Weigh the loss so that every class counts alike",
        "loss": f"Train with {value}",
        "dim": f"Give the embedding {value} dimensions",
        "merge": f"Train with classes {value} as one",
        "batch": f"Take batches of {value} samples",
        "views": f"Take {value} views of each sample",
        "negatives": f"Compare each anchor with {value} negatives",
    }
    if key == "temperature":
        return f"{'Lower' if value < now[key] else 'Raise'} the temperature to {number(value)}"
    if key == "sampler":
        rule = {"balanced": "equally often", "sqrt": "in proportion to the square root of their share"}
        return f"Draw the classes {rule.get(value) or f'in proportion to their share to the power {number(value)}'}"
    if key == "logit_adjust":
        return f"Add {number(value)} log(share of the class) to the logits"
    return said.get(key, f"Set {key.replace('_', ' ')} to {written(value)}")


def gives_up(change: dict[str, Any], now: dict[str, Any]) -> str:
    """What a change costs besides, in a few words."""
    if "merge" in change:
        return "no longer told apart"
    key = "anchor_weights" if "anchor_weights" in change else next(iter(change))
    value = change[key]
    before = now.get(key)
    more = before is not None and before != "inf" and not isinstance(value, str) and value > float(before)
    return {
        "temperature": "near ones count less" if more else "only the nearest count",
        "sampler": "rare samples repeat",
        "anchor_weights": "leans on few samples",
        "denominator": "big classes repel less",
        "logit_adjust": "rare classes repel less" if key == "logit_adjust" and value > 0 else "big classes repel less",
        "batch": "memory" if more else "fewer negatives a step",
        "views": "time and memory" if more else "fewer positives a step",
        "negatives": "time and memory" if more else "fewer negatives a step",
        "loss": "another loss to tune",
        "dim": "a larger embedding",
    }.get(key, "")


def after_collapse(remedy: Remedy, screen: Console) -> None:
    """Print what helps classes that have collapsed, and the command that compares every change."""
    helping = [found for found in remedy.tried if found["minority_angle_deg"] > 0]
    if helping:
        best, *others = helping
        change = {"sampler": best["sampler"]}
        rest = "".join(f"; --sampler {other['sampler']}: {in_degrees(other['minority_angle_deg'])}" for other in others)
        screen.print(
            f"{instruction(change, {})} ({flags_of(change)}), and the smaller classes are "
            f"{in_degrees(best['minority_angle_deg'])} apart or more (proven{rest})."
        )
    compared = (
        remedy.command if len(remedy.command) <= LONGEST else "geomsolve advise, with the classes and flags as here"
    )
    screen.print(f"What every change would do: {compared}", soft_wrap=True)


def closest(names: tuple[str, ...], count: int) -> str:
    """The smaller classes, as those of which the closest two are meant."""
    if count == 2:
        return f"the smaller classes {listing(names)}"
    return "the closest two of the smaller classes"
