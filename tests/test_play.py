"""The page of a sweep whose sliders move the classes: what it holds, and that it works in a browser."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import shutil
import subprocess

import numpy as np
import pytest

from geomsolve.analyses.sweep import sweep
from geomsolve.analyses.sweep_crossmodal import sweep_crossmodal
from geomsolve.cli.play import data_of, page, placed
from geomsolve.questions.sweep import Sweep
from geomsolve.questions.sweep_crossmodal import SweepCrossmodal

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "chrome"))), None)


@pytest.fixture(scope="module")
def collapsing():
    """Three classes on the way into collapse, at temperature 1.1425461 for a share of 0.9."""
    return sweep(Sweep(props=[0.9, 0.06, 0.04], names=["a", "b", "<c>"], over={"temperature": [0.1, 0.5, 1, 2]}))


def test_the_places_have_the_cosines_of_every_point(collapsing):
    data = data_of(collapsing)
    assert data["dims"] == 2
    for point, row in zip(data["points"], collapsing.rows, strict=True):
        z = np.array(point["at"])
        gram = z @ z.T
        off = gram[~np.eye(3, dtype=bool)]
        assert np.diag(gram) == pytest.approx(1, abs=2e-4)
        assert (off.min(), off.max()) == pytest.approx((row["min_cosine"], row["max_cosine"]), abs=3e-4)
        assert point["share"] == pytest.approx(1)
        assert point["loss"] == row["value"]
    (mark,) = data["marks"]
    assert mark["temperature"] == pytest.approx(1.1425461, abs=1e-7)
    assert data["points"][-1]["said"] == "Minority collapse: classes b and <c> are one point"


def test_a_point_is_turned_onto_the_one_before(rng):
    z = rng.standard_normal((6, 3))
    z /= np.linalg.norm(z, axis=1, keepdims=True)
    near = z + 0.01 * rng.standard_normal(z.shape)
    near /= np.linalg.norm(near, axis=1, keepdims=True)
    (first, share), none, (second, _) = placed([z @ z.T, None, near @ near.T], 3)
    assert none is None
    assert share == pytest.approx(1)
    assert np.abs(np.array(first) - second).max() < 0.05
    (flat, part) = placed([np.eye(10)], 2)[0]
    assert part == pytest.approx(0.2)
    assert np.array(flat).shape == (10, 2)


def test_two_parameters_and_two_sides():
    grid = sweep(Sweep(props=[0.4, 0.3, 0.2, 0.1], over={"temperature": [0.1, 1], "batch": [8, 32]}))
    data = data_of(grid)
    assert [axis["name"] for axis in data["axes"]] == ["temperature", "batch"]
    assert (data["dims"], len(data["points"])) == (3, 4)
    over = {"bias": [-4, 0, 4]}
    sides = sweep_crossmodal(SweepCrossmodal(props=[0.25] * 4, loss={"name": "siglip", "temperature": 0.2}, over=over))
    data = data_of(sides)
    assert (data["first"], len(data["names"]), data["nouns"]) == (4, 8, ["image", "text"])
    images, texts = np.split(np.array(data["points"][0]["at"]), 2)
    assert images == pytest.approx(texts, abs=1e-3), "at bias -4 they coincide"


def test_the_page_loads_nothing_and_runs_its_own_script_alone(collapsing):
    text = page(collapsing)
    (script,) = re.findall(r"<script>(.*?)</script>", text, flags=re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in text
    assert "default-src 'none'" in text
    assert not re.search(r"(src|href)=", text)
    assert "http://" not in text.replace("http://www.w3.org/2000/svg", "")
    assert "<c>" not in text, "names are text"
    assert json.loads(re.search(r'id="data">(.*?)</script>', text, flags=re.DOTALL)[1])["names"][2] == "<c>"
    assert text.count("<tr>") == 1 + len(collapsing.rows), "without a script the table is there"


def test_the_command_writes_it(run, tmp_path):
    done = run(
        "sweep", "--props", "0.5,0.3,0.2", "--over", "temperature=0.1,1", "--html", tmp_path / "a.html", "--quiet"
    )
    assert done.code == 0
    assert (tmp_path / "a.html").read_text().startswith("<!DOCTYPE html>")
    many = ["--classes", 201, "--over", "imbalance=1,2", "--html", tmp_path / "b.html"]
    done = run("sweep", *many)
    assert (done.code, done.stdout) == (2, "")
    assert done.stderr == "Error: --html: a page is drawn of up to 200 classes; use --plot\n"
    assert not (tmp_path / "b.html").exists()
    two = ["--props", "0.5,0.5", "--over", "temperature=1,2", "--html", tmp_path / "b.html", "--jobs", 2]
    assert "leave --jobs out" in run("sweep", *two).stderr
    rows = run("sweep", "--props", "0.5,0.3,0.2", "--over", "temperature=0.1,1", "--json").json["rows"]
    assert "geometry" not in rows[0]


@pytest.mark.slow
@pytest.mark.skipif(BROWSER is None, reason="no Chromium here")
def test_a_slider_moves_classes_words_and_charts(collapsing, tmp_path):
    script = "const s = document.getElementById('axis-0'); s.value = 3; s.dispatchEvent(new Event('input'));"
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    text = page(collapsing).replace("</body>", f"<script>{script}</script></body>")
    dom = {}
    for name, shown in (
        ("moved", text.replace("script-src '", f"script-src 'sha256-{digest}' '", 1)),
        ("foreign", text),  # a script that is not the page's own does not run
    ):
        (tmp_path / f"{name}.html").write_text(shown)
        command = [BROWSER, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'profile'}"]
        command += ["--virtual-time-budget=2000", "--dump-dom", (tmp_path / f"{name}.html").as_uri()]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
        dom[name] = done.stdout
    assert (
        'id="said" role="status" aria-live="polite">Minority collapse: classes b and &lt;c&gt; are one' in dom["moved"]
    )
    assert 'aria-valuetext="2"' in dom["moved"]
    assert "b, &lt;c&gt;</text>" in dom["moved"], "both names at one place"
    assert dom["moved"].count('class="mark"') == 2, "the threshold stands in both charts"
    assert "collapse from 1.143" in dom["moved"]
    dots = re.findall(r'<circle cx="([-\d.e]+)" cy="([-\d.e]+)" r="[\d.]+" class="dot"', dom["moved"])
    places = np.array(dots, dtype=float)
    assert places[1] == pytest.approx(places[2], abs=1e-3)
    assert places[0] == pytest.approx(-places[1], abs=1e-3)
    assert 'aria-valuetext="1"' in dom["foreign"]
    assert "Imbalance bends the simplex" in dom["foreign"].partition('id="said"')[2][:90]
