"""Problem files: what YAML means, where errors stand, what is refused, and that nothing ends in a traceback."""

from __future__ import annotations

import json
import math
from pathlib import Path

import jsonschema
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from geomsolve import InputError, solve
from geomsolve.analyses.expectation import misses
from geomsolve.batch.gather import gather
from geomsolve.batch.rows import row_of
from geomsolve.batch.table import Sheet
from geomsolve.losses import REGISTRY
from geomsolve.questions.base import keys
from geomsolve.questions.documents import content_hash, read_entries
from geomsolve.questions.expect import Expectation
from geomsolve.questions.kinds import json_schema, kinds
from geomsolve.reading.yaml import Node, read_documents
from geomsolve.report import to_json


def only(text: str):
    (document,) = read_documents(text)
    assert isinstance(document, Node), document
    return document.plain()


def complaint(text: str) -> tuple[int, int, str]:
    """Line, column and message of the single thing wrong with a text."""
    (error,) = (document for document in read_documents(text) if not isinstance(document, Node))
    return error.place.line, error.place.column, error.message


@pytest.fixture
def problem(tmp_path):
    """Write a problem file; its path."""

    def write(text: str, name: str = "p.yaml") -> Path:
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return path

    return write


class TestYaml:
    @pytest.mark.parametrize(
        ("text", "value"),
        [
            ("1e-3", 0.001),  # YAML 1.1 reads a string here
            ("1e-1", 0.1),
            ("no", "no"),  # ... and false here
            ("on", "on"),
            ("2001-01-01", "2001-01-01"),  # ... and a date here
            ("1_000", "1_000"),
            ("12:30:45", "12:30:45"),
            ("017", 17),
            ("0o17", 15),
            ("0x1F", 31),
            ("0o8", "0o8"),
            ("true", True),
            ("True", True),
            ("yes", "yes"),
            ("~", None),
            ("null", None),
            (".5", 0.5),
            ("1.", 1.0),
            ("+3", 3),
            ("-.inf", -math.inf),
            ("1/3", "1/3"),
            ("4*0.25", "4*0.25"),
            ("'1'", "1"),
            ('"\\u00e9"', "é"),
            ("!!str 1", "1"),
            ("!!float 1", 1.0),
        ],
    )
    def test_scalars_follow_the_core_schema(self, text, value):
        read = only(f"a: {text}")["a"]
        assert read == value
        assert type(read) is type(value)

    def test_nan(self):
        assert math.isnan(only("a: .nan")["a"])

    def test_an_alias_repeats_its_anchor(self):
        assert only("a: &x [1, {b: 2}]\nc: *x\nd: &y z\n*y : w") == {
            "a": [1, {"b": 2}],
            "c": [1, {"b": 2}],
            "d": "z",
            "z": "w",
        }

    def test_several_documents_and_nothing_between_markers(self):
        assert [d.plain() for d in read_documents("---\na: 1\n---\n---\n# only this\n---\nb: 2\n...\n")] == [
            {"a": 1},
            {"b": 2},
        ]

    @pytest.mark.parametrize(
        ("text", "line", "column", "words"),
        [
            ("a: 1\nb: 2\na: 3", 3, 1, "'a' stands twice; the first is in line 1"),
            ("a: {b: 1, c: 2, b: 3}", 1, 17, "'b' stands twice"),
            ("a: !!python/object/apply:os.system [ls]", 1, 4, "plain data"),
            ("a: !custom 3", 1, 4, "plain data"),
            ("a: &x [*x]", 1, 8, "not complete before it"),
            ("a: *x", 1, 4, "not complete before it"),
            ("? [a]\n: 1", 1, 3, "a key has to be a word"),
            ("a: [1", 1, 6, "expected ',' or ']'"),
            ("a: @counts.txt", 1, 4, "quotes"),
            ("a: \x01", 1, 4, "U+0001"),
            ("%YAML 1.1\n---\na: no", 2, 1, "YAML 1.2"),
            ('a: "\\ud800"', 1, 4, "surrogate"),
            ("a: " + "9" * 400, 1, 4, "400 characters"),
            ("a: !!int x", 1, 4, "not of the type int"),
            ("[" * 70 + "]" * 70, 1, 65, "levels"),
        ],
    )
    def test_refused_with_its_place(self, text, line, column, words):
        found = complaint(text)
        assert found[:2] == (line, column)
        assert words in found[2]

    def test_explosive_aliases_are_refused_before_they_expand(self):
        lines = ["a: &a [x, x, x, x, x, x, x, x, x, x]"]
        lines += [
            f"{new}: &{new} [{', '.join([f'*{old}'] * 10)}]"
            for old, new in zip("abcdefgh", "bcdefghi", strict=True)  # 10^9 in the end
        ]
        line, _, message = complaint("\n".join(lines))
        assert "1,000,000 keys and values" in message
        assert line == 6

    def test_what_is_wrong_in_one_document_leaves_the_next(self):
        first, second, third = read_documents("a: 1\n---\nb: 1\nb: 2\n---\nc: 3")
        assert first.plain() == {"a": 1}
        assert second.place.line == 4
        assert third.plain() == {"c": 3}


class TestDocuments:
    def errors(self, text: str, base: Path = Path()) -> list[str]:
        return [str(c) for entry in read_entries(text.encode(), "f.yaml", base) for c in entry.complaints]

    def test_every_complaint_has_its_key_and_place(self):
        found = self.errors(
            "kind: imbalance\nprops: [0.7, 0.2, 0.2]\nlos: supcon\nexpect: {structur: x, value: {value: 1, tol: 2}}\n"
        )
        assert [line.split(": ")[:2] for line in found] == [
            ["f.yaml:2:1", "props"],
            ["f.yaml:3:1", "los"],
            ["f.yaml:4:10", "expect.structur"],
            ["f.yaml:4:41", "expect.value.tol"],
        ]
        assert "did you mean 'loss'?" in found[1]
        assert "did you mean 'structure'?" in found[2]
        assert "sum to 1.1" in found[0]

    @pytest.mark.parametrize(
        ("text", "place", "words"),
        [
            ("props: [0.5, 0.5]", "1:1", "the key kind is needed"),
            ("kind: imbalnce", "1:1", "did you mean 'imbalance'?"),
            ("kind: [imbalance]", "1:1", "unknown kind"),
            ("- kind: imbalance", "1:1", "a problem is a mapping"),
            ("kind: imbalance\nprops: [1, x]", "2:1", "'x' is not a number"),
            ("kind: imbalance\nprops: '-'", "2:1", "standard input"),
            ("kind: imbalance\nprops: '@none.txt'", "2:1", "there is no file"),
            ("kind: imbalance\nprops: [0.5, 0.5]\nbase: /etc", "3:1", "unknown key"),
            ("kind: imbalance\nprops: [0.5, 0.5]\nself: 1", "3:1", "unknown key"),
            ("kind: imbalance\nprops: [0.5, 0.5]\nloss: 3", "3:1", "wanted the name of a loss"),
            ("kind: imbalance\nprops: [0.5, 0.5]\nexpect: {value: x}", "3:10", "'x' is not a number"),
            ("kind: imbalance\nprops: [0.5, 0.5]\nexpect: {value: true}", "3:10", "wanted a number"),
            ("kind: imbalance\nprops: [0.5, 0.5]\ntolerance: 0", "3:1", "wanted more than 0"),
            ("", "1:1", "there is no problem in this file"),
            ("# nothing", "1:1", "there is no problem in this file"),
            ("kind: imbalance\ngrid: 3", "2:1", "lists of values"),
            ("kind: imbalance\ngrid: {props: 3}", "2:1", "a list of values for props"),
            ("kind: imbalance\nprops: [0.5, 0.5]\ngrid: {props.x: [1]}", "3:1", "no mapping"),
        ],
    )
    def test_refused(self, text, place, words):
        (line,) = self.errors(text)
        assert line.startswith(f"f.yaml:{place}: ")
        assert words in line

    @pytest.mark.parametrize(
        ("kind", "expect", "words"),
        [
            (
                "imbalance",
                "structure: regular simplx",
                "unknown structure 'regular simplx'; did you mean 'regular simplex'",
            ),
            ("imbalance", "groups: [[b, c], [d]]", "unknown class 'd'; known: a, b, c"),
            ("sweep", "structure: generl at 4 of 5 points", "unknown structure 'generl'; did you mean 'general'"),
            ("sweep", "structure: 'general at 4, minor collapse at 1 of 5 points'", "did you mean 'minority collapse'"),
            ("sweep", "structure: minority", "unknown structure 'minority'; did you mean 'minority collapse'"),
            ("realizable", "verdict: realisable", "unknown verdict 'realisable'; did you mean 'realizable'"),
            ("diversity", "verdict: hold", "unknown verdict 'hold'; did you mean 'holds'"),
        ],
    )
    def test_expected_names_have_to_be_known(self, tmp_path, kind, expect, words):
        about = {
            "imbalance": "props: [0.5, 0.3, 0.2]\nnames: [a, b, c]",
            "sweep": "props: [0.5, 0.3, 0.2]\nover: {temperature: [1, 2]}",
            "realizable": "weighting: yaware\nlabels: [1, 2, 3]",
            "diversity": "latents: rings:7x10",
        }
        (tmp_path / "p.yaml").write_text(f"kind: {kind}\n{about[kind]}\nexpect: {{{expect}}}\n")
        (entry,) = gather([str(tmp_path)])
        (found,) = entry.complaints
        assert found.field == f"expect.{expect.split(':')[0]}"
        assert words in found.message
        assert found.place.column > 1

    def test_bytes_that_are_no_text(self):
        (entry,) = read_entries(b"kind: imbalance\n\xff\xfe", "f.yaml", Path())
        assert str(entry.complaints[0]) == "f.yaml:2:1: this is no UTF-8 text"

    def test_a_grid_is_every_combination(self):
        text = (
            "kind: imbalance\nprops: [0.5, 0.5]\nloss: supcon\n"
            "grid: {loss.temperature: [0.1, 0.5], loss: [supcon, dcl], seed: [1, 2, 3]}\n"
        )
        entries = read_entries(text.encode(), "f.yaml", Path())
        points = {(e.problem.loss.name, e.problem.loss.parameters["temperature"], e.problem.seed) for e in entries}
        assert points == {(name, t, seed) for name in ("supcon", "dcl") for t in (0.1, 0.5) for seed in (1, 2, 3)}
        assert len({e.sha256 for e in entries}) == len(entries) == 12
        assert entries[0].label == "loss.temperature=0.1, loss=supcon, seed=1"

    def test_an_error_in_a_grid_stands_at_its_value(self):
        text = "kind: imbalance\nprops: [0.5, 0.5]\ngrid:\n  props:\n    - [0.9, 0.1]\n    - [0.9, 0.2]\n"
        good, bad = read_entries(text.encode(), "f.yaml", Path())
        assert good.problem is not None
        assert str(bad.complaints[0]).startswith("f.yaml:6:7: props: ")

    def test_a_grid_that_explodes(self):
        axes = ", ".join(f"a{i}: [{', '.join('0123456789')}]" for i in range(7))
        (line,) = self.errors(f"kind: imbalance\ngrid: {{{axes}}}")
        assert "10,000,000 problems" in line

    def test_paths_start_from_the_file(self, tmp_path, problem, monkeypatch):
        (tmp_path / "deep").mkdir()
        (tmp_path / "deep" / "counts.txt").write_text("5\n3\n2\n")
        path = problem("kind: imbalance\ncounts: '@counts.txt'\n", "deep/p.yaml")
        monkeypatch.chdir("/")
        (entry,) = gather([str(path)])
        assert entry.problem.counts == (5, 3, 2)

    def test_the_hash_is_of_content(self, tmp_path):
        (tmp_path / "c.txt").write_text("5 3")
        a = read_entries(b"kind: imbalance\ncounts: '@c.txt'\nseed: 1", "a", tmp_path)[0].sha256
        b = read_entries(b"{seed: 0x1, counts: \"@c.txt\", 'kind': imbalance}  # layout", "b", tmp_path)[0].sha256
        assert a == b
        (tmp_path / "c.txt").write_text("5 4")
        assert read_entries(b"kind: imbalance\ncounts: '@c.txt'\nseed: 1", "a", tmp_path)[0].sha256 != a
        assert content_hash({"x": 1}, tmp_path) != content_hash({"x": 1.5}, tmp_path)


class TestLosses:
    @pytest.mark.parametrize(
        ("loss", "place", "field", "words"),
        [
            ("nope", "3:1", "loss.name", "unknown loss 'nope'"),
            ("{name: supcom}", "3:8", "loss.name", "did you mean 'supcon'?"),
            ("{name: supcon, margin: 1}", "3:22", "loss.margin", "does not use this"),
            ("{name: supcon, temprature: 1}", "3:22", "loss.temprature", "did you mean 'temperature'?"),
            ("{temperature: -1}", "3:8", "loss.temperature", "above 0, from 0.0001 to 1e6, got -1"),
            ("{full_batch: true}", "3:8", "loss.full_batch", "needs class counts"),
        ],
    )
    def test_checked_without_solving(self, problem, loss, place, field, words):
        path = problem(f"kind: imbalance\nprops: [0.6, 0.4]\nloss: {loss}\n")
        (entry,) = gather([str(path)])
        assert str(entry.complaints[0]).startswith(f"{path}:{place}: {field}: ")
        assert words in str(entry.complaints[0])

    def test_solver(self, problem):
        path = problem("kind: imbalance\nprops: [0.6, 0.4]\nsolver: manifol\n")
        (entry,) = gather([str(path)])
        assert "3:1: solver: unknown solver 'manifol'; did you mean 'manifold'?" in str(entry.complaints[0])

    def test_what_an_analysis_itself_knows(self, problem, monkeypatch):
        def refuse(asked):
            raise InputError(f"not with seed {asked.seed}", field="seed")

        monkeypatch.setattr("geomsolve.analyses.imbalance.validate", refuse, raising=False)
        path = problem("kind: imbalance\nprops: [0.6, 0.4]\nseed: 7\n")
        (entry,) = gather([str(path)])
        assert [str(c) for c in entry.complaints] == [f"{path}:3:1: seed: not with seed 7"]


class TestPaths:
    def test_folders_globs_and_doubles(self, problem, tmp_path):
        for name in ("b.yaml", "a.yml", "sub/c.yaml", ".hidden/d.yaml", "e.txt"):
            (tmp_path / name).parent.mkdir(exist_ok=True)
            problem("kind: imbalance\nprops: [0.5, 0.5]\n", name)
        found = gather([str(tmp_path), str(tmp_path / "*.yaml"), str(tmp_path / "e.txt")])
        names = [str(Path(e.file).relative_to(tmp_path)) for e in found]
        assert names == ["a.yml", "b.yaml", "sub/c.yaml", "e.txt"]

    @pytest.mark.parametrize("path", ["nowhere.yaml", "nowhere/*.yaml", "."])
    def test_a_path_without_problems_is_an_error(self, path, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        with pytest.raises(InputError, match=r"there is no|no file|no problem file"):
            gather([path])


class TestExpectations:
    ASKED = {  # noqa: RUF012
        "value": 1.5,
        "structure": "general",
        "groups": [["b", "a"], ["c", "d"]],
        "min_cosine": -0.5,
        "max_cosine": 0.25,
        "threshold": 2.0,
    }

    @pytest.mark.parametrize(
        "expected",
        [
            {"structure": "general"},
            {"groups": [["d", "c"], ["a", "b"]]},
            {"value": 1.50009},
            {"value": {"value": 1.6, "tolerance": 0.2}},
            {"value": 1.6, "tolerance": 0.2},
            {"min_cosine": "-1/2", "max_cosine": "1/4"},
            {"threshold": 2},
        ],
    )
    def test_met(self, expected):
        assert misses(Expectation(**expected), self.ASKED, "imbalance") == []

    @pytest.mark.parametrize(
        ("expected", "words"),
        [
            ({"structure": "antipodal"}, "expected structure antipodal, got general"),
            ({"groups": [["a", "b"]]}, "expected groups"),
            ({"groups": []}, "expected groups"),
            ({"value": 1.5002}, "expected value 1.5002 within 0.0001, got 1.5"),
            ({"value": {"value": 1.6, "tolerance": 0.01}, "tolerance": 1}, "expected value 1.6 within 0.01"),
            ({"threshold": None}, "expected threshold none, got 2"),
            ({"verdict": "realizable"}, "imbalance reports none"),
            ({"value": None}, "expected value none"),
        ],
    )
    def test_unmet(self, expected, words):
        (miss,) = misses(Expectation(**expected), self.ASKED, "imbalance")
        assert words in miss

    def test_no_threshold(self):
        asked = {**self.ASKED, "threshold": None}
        assert misses(Expectation(threshold=None), asked, "imbalance") == []
        assert "got none" in misses(Expectation(threshold=2), asked, "imbalance")[0]


@pytest.fixture(scope="module")
def validator():
    schema = json_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


class TestSchema:
    def test_command_prints_it(self, run):
        schema = run("schema").json
        assert schema["$schema"].endswith("2020-12/schema")
        for name in kinds():
            assert any(d.get("properties", {}).get("kind", {}).get("const") == name for d in schema["$defs"].values())

    @pytest.mark.slow
    def test_the_gallery_conforms(self, validator):
        gallery = Path(__file__).parent.parent / "problems"
        for path in gallery.rglob("*.yaml"):
            for document in read_documents(path.read_text(encoding="utf-8")):
                validator.validate(document.plain())

    @pytest.mark.parametrize(
        "wrong",
        [
            {"kind": "imbalance", "prop": [0.5, 0.5]},
            {"kind": "nonsense"},
            {"props": [0.5, 0.5]},
            {"kind": "imbalance", "loss": "nope"},
            {"kind": "imbalance", "loss": {"name": "triplet", "temperature": 1}},
            {"kind": "imbalance", "expect": {"value": [1]}},
            {"kind": "imbalance", "base": "/"},
            {"kind": "imbalance", "grid": {"seed": []}},
        ],
    )
    def test_mistakes_do_not(self, validator, wrong):
        assert not validator.is_valid(wrong)


class TestCommands:
    def test_validate_says_where(self, run, problem):
        path = problem("kind: imbalance\nprops: [0.5, 0.5]\nprops: [0.9, 0.1]\n")
        ended = run("validate", path)
        assert ended.code == 2
        assert ended.stdout == ""
        assert ended.stderr == f"{path}:3:1: the key 'props' stands twice; the first is in line 2\n"

    @pytest.mark.parametrize("command", ["validate", "solve"])
    def test_a_full_batch_is_looked_at_whole(self, run, problem, command):
        """The first two classes have one sample each; the anchors are in the others."""
        text = "kind: imbalance\ncounts: [{}]\nloss: {{name: supcon, full_batch: true, temperature: 0.5}}\n"
        assert run(command, problem(text.format("1, 1, 5, 9"))).code == 0
        ended = run(command, problem(text.format("1, 1, 1")))
        assert (ended.code, ended.stdout) == (2, "") or command == "validate"
        assert "every class has one sample" in ended.stderr

    @pytest.mark.parametrize("weighting", ["yaware", "euclidean"])
    def test_an_unknown_kernel_is_told_before_anything_is_solved(self, run, problem, weighting):
        ended = run("validate", problem(f"kind: realizable\nweighting: {weighting}\nkernel: gausian\n"))
        assert ended.code == 2
        assert "kernel" in ended.stderr
        assert "did you mean 'gaussian'?" in ended.stderr

    def test_validate_as_json(self, run, problem):
        path = problem("kind: imbalance\nprops: [0.5, 0.6]\n---\nkind: imbalance\nprops: [0.5, 0.5]\n")
        ended = run("validate", path, "--json")
        assert ended.code == 2
        assert ended.json["problems"] == 2
        (found,) = ended.json["complaints"]
        assert (found["file"], found["line"], found["column"], found["field"]) == (str(path), 2, 1, "props")

    def test_validate_a_complaint_of_a_whole_grid_once(self, run, problem):
        path = problem("kind: imbalance\nprops: [0.5, 0.6]\ngrid: {seed: [1, 2, 3]}\n")
        assert run("validate", path).stderr.count("props") == 1

    def test_solve_shows_the_answer_and_that_it_is_expected(self, run, problem):
        path = problem("kind: imbalance\nprops: 4*0.25\nexpect: {structure: regular simplex}\n")
        ended = run("solve", path)
        assert ended.code == 0
        assert ended.stdout.startswith("supcon wants a regular simplex")
        assert "This is what the file expects." in ended.stdout

    def test_solve_fails_loudly_when_the_prediction_changed(self, run, problem, tmp_path):
        path = problem("kind: imbalance\nprops: 4*0.25\nexpect: {structure: orthogonal frame}\n")
        ended = run("solve", path)
        assert ended.code == 1
        assert "NOT AS EXPECTED: expected structure orthogonal frame, got regular simplex." in ended.stdout
        out = tmp_path / "out.json"
        ended = run("solve", path, "--json", "--out", out)
        assert ended.code == 1
        assert ended.json == json.loads(out.read_text())
        assert ended.json["status"] == "unmet"
        assert len(ended.json["sha256"]) == 64

    def test_solve_wants_one_problem(self, run, problem):
        path = problem("kind: imbalance\nprops: [0.5, 0.5]\ngrid: {seed: [1, 2]}\n")
        ended = run("solve", path)
        assert ended.code == 2
        assert "holds 2 problems; geomsolve batch" in ended.stderr
        assert ended.stdout == ""

    def test_what_only_solving_finds_wrong_has_a_place_too(self, run, problem, monkeypatch):
        monkeypatch.setattr("geomsolve.solvers.choose.MEMORY_LIMIT", 1)
        path = problem("kind: imbalance\nseed: 1\nprops: [0.6, 0.4]\n")
        ended = run("solve", path)
        assert ended.code == 2
        assert f"{path}:3:1: props: 2 distinct proportions would need" in ended.stderr


# What a user may mistype: structures of the right words, characters that mean something in YAML, damaged good files.

WORDS = st.sampled_from(
    [word for model in kinds().values() for word in keys(model)]
    + [name for loss in REGISTRY.values() for name in loss.takes()]
    + ["name", "value", "structure", "groups", "threshold", "grid", "loss.temperature", "base", "<<", "a"]
)
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=8),
    st.sampled_from(["imbalance", "supcon", "infonce", "inf", "1/3", "4*0.25", "1/0", "@x.csv:y", "-", "9" * 300]),
)
VALUES = st.recursive(SCALARS, lambda c: st.lists(c, max_size=4) | st.dictionaries(WORDS, c, max_size=5), max_leaves=12)
GOOD = (
    "kind: imbalance\nprops: [0.7, 0.2, 0.1]\nnames: &n [a, b, c]\nloss: {name: infonce, temperature: 1e-1}\n"
    "expect: {value: {value: 1, tolerance: 1e-3}, groups: [[a, b]]}\ngrid: {loss.negatives: [1, inf]}\n"
)
EDITS = st.lists(
    st.tuples(
        st.integers(0, len(GOOD)), st.integers(0, 6), st.text(alphabet="[]{}:,-\n &*!'\"|>%@0a~\t\\\x00é", max_size=4)
    ),
    max_size=5,
)
many = settings(max_examples=150, suppress_health_check=list(HealthCheck))


def survives(data: bytes, base: Path = Path("/nonexistent")) -> None:
    """Whatever stands in a file: problems or complaints with a place, rows that any reader takes, no exception."""
    for entry in read_entries(data, "f.yaml", base):
        assert (entry.problem is None) == bool(entry.complaints)
        for complaint in entry.complaints:
            assert complaint.place.line >= 1
            assert complaint.place.column >= 1
            assert complaint.message
        row = row_of(entry, None)
        assert len(to_json(row).splitlines()) == 1
        assert json.loads(to_json(row).encode()) is not None
        sheet = Sheet()
        sheet.add(0, row)
        sheet.to_csv()


MISPLACED = [
    *(None, True, 0, -1, 1.5, 1e308, "9" * 300, "", "a", "@x", "inf", ":", ",", "a:b", "1/0"),
    *(
        [],
        [None],
        [[]],
        [[None]],
        [True],
        [0],
        ["a"],
        ["a:b"],
        [["a", "b"]],
        [["a", "b", "c"]],
        [[1, 2], [3]],
        ["1", [2]],
    ),
    *({}, {"a": None}, [{}], {"name": None}, {"name": []}, {"name": "supcon"}, {"value": []}, {"": {}}),
]


class TestMalformed:
    @pytest.mark.parametrize("kind", sorted(kinds()))
    @pytest.mark.slow
    def test_each_key_of_each_kind_takes_or_refuses_any_value(self, kind):
        base = {"kind": kind, "props": [0.7, 0.3]}
        for value in MISPLACED:
            for key in keys(kinds()[kind]):
                survives(json.dumps({**base, key: value}).encode())

    @pytest.mark.parametrize("name", sorted(REGISTRY))
    @pytest.mark.slow
    def test_each_parameter_of_each_loss_takes_or_refuses_any_value(self, name):
        for value in MISPLACED:
            for key in REGISTRY[name].takes():
                survives(
                    json.dumps({"kind": "imbalance", "props": [0.7, 0.3], "loss": {"name": name, key: value}}).encode()
                )

    @many
    @given(st.dictionaries(WORDS, VALUES, max_size=6), st.booleans())
    @pytest.mark.slow
    def test_right_words_in_wrong_places(self, data, plausible):
        survives(json.dumps({"kind": "imbalance", "props": [0.7, 0.3], **data} if plausible else data).encode())

    @many
    @given(st.text(alphabet="kinds: -[]{},&*!%?|>'\"\\\n\t #@019.eE+~Uux=`\x85\u2028\ufeff", max_size=60))
    @pytest.mark.slow
    def test_characters_that_mean_something(self, text):
        survives(text.encode())

    @many
    @given(st.binary(max_size=60))
    @pytest.mark.slow
    def test_bytes(self, data):
        survives(data)

    @many
    @given(EDITS)
    @pytest.mark.slow
    def test_damaged_files(self, edits):
        text = GOOD
        for position, drop, insert in edits:
            text = text[:position] + insert + text[position + drop :]
        survives(text.encode())

    @settings(max_examples=25, suppress_health_check=list(HealthCheck))
    @given(edits=EDITS)
    def test_the_command_never_shows_a_traceback(self, run, tmp_path, edits):
        text = GOOD
        for position, drop, insert in edits:
            text = text[:position] + insert + text[position + drop :]
        path = tmp_path / "p.yaml"
        path.write_bytes(text.encode())
        ended = run("validate", path)  # asserts that there is no traceback
        assert ended.code in (0, 2)
        assert bool(ended.stderr) == (ended.code == 2)


@pytest.mark.parametrize(
    "problem",
    [
        {"kind": "imbalance", "dataset": "ham10000"},
        {"kind": "imbalance", "counts": [6, 3, 3], "loss": {"name": "supcon", "full_batch": True}},
        {"kind": "threshold", "props": [0.8, 0.2]},
        {"kind": "negatives", "props": [0.7, 0.3], "negatives": [1, 4], "loss": {"temperature": 0.5}},
        {"kind": "negatives", "joint": [[0.4, 0.1], [0.1, 0.4]], "negatives": [4], "loss": {"temperature": 0.5}},
        {"kind": "realizable", "weighting": "yaware", "labels": [20, 25, 30]},
        {"kind": "check", "counts": [6, 3, 3], "loss": {"name": "supcon", "full_batch": True}, "steps": 3},
        {"kind": "check", "props": [0.7, 0.3], "steps": 3},
    ],
    ids=lambda p: "-".join(map(str, p.values()))[:40],
)
@pytest.mark.slow
def test_the_problem_of_an_answer_can_be_asked_again(problem):
    if problem["kind"] == "check":
        pytest.importorskip("torch")

    def answered(question):
        return json.loads(to_json(solve(kinds()[question["kind"]](**question)).to_dict()))

    first = answered(problem)
    assert answered(first["problem"])["problem"] == first["problem"]
