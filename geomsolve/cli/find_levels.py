"""The setting at which a loss value is a level, in words."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.table import Table

from geomsolve.analyses.find_levels import FoundLevelsReport
from geomsolve.cli.render import holds_for, loss_phrase
from geomsolve.words import counted, listing, number

NAMES = {"collapse": "total collapse", "random_start": "what untrained embeddings give", "optimum": "the optimum"}
SHORT = {**NAMES, "random_start": "random start", "optimum": "optimum"}
NOUNS = {"batch": "batch size", "negatives": "number of negatives", "base-temperature": "base temperature"}


def show(report: FoundLevelsReport, screen: Console, *, quiet: bool) -> None:
    """Print the answer for a person: sentence, setting, a row for each level, the best, another scale, how sure."""
    screen.print(sentence(report), style="bold")
    if quiet:
        return
    screen.print(f"{setting(report)}\n")
    if report.loss_value is not None:
        screen.print(table(report))
    for line in closing(report):
        screen.print(line)


def noun(report: FoundLevelsReport) -> str:
    """What is looked for."""
    return NOUNS.get(report.over, report.spelled)


def place(report: FoundLevelsReport, match: dict[str, Any]) -> str:
    """A match, as 'batch 64', with no more digits than the value typed has told."""
    if match["any"]:
        return f"any {noun(report)}"
    low, high = match["low"], match["high"]
    if report.over in ("batch", "negatives"):
        several = f"{low:,} to {high:,}" if low < high else f"{match['value']:,}"
        return f"batch {several}" if report.over == "batch" else f"{several} negative{'s' if high > 1 else ''}"
    return f"{noun(report)} {told(match)}"


def told(match: dict[str, Any]) -> str:
    """A number with the fewest digits at which it is still within what the value typed allows."""
    if match["low"] <= 0 <= match["high"]:
        return "0"
    for digits in range(1, 7):
        text = number(match["value"], digits)
        if match["low"] <= float(text) <= match["high"]:
            return text
    return number(match["value"], 7)


def sentence(report: FoundLevelsReport) -> str:
    """The answer in one sentence."""
    if report.loss_value is None and report.best is not None:
        best = report.best
        return f"The optimum is smallest, {number(best['optimum'], 7)}, at {noun(report)} {number(best['value'], 7)}."
    value = number(report.loss_value or 0.0, 12)
    if report.matches:
        where: dict[str, list[str]] = {}
        for match in report.matches:
            where.setdefault(NAMES[match["level"]], []).append(place(report, match))
        return f"{value} is {listing([f'{level} at ' + ' or '.join(places) for level, places in where.items()])}."
    what = "total collapse, what untrained embeddings give or the optimum"
    if all(miss["certain"] for miss in report.misses):
        return f"No {noun(report)}{within(report.misses[0])} makes {value} {what}."
    return f"No {noun(report)} was found{within(report.misses[0])} that makes {value} {what}."


def within(miss: dict[str, Any]) -> str:
    """Where was looked."""
    if not isinstance(miss["high"], (int, float)) or miss["high"] == float("inf"):
        return ""
    low, high = (f"{x:,.0f}" if x == int(x) and abs(x) >= 1 else number(x, 4) for x in (miss["low"], miss["high"]))
    return f" from {low} to {high}"


def setting(report: FoundLevelsReport) -> str:
    """What was given, with everything that sets the scale."""
    problem, over = report.problem, report.over.replace("-", "_")
    parts = [loss_phrase({key: value for key, value in problem["loss"].items() if key != over})]
    if problem.get("batch") and over != "batch":
        parts.append(f"batch {problem['batch']:,}")
    parts.append(counted(problem["views"], "view"))
    parts.append("every sample its own class" if report.n_classes is None else f"{report.n_classes:,} classes")
    if problem.get("base_temperature") and over != "base_temperature":
        parts.append(f"base temperature {problem['base_temperature']:g}")
    if problem["reduction"] == "mean-nonzero":
        parts.append("mean over anchors with a positive")
    else:
        parts.append(f"{problem['reduction']} over anchors")
    return f"{', '.join(parts)}; {noun(report)} varied."


def table(report: FoundLevelsReport) -> Table:
    """A row for each level: where the value is it, or why nowhere."""
    shown = Table(box=None, padding=(0, 3, 0, 0), header_style="bold")
    shown.add_column("level")
    shown.add_column(noun(report), justify="right")
    shown.add_column("")
    for match in report.matches:
        low, high = match["low"], match["high"]
        if match["any"]:
            shown.add_row(SHORT[match["level"]], "any", f"it is the same from {number(low)} to {number(high)}")
        elif report.over in ("batch", "negatives"):
            near = f"nearest; {low:,} to {high:,} within the digits typed" if low < high else ""
            shown.add_row(SHORT[match["level"]], f"{match['value']:,}", near)
        else:
            spread = f"{number(low)} to {number(high)} within the digits typed"
            shown.add_row(SHORT[match["level"]], number(match["value"], 7), spread)
    for miss in report.misses:
        shown.add_row(
            SHORT[miss["level"]], "none" if miss["certain"] else "none found", why(miss, report.loss_value or 0.0)
        )
    return shown


def why(miss: dict[str, Any], value: float) -> str:
    """Why a level has no match, or where it was looked for."""
    if len(miss["nearest"]) == 2:
        (a, b) = miss["nearest"]
        return f"{number(a['level'], 7)} at {a['value']:,}, {number(b['level'], 7)} at {b['value']:,}"
    if not miss["certain"]:
        return f"looked{within(miss)}"
    if miss["least"] == miss["most"]:
        return f"it is {number(miss['least'], 7)} whatever the setting"
    above, below = number(miss["least"], 7), number(miss["most"], 7)
    return f"it is at least {above}{within(miss)}" if value < miss["least"] else f"it is at most {below}{within(miss)}"


def closing(report: FoundLevelsReport) -> list[str]:
    """The best bias, other scales, and how sure the optimum is."""
    lines = []
    if report.best is not None and report.loss_value is not None:
        best = report.best
        lines.append(
            f"The optimum is smallest, {number(best['optimum'], 7)}, at {noun(report)} {number(best['value'], 7)}."
        )
    for other in report.other_scale:
        base = other["base_temperature"]
        where = "as given" if other["value"] is None else f"at {noun(report)} {other['value']:,}"
        value, level = number(report.loss_value or 0.0, 12), NAMES[other["level"]]
        if base is None:
            lines.append(
                f"{value} would be {level} {where} without temperature / {report.problem['base_temperature']:g}: your "
                "loss may have no such factor (leave --base-temperature out)."
            )
        else:
            lines.append(
                f"{value} would be {level} {where} with temperature / {base:g}: that factor is missing in your scale "
                f"(--base-temperature {base:g})."
            )
    if report.assumption:
        lines.append(f"NOT PROVEN: the optimum is that if {report.assumption}.")
    elif report.only_for:
        kept, others = holds_for(report.only_for)
        lines.append(f"The optimum is {'proven' if report.certified else 'NOT PROVEN'}{kept}.{others}")
    elif not report.certified:
        lines.append("NOT PROVEN: the optimum was not certified.")
    return lines
