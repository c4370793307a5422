"""The pages of docs/reference/ that are made from the code: commands, losses, weightings, sets, problem files, Python.

``python tests/reference.py`` writes them; a test fails where they are not what the code says now.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from geomsolve.values import FRACTION

FOLDER = Path(__file__).parent.parent / "docs" / "reference"
MADE = "<!-- made by tests/reference.py; do not edit -->"


def page(name: str) -> str:
    """The page of that name."""
    return f"{MADE}\n\n{MAKERS[name]().strip()}\n"


def row(*cells: Any) -> str:
    """A line of a table."""
    return "| " + " | ".join(str(cell).replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"


def table(head: Iterable[str], rows: Iterable[Iterable[Any]]) -> list[str]:
    names = list(head)
    return [row(*names), row(*("---" for _ in names)), *(row(*cells) for cells in rows)]


def commands() -> str:
    """The help of each command."""
    import click

    from geomsolve.cli.main import cli

    whole = click.Context(cli, info_name="geomsolve", terminal_width=100, **cli.context_settings)
    names = cli.list_commands(whole)
    lines = ["# Commands", "", "`geomsolve COMMAND -h` prints each of these.", ""]
    lines += [" · ".join(f"[{name}](#geomsolve-{name})" for name in names), ""]
    for name in names:
        command = cli.get_command(whole, name)
        assert command is not None
        help_ = command.get_help(click.Context(command, parent=whole, info_name=name, terminal_width=100))
        lines += [f"## geomsolve {name}", "", "```text", *(line.rstrip() for line in help_.splitlines()), "```", ""]
    return "\n".join(lines)


def parameters(choice: Any) -> list[str]:
    """A table of what a loss or a weighting takes."""
    from geomsolve.values import spelled

    rows = []
    for name, declared in choice.takes().items():
        default = choice.defaults()[name]
        if isinstance(default, float):
            default = spelled(default)
        flags = ", ".join(f"`{flag}`" for flag in declared.flags)
        rows.append((flags, declared.values.wanted, "" if default is None else default, declared.help))
    return table(("flag", "values", "default", "meaning"), rows) if rows else ["It takes no parameters."]


def also(choice: Any) -> str:
    names = sorted(set(choice.spellings()) - set(choice.spellings().values()))
    return f"Also called {', '.join(names)}." if names else ""


def choice(name: str, cls: Any, *more: str) -> list[str]:
    said = [f"{cls.summary[0].upper()}{cls.summary[1:]}.", *more, f"Source: {cls.source}.", also(cls)]
    return [f"## {name}", "", " ".join(part for part in said if part), "", *parameters(cls), ""]


def losses() -> str:
    """Each loss of one and of two encoders, from its declaration."""
    from geomsolve.losses import UNSOLVED
    from geomsolve.registry import LOSSES, PAIR_LOSSES

    lines = ["# Losses", "", "For `--loss` on the command line, `loss:` in a problem file and `loss=` in Python."]
    lines += ["Capital letters and signs in names count for nothing. In files and in Python a parameter is called as"]
    lines += ["its flag, with _ for - between words: `uniform_t`.", ""]
    lines += [" · ".join(f"[{name}](#{name})" for name in sorted({**LOSSES, **PAIR_LOSSES})), ""]
    for name, cls in sorted(LOSSES.items()):
        others = [f"`{alias.name}`: {alias.summary}." for alias in cls.aliases]
        lines += choice(name, cls, *others)
    lines += ["# Losses of two encoders", "", "For `crossmodal`, and for the other commands with two sides.", ""]
    for name, cls in sorted(PAIR_LOSSES.items()):
        lines += choice(name, cls)
    if UNSOLVED:
        lines += ["# Not solved", ""]
        lines += [f"- {each.name}, {each.summary} ({each.source}): {each.reason}." for each in UNSOLVED.values()]
    return "\n".join(lines)


def weightings() -> str:
    """Each weighting, with the condition under which it can be attained."""
    from geomsolve.registry import WEIGHTINGS

    lines = ["# Weightings", "", "For `geomsolve realizable --weighting` and `check --weighting`.", ""]
    lines += [" · ".join(f"[{name}](#{name})" for name in sorted(WEIGHTINGS)), ""]
    for name, cls in sorted(WEIGHTINGS.items()):
        lines += choice(name, cls, cls.condition)
    return "\n".join(lines)


def sets() -> str:
    """Data sets and generators of labels."""
    from geomsolve.reading.datasets import EXAMPLES, dataset
    from geomsolve.reading.structures import sets as label_sets

    lines = ["# Label sets and data sets", "", "## Label sets", "", "For `--labels` and `--latents`.", ""]
    made = ((g.name, f"`{g.example}`", g.summary) for g in label_sets().values())
    lines += [*table(("name", "example", "what it is"), made), "", "## Data sets", ""]
    lines += ["For `--dataset`; `cifar10-lt` and `cifar100-lt` take any imbalance factor: `cifar10-lt:37`.", ""]
    known = [dataset(name) for name in EXAMPLES]
    rows = ((d.name, len(d.counts), f"{max(d.counts):,}", f"{min(d.counts):,}", d.source) for d in known)
    lines += table(("name", "classes", "largest", "smallest", "source"), rows)
    return "\n".join(lines)


def problems() -> str:
    """Keys of problem files, kind by kind."""
    from geomsolve.questions.kinds import json_schema

    schema = json_schema()
    kinds = {
        d["properties"]["kind"]["const"]: (name, d)
        for name, d in schema["$defs"].items()
        if "kind" in d.get("properties", {})
    }
    every = set.intersection(*(set(d["properties"]) for _, d in kinds.values()))
    lines = ["# Keys of problem files", ""]
    lines += [
        "YAML 1.2 or JSON, one problem a document. `geomsolve schema` writes all this as a JSON schema for editors,"
    ]
    lines += ["`geomsolve validate` checks files without solving. The same keys are keywords in Python.", ""]
    lines += [" · ".join(f"[{kind}](#{kind})" for kind in kinds), "", "## All kinds", ""]
    lines += keys(kinds["imbalance"][1], sorted(every - {"kind"}))
    for kind, (_, definition) in kinds.items():
        doc = re.sub(r"``(.*?)``", r"`\1`", definition.get("description", "")).split("\n\n")[0]
        lines += ["", f"## {kind}", "", " ".join(doc.split()), ""]
        lines += keys(definition, [key for key in definition["properties"] if key not in every])
    return "\n".join(lines)


def keys(definition: dict[str, Any], names: Iterable[str]) -> list[str]:
    rows = []
    for name in names:
        schema = definition["properties"][name]
        default = schema.get("default")
        if isinstance(default, dict):
            default = default.get("name", default)
        rows.append((f"`{name}`", value(schema), "" if default is None else default, schema.get("description", "")))
    return table(("key", "value", "default", "meaning"), rows)


def value(schema: dict[str, Any]) -> str:
    """What a value is, in a few words."""
    if "$ref" in schema:
        name = schema["$ref"].rsplit("/", 1)[-1]
        said = {"LossChoice": "a loss", "PairLossChoice": "a loss of two encoders", "Expectation": "figures"}
        return said.get(name, name)
    if "const" in schema:
        return f"{schema['const']}"
    if "enum" in schema:
        return ", ".join(map(str, schema["enum"]))
    parts = [value(part) for key in ("anyOf", "oneOf") for part in schema.get(key, [])]
    if not parts:
        types = schema.get("type", "")
        words = {"integer": "whole number", "array": "list", "string": "text", "object": "mapping", "null": ""}
        words |= {"boolean": "true or false"}
        words |= {"string": "fraction"} if schema.get("pattern") == FRACTION else {}
        parts = [words.get(name, name) for name in (types if isinstance(types, list) else [types])]
    parts = [part for each in parts for part in each.split(" or ") if part] if "true or false" not in parts else parts
    return " or ".join(dict.fromkeys(part for part in parts if part))


def python() -> str:
    """What help() says of the public names."""
    import geomsolve
    from geomsolve.questions.base import Problem

    public = {name: getattr(geomsolve, name) for name in geomsolve.__all__ if not name.startswith("__")}
    asked = {n: t for n, t in public.items() if inspect.isclass(t) and issubclass(t, Problem)}
    reports = {n: t for n, t in public.items() if n.endswith("Report")}
    rest = {n: t for n, t in public.items() if n not in asked and n not in reports}
    lines = [
        "# Python",
        "",
        "The whole public surface: `from geomsolve import ...`. Everything is loaded when first used.",
    ]
    lines += [
        "Keys of a question are those of [problem files](problems.md); parameters of the loss may stand beside them."
    ]
    for title, names in (("Questions", asked), ("Reports", reports), ("Functions and the rest", rest)):
        lines += ["", f"## {title}"]
        for name, thing in names.items():
            lines += ["", f"### {name}", "", "```text"]
            if inspect.isfunction(thing):
                lines += [f"{name}{inspect.signature(thing)}", ""]
            lines += [*(line.rstrip() for line in (inspect.getdoc(thing) or "").splitlines()), "```"]
    return "\n".join(lines)


MAKERS = {
    "commands.md": commands,
    "losses.md": losses,
    "weightings.md": weightings,
    "sets.md": sets,
    "problems.md": problems,
    "python.md": python,
}

if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name in MAKERS:
        (FOLDER / name).write_text(page(name), encoding="utf-8")
