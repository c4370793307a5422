"""One self-contained page about many answers: a table that sorts and filters, then each answer with its picture.

The page loads nothing: styles, script and pictures (svg) stand in it, and its content security policy forbids the
rest.  It is made from rows as ``geomsolve batch`` writes them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from html import escape
from typing import Any, TypeVar

from geomsolve import plots
from geomsolve._version import __version__
from geomsolve.cli.again import command_of
from geomsolve.cli.frame import framed, part
from geomsolve.cli.render import loss_words
from geomsolve.cli.sentences import sentence
from geomsolve.words import counted

Row = dict[str, Any]

HEADS = {"value": "value, nats", "gap": "gap, nats"}
"""Columns whose heads say more than their names."""

EXTRA = ("question", "loss", "value", "gap")
"""Columns that a narrow screen leaves to the articles."""

COLUMNS = ("problem", "question", "loss", "answer", "value", "gap", "status")
NUMBERS = ("value", "gap")
"""Columns that sort as numbers: figures of the proof."""

LABELS = {
    "value": "loss value",
    "lower_bound": "no embedding goes below",
    "gap": "gap",
    "certified": "proven",
    "unique": "only optimum",
    "solver": "solver",
    "reason": "why this solver",
    "seconds": "seconds",
}
"""What the parts of a proof and of an effort are called, in the order in which they stand."""


def name_of(row: Row) -> str:
    """What a row is called: its title, else its file."""
    problem = row["problem"] if isinstance(row["problem"], dict) else {}
    return str(problem.get("title") or row["file"])


def loss_of(row: Row) -> str:
    """The loss of a row with its numbers."""
    loss = row["problem"].get("loss") if isinstance(row["problem"], dict) else None
    return (_of_anyone(lambda: loss_words(loss)) or "") if isinstance(loss, dict) else str(loss or "")


def picture_of(row: Row, name: str) -> str:
    """The picture of a row as an svg element whose ids all begin with ``name``; empty where there is none."""
    if row["status"] in ("invalid", "failed"):
        return ""
    picture = _of_anyone(lambda: plots.render(row, "svg"))
    if picture is None:
        return ""
    text = picture.decode()
    text = re.sub(r"<metadata>.*?</metadata>", "", text[text.index("<svg") :], flags=re.DOTALL)
    return re.sub(r'( id="|href="#|url\(#)', rf"\g<1>{name}-", text)


T = TypeVar("T")


def _of_anyone(make: Callable[[], T]) -> T | None:
    """What is made of a row; None where that fails, since the row may be anyone's and its parts anything."""
    try:
        return make()
    except Exception:
        return None


def shown(value: Any) -> str:
    """A figure as text."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:z.9g}" if isinstance(value, float) else str(value)


def page(rows: Sequence[Row], proofs: Sequence[str] = ()) -> str:
    """The page about rows as batch writes them; ``proofs``: what is said of the proof of each that stands alone."""
    said = proofs or [""] * len(rows)
    counts = {status: sum(row["status"] == status for row in rows) for row in rows for status in [row["status"]]}
    summary = ", ".join(f"{count:,} {status}" for status, count in sorted(counts.items()))
    heads = "".join(
        f'<th scope="col"{_class(column)}><button type="button" data-column="{column}">{HEADS.get(column, column)}'
        "</button></th>"
        for column in COLUMNS
    )
    questions = sorted({str(row["command"] or "") for row in rows} - {""})
    answers = [sentence(row) for row in rows]
    numbered = list(enumerate(zip(rows, answers, said, strict=True), 1))
    return framed(
        "geomsolve report",
        f"""<a class="skip" href="#problem-1">Skip the table</a>
<h1>Optimal geometries, with proofs</h1>
<p class="faint">{counted(len(rows), "problem")}: {summary}. Values in nats. Made by geomsolve {__version__}.</p>
<div class="tools" role="search">
<label>Words <input id="filter" type="search" placeholder="that a row contains"></label>
{_select("status", sorted(counts))}
{_select("question", questions)}
<button type="button" id="csv">Save the table (csv)</button>
</div>
<p class="faint" id="shown" role="status">{len(rows)} of {len(rows)} shown</p>
<div class="wide"><table>
<caption>One row a problem; the heads sort.</caption>
<thead><tr>{heads}</tr></thead>
<tbody>
{"".join(_table_row(i, *entry) for i, entry in numbered)}</tbody>
</table></div>
{"".join(_article(i, *entry) for i, entry in numbered)}
""",
        styles=("page.css",),
        script=part("page.js"),
    )


def _select(what: str, choices: Sequence[str]) -> str:
    options = "".join(f"<option>{escape(choice)}</option>" for choice in choices)
    return f'<label>{what.capitalize()} <select id="{what}"><option value="">all</option>{options}</select></label>'


def _class(column: str) -> str:
    names = [name for name, columns in (("number", NUMBERS), ("extra", EXTRA)) if column in columns]
    return f' class="{" ".join(names)}"' if names else ""


def _table_row(number: int, row: Row, answer: str, proof: str) -> str:
    cells = [f'<td><a href="#problem-{number}">{escape(name_of(row))}</a></td>']
    for column, text in (("question", str(row["command"] or "")), ("loss", loss_of(row)), ("answer", answer)):
        cells.append(f"<td{_class(column)}>{escape(text)}</td>")
    for column in NUMBERS:
        value = (row.get("proof") or {}).get(column)
        real = isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < 1e300
        text = f"{value:{'.0e' if column == 'gap' and value else '.6g'}}" if real else ""
        cells.append(f'<td{_class(column)} data-value="{value if real else ""}">{text}</td>')
    mark = f"{row['status']}, {proof.partition(',')[0]}" if proof else row["status"]
    cells.append(f'<td class="status {row["status"]}">{mark}</td>')
    marks = (
        f'data-article="problem-{number}" data-status="{row["status"]}" data-question="{escape(str(row["command"]))}"'
    )
    return f"<tr {marks}>{''.join(cells)}</tr>\n"


def _article(number: int, row: Row, answer: str, proof: str) -> str:
    parts = [f'<article id="problem-{number}">', f"<h2>{escape(name_of(row))}</h2>"]
    problem = row["problem"] if isinstance(row["problem"], dict) else {}
    if problem.get("why"):
        parts.append(f"<p>{escape(str(problem['why']))}</p>")
    parts.append(f'<p><strong>{escape(answer or "no answer")}</strong> <span class="{row["status"]}">'
                 f'({row["status"]})</span></p>')  # fmt: skip
    if row["error"]:
        parts.append(f"<pre>{escape(row['error'])}</pre>")
    picture = picture_of(row, f"picture-{number}")
    if picture:
        labelled = picture.replace("<svg", f'<svg role="img" aria-label="{escape(answer)}"', 1)
        save = f'<button type="button" class="save" data-name="problem-{number}">Save the picture (svg)</button>'
        parts.append(f'<figure><div class="picture" tabindex="0">{labelled}</div>{save}</figure>')
    known: dict[str, Any] = {**(row.get("proof") or {}), **(row.get("effort") or {})}
    items = [(label, shown(known[key])) for key, label in LABELS.items() if known.get(key) is not None]
    items += [(label, shown(value)) for label, value in (row.get("figures") or {}).items() if value is not None]
    if row.get("assumption"):
        items.append(("assumption", str(row["assumption"])))
    if proof:
        items.append(("proof that stands alone", proof))
    items.append(("file", str(row["file"])))
    parts.append("<dl>" + "".join(f"<dt>{escape(a)}</dt><dd>{escape(b)}</dd>" for a, b in items) + "</dl>")
    again = "" if row["status"] == "invalid" else _of_anyone(lambda: command_of(row))
    if again:
        parts.append(f"<p>To reproduce:</p><pre><code>{escape(again)}</code></pre>")
    return "\n".join([*parts, "</article>", ""])
