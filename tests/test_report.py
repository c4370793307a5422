"""The page of many answers: what stands on it, that it needs nothing else, and that it works in a browser."""

from __future__ import annotations

import base64
import csv
import hashlib
import html
import html.parser
import json
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from geomsolve.batch.gather import gather
from geomsolve.batch.rows import attempt, row_of
from geomsolve.cli.again import command_of

pytest.importorskip("matplotlib", reason="pictures are an extra")

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "chrome"))), None)

PROBLEMS = """\
title: Mild <b>imbalance</b> & co
why: Where "quotes" and <tags> stand in the text.
kind: imbalance
props: [0.7, 0.2, 0.1]
names: [often, some, rare]
loss: {name: supcon, temperature: 0.5}
expect: {structure: general}
---
title: Collapse
kind: imbalance
props: [0.95, 0.025, 0.025]
loss: {name: supcon, temperature: 1}
expect: {structure: regular simplex}
---
title: A stuck loss
kind: levels
batch: 64
classes: 6
base_temperature: 0.07
loss_value: 6.92
---
title: Where it collapses
kind: threshold
props: [0.9, 0.06, 0.04]
loss: {name: infonce, temperature: 1, sampling: supervised}
---
title: A sweep
kind: sweep
props: [0.8, 0.12, 0.08]
over: {temperature: "1:2:3", batch: [4, 64]}
---
title: Broken
kind: imbalance
props: [0.7, 0.2]
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The rows of a batch, and the page made of them."""
    folder = tmp_path_factory.mktemp("report")
    (folder / "problems.yaml").write_text(PROBLEMS)
    command = [sys.executable, "-m", "geomsolve"]
    batch = subprocess.run(
        [*command, "batch", "problems.yaml", "--out", "rows.jsonl", "--jobs", "1"],
        cwd=folder,
        capture_output=True,
        check=False,
    )
    assert batch.returncode == 2
    done = subprocess.run(
        [*command, "report", "rows.jsonl", "--out", "page.html"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (2, "6 answers on page.html\n", "")
    assert sorted(path.name for path in folder.iterdir()) == ["page.html", "problems.yaml", "rows.jsonl"]
    rows = [json.loads(line) for line in (folder / "rows.jsonl").read_text().splitlines()]
    return folder, rows


class Outline(html.parser.HTMLParser):
    """What a page loads, and how deep its elements nest at the end."""

    def __init__(self):
        super().__init__()
        self.loads, self.ids, self.open = [], [], []

    def handle_starttag(self, tag, attributes):
        for name, value in attributes:
            if name in ("src", "href", "xlink:href", "srcset", "action"):
                self.loads.append(value)
            if name == "id":
                self.ids.append(value)
        if tag not in ("meta", "input"):
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in ("meta", "input"):
            self.open.pop()

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


@pytest.mark.slow
def test_the_page_is_whole_and_loads_nothing(made):
    folder, _ = made
    text = (folder / "page.html").read_text()
    outline = Outline()
    outline.feed(text)
    assert outline.open == []
    assert all(link.startswith(("#", "data:")) for link in outline.loads)
    assert len(set(outline.ids)) == len(outline.ids), "ids of pictures must not meet"
    assert not re.search(r"url\((?!['\"]?#)", text)
    assert "default-src 'none'" in text


@pytest.mark.slow
def test_the_page_says_what_the_rows_hold(made):
    folder, rows = made
    text = (folder / "page.html").read_text()
    assert "Mild &lt;b&gt;imbalance&lt;/b&gt; &amp; co" in text
    assert "<b>imbalance" not in text
    for row in rows:
        articles = re.findall(r"<article.*?</article>", text, flags=re.DOTALL)
        title = html.escape(row["problem"]["title"])
        (mine,) = (article for article in articles if f"<h2>{title}</h2>" in article)
        assert ("<svg" in mine) is (row["status"] != "invalid")
        if row["command"] == "imbalance" and "gap" in row:
            assert f"{row['value']:.9g}" in mine
            assert f"{row['lower_bound']:.9g}" in mine
    assert "expected structure regular simplex, got minority collapse" in text
    assert "sum to 0.9" in text


@pytest.mark.slow
def test_the_command_of_a_row_gives_its_answer_again(made, run):
    _, rows = made
    for row in rows:
        if row["status"] == "invalid":
            continue
        program, *arguments = shlex.split(command_of(row))
        assert program == "geomsolve"
        again = run(*arguments, "--json").json
        assert set(row) - set(again) == {"file", "sha256", "status", "error", "headline", "figures"}
        for key in {"value", "optimum", "position", "collapse"} & set(row):
            if isinstance(row[key], float):
                assert again[key] == pytest.approx(row[key], rel=1e-9)
        if row["command"] == "threshold":
            assert again["threshold"] == row["threshold"]
        if row["command"] == "sweep":
            first, second = (
                [(r["temperature"], r["batch"], r["structure"], r["groups"]) for r in a["rows"]] for a in (again, row)
            )
            assert first == second


def answer_again(run, row, folder):
    """The JSON of the command that a row is printed with; where that pipes a document into solve, of the document."""
    words = shlex.split(command_of(row))
    if words[0] == "echo":
        assert words[2:] == ["|", "geomsolve", "solve", "-"]
        (folder / "again.yaml").write_text(words[1])
        words = ["geomsolve", "solve", str(folder / "again.yaml")]
    assert words[0] == "geomsolve"
    return run(*words[1:], "--json").json


def of_the_answer(value):
    """An answer without what says when, where and how fast it was found."""
    if isinstance(value, dict):
        passing = {"seconds", "problem", "read", "file", "sha256", "status", "error", "headline", "figures"}
        return {key: of_the_answer(inner) for key, inner in value.items() if key not in passing}
    return [of_the_answer(inner) for inner in value] if isinstance(value, list) else value


ROOT = Path(__file__).parent.parent
GALLERY = sorted(str(path.relative_to(ROOT)) for path in (ROOT / "problems").rglob("*.yaml"))


@pytest.mark.slow
@pytest.mark.parametrize("file", GALLERY)
def test_the_command_of_every_problem_of_the_gallery_gives_its_answer_again(run, tmp_path, file):
    for entry in gather([str(ROOT / file)]):
        if entry.problem.kind.startswith("check"):
            pytest.importorskip("torch", reason="torch is an extra")
        row = json.loads(json.dumps(row_of(entry, attempt(entry.problem))))
        assert of_the_answer(answer_again(run, row, tmp_path)) == of_the_answer(row)


UNUSUAL = """\
{kind: imbalance, props: [0.7, 0.2, 0.1], names: ["a, b", c, d]}
---
{kind: imbalance, props: [0.7, 0.2, 0.1], solver: manifold, seed: 3, tolerance: 1e-7, dim: 1}
---
{kind: imbalance, props: [0.7, 0.2, 0.1], loss: {name: sigmoid, bias: -3}}
---
{kind: realizable, weighting: xclr, labels: [[1, 0], [0, 1], [-1, 0.5]], target_temperature: 0.2}
---
{kind: realizable, weighting: custom, weights: [[1, 0.5, null], [0.5, 1, 0.2], [null, 0.2, 1]]}
---
{kind: realizable, weighting: yaware, labels: "@ages.txt", sigma: 5}
---
{kind: compare, embeddings: z.csv, labels: y.txt}
---
{kind: sweep, classes: 5, over: {imbalance: [1, 10], temperature: [0.1, 1]}, profile: step}
---
{kind: levels, loss: {name: simclr, temperature: 0.2}, batch: 32, loss_value: 3}
"""


def test_the_command_of_an_unusual_problem_gives_its_answer_again(run, tmp_path):
    """Names with commas, matrices with gaps, arguments without a flag, files named from the problem's folder."""
    (tmp_path / "p.yaml").write_text(UNUSUAL)
    (tmp_path / "z.csv").write_text("1,0\n1,0\n-1,0.1\n-1,0\n")
    (tmp_path / "y.txt").write_text("p\np\nq\nq\n")
    (tmp_path / "ages.txt").write_text("20\n25\n30\n")
    entries = gather([str(tmp_path / "p.yaml")])
    assert len(entries) == UNUSUAL.count("kind:")
    for entry in entries:
        row = json.loads(json.dumps(row_of(entry, attempt(entry.problem))))
        assert "geomsolve batch" not in command_of(row)
        assert of_the_answer(answer_again(run, row, tmp_path)) == of_the_answer(row)


def browse(folder, script, name, allowed=True):
    """The page's DOM after ``script``, which the page is made to allow, ran at its end, from a file:// address."""
    page = (folder / "page.html").read_text().replace("</body>", f"<script>{script}</script></body>")
    if allowed:
        digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        page = page.replace("script-src '", f"script-src 'sha256-{digest}' '", 1)
    (folder / f"{name}.html").write_text(page)
    done = subprocess.run(
        [
            BROWSER,
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            f"--user-data-dir={folder / name}",
            "--dump-dom",
            (folder / f"{name}.html").as_uri(),
        ],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    body = done.stdout.partition("<tbody>")[2].partition("</tbody>")[0]
    visible = re.findall(r'<tr data-article="([^"]*)"', body)
    hidden = re.findall(r'<tr data-article="([^"]*)"[^>]* hidden="">', body)
    gaps = re.findall(r'<td class="number extra" data-value="([^"]*)">[^<]*</td><td class="status', body)
    return done.stdout, visible, hidden, gaps


@pytest.mark.slow
@pytest.mark.skipif(BROWSER is None, reason="no Chromium here")
def test_a_script_that_is_not_the_page_s_own_does_not_run(made):
    folder, rows = made
    script = "document.querySelector('tbody').remove();"
    assert browse(folder, script, "allowed")[1] == []
    assert len(browse(folder, script, "foreign", allowed=False)[1]) == len(rows)


@pytest.mark.slow
@pytest.mark.skipif(BROWSER is None, reason="no Chromium here")
def test_a_click_on_a_column_sorts(made):
    folder, rows = made
    click = "document.querySelector('button[data-column={}]').click();"
    dom, order, _, gaps = browse(folder, click.format("gap"), "once")
    numbers = [float(gap) for gap in gaps if gap]
    assert numbers == sorted(numbers)
    assert numbers[0] < numbers[-1]
    assert gaps[len(numbers) :] == [""] * (len(rows) - len(numbers)), "rows without a gap come last"
    assert 'aria-sort="ascending"' in dom
    dom, _, _, gaps = browse(folder, click.format("gap") * 2, "twice")
    assert [float(gap) for gap in gaps if gap] == numbers[::-1]
    assert gaps[-1] == ""
    assert 'aria-sort="descending"' in dom
    _, order, _, _ = browse(folder, click.format("problem"), "names")
    titles = [row["problem"]["title"] for row in rows]
    assert [titles[int(name.removeprefix("problem-")) - 1] for name in order] == sorted(titles, key=str.lower)


@pytest.mark.slow
@pytest.mark.skipif(BROWSER is None, reason="no Chromium here")
def test_words_filter_rows_and_articles(made):
    folder, rows = made
    script = (
        "const f = document.getElementById('filter'); f.value = 'SUPCON collapse'; f.dispatchEvent(new Event('input'));"
    )
    dom, order, hidden, _ = browse(folder, script, "filtered")
    assert len(order) == 6
    titles = {rows[int(name.removeprefix("problem-")) - 1]["problem"]["title"] for name in set(order) - set(hidden)}
    assert titles == {"Collapse", "A sweep", "A stuck loss"}
    assert "3 of 6 shown" in dom
    for name in order:
        assert (f'<article id="{name}" hidden="">' in dom) is (name in hidden)


@pytest.mark.slow
@pytest.mark.skipif(BROWSER is None, reason="no Chromium here")
def test_choices_filter_and_the_table_can_be_saved(made):
    folder, rows = made
    script = (
        "const q = document.getElementById('question'); q.value = 'imbalance'; q.dispatchEvent(new Event('change'));"
        "const s = document.getElementById('status'); s.value = 'unmet'; s.dispatchEvent(new Event('change'));"
        "const t = document.createElement('template'); t.id = 'saved'; t.content.textContent = csv();"
        "document.body.append(t);"
    )
    dom, order, hidden, _ = browse(folder, script, "chosen")
    titles = {rows[int(name.removeprefix("problem-")) - 1]["problem"]["title"] for name in set(order) - set(hidden)}
    assert titles == {row["problem"]["title"] for row in rows if row["status"] == "unmet"} == {"Collapse"}
    assert "1 of 6 shown" in dom
    (row,) = (row for row in rows if row["status"] == "unmet")
    saved = html.unescape(dom.partition('id="saved">')[2].partition("</template>")[0])
    heads, cells = csv.reader(saved.splitlines())
    assert heads == ["problem", "question", "loss", "answer", "value, nats", "gap, nats", "status"]
    assert cells[:4] == ["Collapse", "imbalance", "supcon, temperature 1", cells[3]]
    assert cells[3].startswith(
        "Minority collapse: classes 2 and 3 are one point; a regular simplex would lose 0.02 nats"
    )
    assert float(cells[4]) == pytest.approx(row["value"], rel=1e-12)


@pytest.mark.slow
def test_the_page_can_be_read_aloud_worked_by_keys_and_in_the_dark(made):
    folder, _ = made
    text = (folder / "page.html").read_text()
    for named in ("filter", "status", "question"):
        assert re.search(rf'<label>[^<]+<(input|select) id="{named}"', text), "every field has its label"
    pictures = re.findall(r"<svg[^>]*>", text)
    assert len(pictures) == 5
    assert all('role="img" aria-label="' in picture for picture in pictures)
    assert text.count('class="picture" tabindex="0"') == len(pictures), "what scrolls can be reached by keys"
    assert text.count('<button type="button" class="save"') == len(pictures)
    assert "prefers-color-scheme: dark" in text
    assert 'class="skip" href="#problem-1"' in text


@pytest.mark.parametrize(
    ("row", "said"),
    [
        (
            {"command": "threshold", "headline": "0.9", "threshold": {"value": 0.9}, "over": "majority",
             "collapsed_above": True},
            "The smaller classes collapse where the largest has more than 0.9",
        ),
        (
            {"command": "levels", "headline": "4.3", "optimum": 4.3, "collapse": 6.92, "loss_value": 6.0,
             "position": 0.65},
            "Optimum at 4.3 nats, total collapse at 6.92 nats; 6 nats stands at 65% of the way up",
        ),
        (
            {"command": "capacity", "headline": "196560 classes", "problem": {"max_cosine": 0.5, "dim": 24}},
            "196560 classes fit",
        ),
        ({"command": "levels", "headline": "4.3"}, "4.3"),  # of a row that lacks what the sentence needs
        ({"command": "of the future", "headline": "42"}, "42"),
        ({"command": "imbalance", "headline": ""}, ""),
    ],
)  # fmt: skip
def test_the_answer_is_a_sentence_with_its_unit(row, said):
    from geomsolve.cli.sentences import sentence

    assert sentence(row) == said


@pytest.mark.parametrize(
    ("content", "words"),
    [("not json\n", "rows.jsonl:1: this is no row"), ('{"command": "imbalance"}\n', "rows.jsonl:1"), ("", "no answer")],
)
def test_a_file_that_batch_did_not_write(run, tmp_path, content, words):
    (tmp_path / "rows.jsonl").write_text(content)
    done = run("report", tmp_path / "rows.jsonl", "--out", tmp_path / "page.html")
    assert (done.code, done.stdout) == (2, "")
    assert words in done.stderr
    assert not (tmp_path / "page.html").exists()


@pytest.mark.slow
def test_problem_files_are_solved(run, tmp_path):
    (tmp_path / "a.yaml").write_text("kind: imbalance\nprops: [0.5, 0.5]\n")
    done = run("report", tmp_path / "a.yaml", "--out", tmp_path / "page.html", "--jobs", "1")
    assert done.code == 0
    assert "Two opposite points" in (tmp_path / "page.html").read_text()
    assert run("report", tmp_path / "b.yaml", "--out", tmp_path / "page.html").code == 2
    assert run("report", tmp_path / "a.yaml", "--out", tmp_path / "no" / "page.html").code == 2


def test_a_loss_in_words_even_where_it_is_none():
    from geomsolve.cli.render import loss_words

    assert loss_words({"name": "sigmoid", "temperature": 0.1, "bias": 10.0}) == (
        "sigmoid, temperature 0.1, subtracted bias 10"
    )
    written = {"name": "nope", "temperature": None, "batch": {"size": 4}, "full_batch": True, "views": "two"}
    assert loss_words(written) == "nope, temperature None, batch {'size': 4}, full batch, views two"
