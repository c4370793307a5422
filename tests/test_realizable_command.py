"""``geomsolve realizable`` as a user runs it."""

import json
import re
import sys

import numpy as np
import pytest

from geomsolve.cli.main import main
from geomsolve.proof.certificate import Certificate
from geomsolve.report import Proof


@pytest.fixture
def run(monkeypatch, capsys):
    """Run the command line in this process: exit code, stdout, stderr."""

    def call(*args):
        monkeypatch.setattr(sys, "argv", ["geomsolve", *map(str, args)])
        with pytest.raises(SystemExit) as end:
            main()
        out, err = capsys.readouterr()
        return end.value.code, out, err

    return call


def test_the_answer_comes_first_and_the_fixes_last(run):
    code, out, err = run("realizable", "--weighting", "yaware", "--labels", "20,25,30", "--sigma", "5")
    assert (code, err) == (0, "")
    assert out.startswith("Inconsistent: no embedding attains y-Aware on these 3 samples")
    assert "temperature 0.1" in out
    assert "-0.00178458" in out
    assert "Proven:" in out
    assert out.index("Proven:") < out.index("Any one of these makes it realizable") < out.index("--arc 15.8113")


def test_printed_fixes_work_as_they_are_printed(run):
    base = ["realizable", "--weighting", "soft-supcon", "--labels", "classes:5,3,2", "-t", "0.5"]
    _, out, _ = run(*base, "--epsilon", "0.02")
    assert "Soft SupCon is often said to keep a regular simplex" in out
    printed = re.findall(r"^  (--\S+) (\S+)$", out, flags=re.M)
    assert {flag for flag, _ in printed} >= {"--epsilon", "--temperature"}
    for flag, value in printed:
        given = [*base, *([] if flag == "--epsilon" else ["--epsilon", "0.02"]), flag, value]
        code, text, _ = run(*given, "--json")
        assert (code, json.loads(text)["verdict"]) == (0, "realizable"), (flag, value)


def test_json_keys(run):
    code, out, _ = run("realizable", "--weighting", "yaware", "--labels", "circle:8", "-t", "1.2", "--json")
    answer = json.loads(out)
    assert code == 0
    assert list(answer) == sorted(answer)
    assert answer["schema"] == "geomsolve/1"
    assert answer["command"] == "realizable"
    assert {"min_eigenvalue", "negative_mass", "rank", "radius"} <= set(answer["target"])
    assert {"value", "lower_bound", "gap", "excess", "certified"} <= set(answer["optimum"])
    assert all({"change", "value", "why"} <= set(fix) for fix in answer["fixes"])
    for key in ("verdict", "reason", "floor", "least_dimension", "unique", "problem", "versions"):
        assert key in answer
    assert answer["target"]["radius"] == pytest.approx(np.sqrt(1.2))
    assert answer["problem"]["sigma"] == 1.0


@pytest.mark.parametrize("weighting", ["supcon", "soft-supcon", "yaware", "euclidean", "xclr"])
def test_without_labels_the_condition_and_cases(run, weighting):
    code, out, _ = run("realizable", "--weighting", weighting, "--json")
    answer = json.loads(out)
    assert code == 0
    assert len(answer["cases"]) >= 8
    verdicts = {case["labels"]: case["verdict"] for case in answer["cases"]}
    wanted = {
        "supcon": {"classes:5,3,2": "degenerate"},
        "soft-supcon": {"classes:5,3,2": "realizable"},  # epsilon 0.1 asks for cosine 0.77 at 0.1
        "yaware": {"line:9": "inconsistent", "circle:8": "realizable", "0,1": "realizable"},
        "euclidean": dict.fromkeys(verdicts, "realizable"),
        "xclr": {"sphere:20:3": "realizable", "line:9": None},
    }[weighting]
    assert {key: verdicts[key] for key in wanted} == wanted
    code, text, _ = run("realizable", "--weighting", weighting)
    assert code == 0
    assert text.startswith(answer["condition"][:30])


def test_the_embedding_as_a_file(run, tmp_path):
    base = ["realizable", "--weighting", "euclidean", "--labels", "3,1,1,2", "-t", "0.25"]
    code, _, _ = run(*base, "--out", tmp_path / "points.npy")
    assert code == 0
    points = np.load(tmp_path / "points.npy")
    assert points.shape == (4, 1)
    np.testing.assert_allclose(np.abs(points - points[0])[:, 0], [0, 1, 1, 0.5], atol=1e-7)
    run(*base, "--out", tmp_path / "points.csv")
    np.testing.assert_allclose(np.loadtxt(tmp_path / "points.csv", delimiter=",")[:, None], points, atol=1e-12)
    run(*base, "--out", tmp_path / "answer.json")
    assert json.loads((tmp_path / "answer.json").read_text())["verdict"] == "realizable"


def test_degenerate_without_an_embedding(run, tmp_path):
    base = ["realizable", "--weighting", "supcon", "--labels", "classes:2,2", "--similarity", "euclidean"]
    code, out, _ = run(*base)
    assert code == 0
    assert "There is no best embedding" in out
    code, out, err = run(*base, "--out", tmp_path / "p.npy")
    assert (code, out) == (2, "")
    assert not list(tmp_path.iterdir())
    assert "--out" in err


def test_limited_dimensions_are_not_proven(run):
    code, out, _ = run("realizable", "--weighting", "euclidean", "--labels", "grid:2x2", "--dim", "1")
    assert code == 1
    assert "NOT PROVEN" in out
    assert "--dim 2" in out


@pytest.mark.parametrize(("gap", "unique"), [(0.0, True), (0.1, None)])
def test_what_is_not_proven_is_not_called_the_only_optimum(gap, unique):
    assert Proof.of(Certificate.of(-1.0, gap, 0.0, 1e-6), True).unique is unique


def test_a_missing_entry(run, tmp_path):
    (tmp_path / "t.csv").write_text("1,.6,\n.6,1,-.3\n,-.3,1\n")
    code, out, _ = run("realizable", "--weighting", "custom", "--target", f"@{tmp_path / 't.csv'}")
    assert code == 0
    assert "any cosine from -0.943151 to 0.583151 works" in out


def test_an_end_that_is_no_value_is_said_to_be_none(run):
    target = ("--weighting", "custom", "--target", "0,9,1;9,0,;1,,0", "--similarity", "euclidean")
    code, out, _ = run("realizable", *target, "--self-pairs", "exclude")
    assert code == 0
    assert "row 2 and column 3: any squared distance above 0 works" in " ".join(out.split())
    _, out, _ = run("realizable", *target, "--self-pairs", "exclude", "--json")
    (entry,) = json.loads(out)["completions"]
    assert entry == {
        "row": 2,
        "column": 3,
        "low": 0.0,
        "low_attained": False,
        "high": None,
        "high_attained": False,
    }
    _, out, _ = run("realizable", *target)  # distances 3 and 1 from a corner: between 2 and 4
    (line,) = re.findall(r"any squared distance from (\S+) to (\S+) works", " ".join(out.split()))
    assert [float(x) for x in line] == pytest.approx([4, 16], abs=1e-4)
    _, out, _ = run("realizable", "--weighting", "custom", "--similarity", "euclidean", "--target", "0,1,;1,0,;,,0")
    assert "any squared distance from 0 upwards works" in " ".join(out.split())


@pytest.mark.parametrize("weighting", ["yaware", "euclidean", "supcon", "soft-supcon"])
def test_one_distinct_label(run, weighting):
    code, out, err = run("realizable", "--weighting", weighting, "--labels", "20,20", "--json")
    assert (code, err) == (0, "")
    answer = json.loads(out)
    assert (answer["verdict"], answer["distinct"], answer["samples"]) == ("realizable", 1, 2)
    code, out, _ = run("realizable", "--weighting", weighting, "--labels", "20,20")
    assert code == 0
    assert out.startswith("Realizable: an embedding")


def test_supcon_by_distance_may_have_any_positive_weight(run):
    base = ["realizable", "--labels", "classes:2,2", "-t", "2", "--similarity", "euclidean"]
    _, out, _ = run(*base, "--weighting", "supcon")
    assert "any positive weight across classes" in " ".join(out.split())
    assert "at least 0.367879" not in out
    code, out, _ = run(*base, "--weighting", "soft-supcon", "--epsilon", "1e-9", "--json")
    assert (code, json.loads(out)["verdict"]) == (0, "realizable")
    _, out, _ = run("realizable", "--labels", "classes:2,2", "-t", "2", "--weighting", "supcon")
    assert "at least 0.367879 across classes" in " ".join(out.split())


def test_a_degenerate_weighting_by_distance_with_a_best_embedding_says_so(run):
    """Weights 1, .5, 0, .2 connect all samples, so that none goes to infinity and the best embedding is attained."""
    weights = ("--weighting", "custom", "--weights", "1,.5,0;.5,1,.2;0,.2,1", "--similarity", "euclidean")
    _, out, _ = run("realizable", *weights)
    said = " ".join(out.split())
    assert said.startswith("Degenerate: no embedding attains this weighting")
    assert "the best one stays 0.00502 nats above the ideal" in said
    assert "only a limit" not in said


def test_lists(run):
    _, out, _ = run("list", "weightings", "--json")
    rows = {row["name"]: row for row in json.loads(out)["weightings"]}
    built_in = {"supcon", "soft-supcon", "yaware", "euclidean", "xclr", "custom"}
    assert set(rows) == built_in | {"jaccard", "shared", "any", "hierarchy", "rnc"}
    assert rows["yaware"]["flags"] == ["--sigma", "--kernel"]
    code, out, _ = run("list", "labels")
    assert code == 0
    assert "sphere:40:3" in out


def test_the_example_of_the_help_works(run):
    code, out, _ = run("realizable", "--help")
    assert code == 0
    example = re.search(r"Example: geomsolve (.*)", " ".join(out.split())).group(1)
    assert run(*example.split())[0] == 0


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["--labels", "1,2"], "--weighting"),
        (["--weighting", "yawar", "--labels", "1,2"], "--weighting: unknown weighting 'yawar'; did you mean 'yaware'"),
        (["--weighting", "yaware", "--labels", "1,2", "--sigma", "0"], "--sigma"),
        (["--weighting", "yaware", "--labels", "1,2", "--sigma", "-1"], "--sigma"),
        (["--weighting", "yaware", "--labels", "1,nan"], "--labels: label 2 is nan"),
        (["--weighting", "yaware", "--labels", "0,0;1"], "--labels"),
        (["--weighting", "yaware", "--labels", "1,2", "-t", "0"], "--temperature"),
        (
            ["--weighting", "yaware", "--labels", "1,2", "--epsilon", "0.1"],
            "--epsilon: the weighting yaware does not use",
        ),
        (["--weighting", "soft-supcon", "--labels", "1,2", "--epsilon", "0"], "--epsilon"),
        (["--weighting", "soft-supcon", "--labels", "1,2", "--epsilon", "1.5"], "--epsilon"),
        (["--weighting", "yaware", "--labels", "1,2", "--kernel", "gaus"], "--kernel: unknown kernel 'gaus'"),
        (["--weighting", "yaware", "--labels", "1,2", "--self-pairs", "maybe"], "--self-pairs"),
        (["--weighting", "yaware", "--labels", "@/no/such/file"], "--labels: there is no file"),
        (["--weighting", "custom", "--weights", "1,2;3,1"], "--weights: the matrix must be symmetric"),
        (["--weighting", "custom", "--weights", "1,2,3,4;3,1,2,5"], "--weights: the matrix must be square"),
        (["--weighting", "custom", "--weights", "1,-2;-2,1"], "--weights: weights must be at least 0"),
        (["--weighting", "custom"], "--weights"),
        (["--weighting", "yaware", "--labels", "line:3000"], "--labels: 3,000 distinct labels"),
        (["--weighting", "yaware", "--labels", "1,2,3", "--dim", "0"], "--dim"),
        (["--weighting", "yaware", "--labels", "1,2,3", "--out", "/no/such/folder/x.npy"], "--out: there is no folder"),
        (["--weighting", "yaware", "--out", "x.npy"], "--out: there is an embedding to write only for given labels"),
    ],
)
def test_bad_input_is_one_message_and_nothing_else(run, args, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, out, err = run("realizable", *args)
    assert (code, out) == (2, "")
    assert err.startswith("Error: ")
    assert err.count("\n") == 1
    assert words in err
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("flag", ["--arc", "--sample"])
@pytest.mark.parametrize("weighting", [("yaware",), ("custom", "--weights", "1,.5;.5,1")])
def test_what_changes_labels_needs_labels(run, weighting, flag):
    code, out, err = run("realizable", "--weighting", *weighting, flag, 5)
    assert (code, out) == (2, "")
    assert "this changes labels, and there are none" in err


def test_on_a_sphere_the_best_embedding_of_a_degenerate_weighting_is_attained(run):
    _, out, _ = run("realizable", "--weighting", "supcon", "--labels", "classes:2,2,2", "-t", 0.5)
    said = " ".join(out.split())
    assert said.startswith("Degenerate: no embedding attains SupCon on these 6 samples")
    assert "the best one stays 0.0949 nats above the ideal" in said


def test_the_verdict_is_told_before_the_optimum_is_sought(monkeypatch, capsys):
    """y-Aware on a line is inconsistent by an eigenvalue; the optimum is not needed to say so."""
    from geomsolve import Realizable
    from geomsolve.analyses import realizable as analysis
    from geomsolve.cli.commands.realizable import told_first

    def stop(*_):
        raise KeyboardInterrupt

    heard = []
    monkeypatch.setattr(analysis, "_best", stop)
    with pytest.raises(KeyboardInterrupt):
        analysis.realizable(Realizable("yaware", labels="line:9"), lambda *said: heard.append(said))
    ((verdict, reason),) = heard
    assert verdict == "inconsistent"
    assert "negative eigenvalue" in reason
    told_first(verdict, reason)
    assert capsys.readouterr().err == ""  # no terminal
    monkeypatch.setenv("FORCE_COLOR", "1")
    told_first(verdict, reason)
    assert "Inconsistent: " in capsys.readouterr().err
