"""Reports in Python and in notebooks: printed, shown, drawn and as tables; and the notebook among the examples."""

from __future__ import annotations

import contextlib
import importlib
import io
import json
import pydoc
import re
import sys
import types
from html.parser import HTMLParser
from pathlib import Path
from unittest.mock import MagicMock

import numpy as np
import pytest

import geomsolve
from geomsolve import (
    Advise,
    Capacity,
    Compare,
    Contrast,
    Crossmodal,
    Design,
    Diversity,
    Imbalance,
    InputError,
    Levels,
    Negatives,
    Realizable,
    Spectrum,
    Sweep,
    Threshold,
    solve,
)

PROPS = [0.7, 0.2, 0.1]
NOTEBOOK = Path(__file__).parents[1] / "examples" / "long_tail.ipynb"


def encoder():
    y = np.repeat([0, 1, 2], [70, 20, 10])
    return np.eye(3)[y] - 1 / 3 + 0.01 * np.random.default_rng(0).standard_normal((100, 3)), y


ASKED = {
    "imbalance": lambda: Imbalance(PROPS, tau=0.5),
    "classifiers": lambda: Imbalance(PROPS, loss="cross-entropy", constraint="budget:5,1"),
    "threshold": lambda: Threshold(PROPS),
    "sweep": lambda: Sweep(PROPS, over="temperature=0.1:1:3"),
    "levels": lambda: Levels(PROPS, batch=64),
    "found": lambda: Levels(loss="simclr", batch=64, find="batch", loss_value=4.0),
    "realizable": lambda: Realizable("yaware", labels=[20, 25, 30], sigma=5),
    "cases": lambda: Realizable("yaware"),
    "capacity": lambda: Capacity(5, dim=3),
    "contrast": lambda: Contrast(PROPS, losses=["supcon", "sigmoid"], tau=0.5),
    "advise": lambda: Advise([0.95, 0.03, 0.02], tau=1.0),
    "design": lambda: Design([0.4, 0.35, 0.25], tau=0.5),
    "crossmodal": lambda: Crossmodal(PROPS, tau=0.5),
    "negatives": lambda: Negatives(PROPS, tau=0.5, negatives=[1, 8]),
    "diversity": lambda: Diversity("sphere:10:3", kappa=3.0),
    "spectrum": lambda: Spectrum("power-law:2:16"),
    "compare": lambda: Compare(encoder()[0], labels=encoder()[1], tau=0.5),
    "checkpoints": lambda: Compare([encoder()[0]] * 2, labels=encoder()[1], tau=0.5),
}
QUICK = ("imbalance", "classifiers", "levels", "realizable", "capacity", "spectrum", "compare", "checkpoints")


class Page(HTMLParser):
    """What a browser would show of a piece of HTML, its tags balanced, and the styles of its parts."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.text, self.styles, self.open = "", [], []
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)
        self.styles += [dict(attrs)["style"]] if "style" in dict(attrs) else []

    def handle_endtag(self, tag):
        assert self.open.pop() == tag
        self.text += "\n" if tag == "p" else ""

    def handle_data(self, data):
        self.text += data


def words(text: str) -> list[str]:
    return text.split()


@pytest.mark.parametrize(
    "kind", [kind if kind in QUICK else pytest.param(kind, marks=pytest.mark.slow) for kind in ASKED]
)
def test_every_report_says_shows_draws_and_tabulates_itself(kind):
    """In the words of its command: the sentence first, then all of it; and in a notebook the same words."""
    from geomsolve.cli import spoken

    report = solve(ASKED[kind]())
    sentence, whole = spoken.text(report, quiet=True), report.summary()
    assert sentence
    assert whole.startswith(sentence)
    assert str(report).startswith(sentence)
    assert repr(report).startswith(f"<{type(report).__name__}: ")
    assert len(repr(report)) < 300
    page = Page(report._repr_html_())
    assert page.open == []
    assert words(page.text) == words(whole)
    for style in page.styles:  # on white and on black: a colour only on a ground of its own
        colours = dict(part.split(": ") for part in style.split("; "))
        assert ("color" not in colours) or ("background" in colours) or ("background-color" in colours), style
    table = report.table
    lengths = {len(column) for column in table.columns.values()}
    assert len(lengths) == 1
    assert lengths.pop() >= 1
    assert table.index is None or len(table.index) == len(next(iter(table.columns.values())))
    assert (report.value is None) or report.gap is None or report.gap >= 0
    assert report.certified in (True, False)


def test_the_printed_report_is_the_sentence_and_the_proof(run):
    report = solve(Imbalance(PROPS, loss="supcon", temperature=0.5))
    lines = " ".join(str(report).split())
    assert lines.startswith("Imbalance bends the simplex: supcon wants angles from 101.3°")
    assert lines.endswith(
        "Proven: loss value -0.720867087 nats; no embedding goes below -0.720867087 (gap at rounding level)."
    )
    shown = run("imbalance", "--props", "0.7,0.2,0.1", "-t", 0.5).stdout
    seconds = re.compile(r"[0-9.e-]+ s\.")
    assert seconds.sub("", report.summary()) == seconds.sub("", shown.rstrip("\n"))
    assert report.value == pytest.approx(-0.7208670871, abs=1e-9)
    assert (report.certified, report.gap < 1e-9) == (True, True)


def test_numbers_of_reports_that_are_no_optimum():
    threshold = solve(Threshold(PROPS))
    assert threshold.value == threshold.threshold["value"]
    compared = solve(ASKED["compare"]())
    assert compared.value == pytest.approx(-0.7208670871, abs=1e-9)
    assert solve(Capacity(5, dim=3)).value == pytest.approx(0, abs=1e-12)


def test_tables_hold_the_numbers():
    gram = solve(Imbalance(PROPS, names="a,b,c", tau=0.5))
    assert gram.table.index == ["a", "b", "c"]
    assert gram.table.columns["b"] == gram.gram[:, 1].tolist()
    sweep = solve(ASKED["sweep"]())
    assert sweep.table.columns["temperature"] == [0.1, 0.55, 1.0]
    levels = solve(Levels(PROPS, batch=64))
    assert dict(zip(levels.table.index, levels.table.columns["value"], strict=True))["collapse"] == levels.collapse


def test_a_probe_without_torch_says_what_to_install(monkeypatch):
    monkeypatch.delitem(sys.modules, "geomsolve.torch", raising=False)
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'geomsolve\[torch\]'"):
        importlib.import_module("geomsolve.torch")


def test_a_frame_is_that_of_pandas(monkeypatch):
    report = solve(Imbalance(PROPS, names="a,b,c", tau=0.5))
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(InputError, match="pip install pandas"):
        report.to_frame()
    made = types.SimpleNamespace(DataFrame=lambda columns, index: (columns, index))
    monkeypatch.setitem(sys.modules, "pandas", made)
    assert report.to_frame() == (report.table.columns, ["a", "b", "c"])
    monkeypatch.undo()
    pandas = pytest.importorskip("pandas")
    frame = report.to_frame()
    assert isinstance(frame, pandas.DataFrame)
    assert np.array_equal(frame.loc["a", "b"], report.gram[0, 1])


@pytest.mark.parametrize("kind", ["imbalance", "realizable", "levels"])
def test_a_picture_of_its_own_or_in_the_place_of_axes(kind):
    figures = pytest.importorskip("matplotlib.figure")
    report = solve(ASKED[kind]())
    assert isinstance(report.plot(), figures.Figure)
    assert report.plot()._repr_png_().startswith(b"\x89PNG")
    for whole in (figures.Figure(figsize=(9, 4)), figures.Figure(figsize=(9, 4), layout="constrained")):
        left, right = whole.subplots(1, 2)
        part = report.plot(ax=left)
        assert part.figure is whole
        assert part.axes
        whole.draw_without_rendering()
        inside = [axes.get_tightbbox() for axes in part.axes]
        assert max(box.x1 for box in inside) <= right.get_window_extent().x0
        assert min(box.x0 for box in inside) >= 0
        assert not left.axison
    alone = figures.Figure()
    assert report.plot(ax=alone.add_axes((0.1, 0.1, 0.4, 0.4))).axes
    with pytest.raises(InputError, match="no picture"):
        solve(Realizable("yaware")).plot()


def test_help_fits_two_screens():
    page = pydoc.plain(pydoc.render_doc(geomsolve))
    assert len(page.splitlines()) <= 80
    for name in geomsolve.__all__:
        thing = getattr(geomsolve, name)
        if isinstance(thing, type) and thing.__module__.startswith("geomsolve.questions."):
            assert re.search(rf"\b{name}\(", page), name
    assert "Imbalance" in dir(geomsolve)


# ---- the example


def cells() -> list[str]:
    return [
        "".join(cell["source"]) for cell in json.loads(NOTEBOOK.read_text())["cells"] if cell["cell_type"] == "code"
    ]


@pytest.mark.slow
def test_the_cells_of_the_example_run(monkeypatch):
    """With pandas, or a stand-in for its tables where it is not installed."""
    pytest.importorskip("matplotlib")
    try:
        importlib.import_module("pandas")
    except ModuleNotFoundError:
        frame = MagicMock()
        frame.return_value.__getitem__.side_effect = lambda names: frame.return_value
        monkeypatch.setattr(geomsolve.Report, "to_frame", frame)
    space: dict[str, object] = {}
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        for cell in cells():
            exec(compile(cell, str(NOTEBOOK), "exec"), space)
    assert space["counts"][[0, -1]].tolist() == [5000, 50]
    assert space["report"].certified
    assert "matches" in printed.getvalue()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of the libraries that run a notebook
def test_the_example_runs_as_a_notebook():
    nbclient = pytest.importorskip("nbclient", reason="nbclient is not installed; pip install 'geomsolve[notebook]'")
    nbformat = pytest.importorskip("nbformat")
    for needed in ("ipykernel", "pandas", "matplotlib"):
        pytest.importorskip(needed)
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    nbclient.NotebookClient(notebook, timeout=120, kernel_name="python3").execute()
    shown = [output for cell in notebook.cells for output in cell.get("outputs", ())]
    assert not [output for output in shown if output.output_type == "error"]
    kinds = [set(output.get("data", ())) for output in shown]
    assert any("text/html" in kind for kind in kinds)
    assert any("image/png" in kind for kind in kinds)
