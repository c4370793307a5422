"""One self-contained page about many answers: a table that sorts and filters, then each answer with its picture.

The page loads nothing: styles, script and pictures (svg) stand in it, and its content security policy forbids the
rest.  It is made from rows as ``geomsolve batch`` writes them.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Callable, Sequence
from html import escape
from pathlib import Path
from typing import Any, TypeVar

from geomsolve import plots
from geomsolve._version import __version__
from geomsolve.cli.again import command_of
from geomsolve.cli.render import loss_words
from geomsolve.words import counted

Row = dict[str, Any]

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
    here = Path(__file__)
    script = here.with_suffix(".js").read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    counts = {status: sum(row["status"] == status for row in rows) for row in rows for status in [row["status"]]}
    summary = ", ".join(f"{count:,} {status}" for status, count in sorted(counts.items()))
    heads = "".join(
        f'<th scope="col"{_class(column)}><button type="button" data-column="{column}">{column}</button></th>'
        for column in COLUMNS
    )
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy"
 content="default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'; img-src data:">
<title>geomsolve report</title>
<style>{here.with_suffix(".css").read_text(encoding="utf-8")}</style>
</head>
<body>
<h1>Optimal geometries, with proofs</h1>
<p class="faint">{counted(len(rows), "problem")}: {summary}. Values in nats. Made by geomsolve {__version__}.</p>
<input id="filter" type="search" placeholder="Filter: words that a row contains" aria-label="Filter the table">
<p class="faint" id="shown" role="status">{len(rows)} of {len(rows)} shown</p>
<div class="wide"><table>
<thead><tr>{heads}</tr></thead>
<tbody>
{"".join(_table_row(i, row, row.get("headline") or "", said[i - 1]) for i, row in enumerate(rows, 1))}</tbody>
</table></div>
{"".join(_article(i, row, row.get("headline") or "", said[i - 1]) for i, row in enumerate(rows, 1))}
<script>{script}</script>
</body>
</html>
"""


def _class(column: str) -> str:
    return ' class="number"' if column in NUMBERS else ""


def _table_row(number: int, row: Row, answer: str, proof: str) -> str:
    cells = [f'<td><a href="#problem-{number}">{escape(name_of(row))}</a></td>']
    cells += [f"<td>{escape(text)}</td>" for text in (str(row["command"] or ""), loss_of(row), answer)]
    for column in NUMBERS:
        value = (row.get("proof") or {}).get(column)
        real = isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < 1e300
        text = f"{value:{'.0e' if column == 'gap' else '.6g'}}" if real else ""
        cells.append(f'<td class="number" data-value="{value if real else ""}">{text}</td>')
    mark = f"{row['status']}, {proof.partition(',')[0]}" if proof else row["status"]
    cells.append(f'<td class="status {row["status"]}">{mark}</td>')
    return f'<tr data-article="problem-{number}">{"".join(cells)}</tr>\n'


def _article(number: int, row: Row, answer: str, proof: str) -> str:
    parts = [f'<article id="problem-{number}">', f"<h2>{escape(name_of(row))}</h2>"]
    problem = row["problem"] if isinstance(row["problem"], dict) else {}
    if problem.get("why"):
        parts.append(f"<p>{escape(str(problem['why']))}</p>")
    parts.append(f'<p><strong>{escape(answer or "no answer")}</strong> <span class="{row["status"]}">'
                 f'({row["status"]})</span></p>')  # fmt: skip
    if row["error"]:
        parts.append(f"<pre>{escape(row['error'])}</pre>")
    parts.append(f"<figure>{picture_of(row, f'picture-{number}')}</figure>")
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
