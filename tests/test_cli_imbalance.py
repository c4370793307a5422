"""``geomsolve imbalance`` and ``geomsolve list`` as a user runs them."""

from __future__ import annotations

import json
import math
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import click
import numpy as np
import pytest

import geomsolve
from geomsolve.cli.main import Commands, cli

ANSI = "\x1b["
COMMANDS = Path(geomsolve.__file__).parent / "cli" / "commands"


def shell(*args, **options):
    """The installed command, in its own process."""
    command = [str(Path(sys.executable).parent / "geomsolve"), *map(str, args)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, **options)


# --- the answer for a person -----------------------------------------------------------------------------------------


def test_the_sentence_comes_first_then_the_table_then_the_proof(run):
    done = run("imbalance", "--props", "0.7,0.2,0.1")
    assert done.code == 0
    assert done.stderr == ""
    lines = done.stdout.splitlines()
    assert math.degrees(math.acos(-0.43412602)) == pytest.approx(115.7, abs=0.05)
    assert lines[0].startswith("Imbalance bends the simplex: supcon wants angles from 115.7° (between classes 2 and 3)")
    order = [
        done.stdout.index(part) for part in ("supcon, temperature 0.1", "-0.53", "Proven:", "Solver:", "Above temp")
    ]
    assert order == sorted(order)
    assert "It is the only optimum. It needs 2 dimensions." in done.stdout
    # published: the supcon population optimum at 0.7, 0.2, 0.1
    for cosine in ("-0.5374", "-0.5264", "-0.4341"):
        assert cosine in done.stdout
    assert "-0.80181799" in done.stdout


@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        ("--props 4*0.25", "supcon wants a regular simplex: all 4 classes at 109.5° (cosine -0.3333)"),
        ("--props 0.9,0.1", "supcon puts the two classes at opposite points, 180° apart."),
        (
            "--props 0.95,0.025,0.025 -t 1",
            "Minority collapse: supcon puts classes 2 and 3 at one point, opposite class 1.",
        ),
        (
            "--props 0.95,0.025,0.025 -t 1 --names big,one,two",
            "Minority collapse: supcon puts classes one and two at one point, opposite class big.",
        ),
        ("--props 0.7,0.2,0.1 --loss spectral", "spectral wants an orthogonal frame: all 3 classes at 90°"),
        (
            "--props 0.7,0.2,0.1 --loss soft-supcon --epsilon 0.2 -t 0.5",
            "soft-supcon wants all 3 classes at the same angle, 78.7° (cosine 0.1953)",
        ),
        ("--props 0.7,0.2,0.1 --loss triplet", "triplet is equally content with many geometries; one of them:"),
    ],
)
def test_sentences(run, flags, sentence):
    done = run("imbalance", *flags.split())
    assert done.code == 0
    assert sentence in " ".join(done.stdout.split())


def test_nearly_one_point_is_a_word_of_its_own(run):
    said = " ".join(run("imbalance", "--props", "0.9,0.06,0.04", "-t", "1.142546").stdout.split())
    assert said.startswith("Imbalance bends the simplex: supcon wants angles from 0.0°")
    angle = re.search(r"Classes 2 and 3 are ([0-9.]+)° apart, nearly one point\.", said)
    assert angle
    assert 0.01 < float(angle[1]) < 0.1
    assert "It needs 2 dimensions." in said
    assert "Above temperature 1.1425461 the 2 smaller classes would collapse into one point (yours is 1.142546)" in said
    assert "nearly" not in run("imbalance", "--props", "0.9,0.06,0.04", "-t", "1.2").stdout


def low_temperature_cosines(props, tau):
    """Three classes, tau -> 0: S = u u' and Z_a = p_a, so C_ab = 1 + tau log(2 tau u_a u_b / (p_a + p_b)), C u = 0.

    In the plane that says u_a proportional to the sine of the angle between the other two.  Solved by iteration.
    """
    p, cosines, shift = np.array(props), np.full(3, -0.5), 0.0
    others = [(1, 2), (0, 2), (0, 1)]
    for _ in range(200):
        u = np.sqrt(1 - cosines**2)
        bend = np.array([tau * math.log(u[a] * u[b] / (p[a] + p[b])) for a, b in others])
        low, high = -2.0, 2.0
        for _ in range(60):  # the shift that makes the three angles a full turn
            shift = (low + high) / 2
            turn = np.arccos(np.clip(bend + shift, -1, 1)).sum()
            low, high = (shift, high) if turn > 2 * math.pi else (low, shift)
        cosines = bend + shift
    return cosines


@pytest.mark.parametrize("solver", ["auto", "manifold", pytest.param("conic", marks=pytest.mark.slow)])
def test_unresolved_angles_are_not_named_and_the_limit_is_the_simplex(run, solver):
    question = ("imbalance", "--props", "0.7,0.2,0.1", "-t", "0.001", "--solver", solver)
    said = " ".join(run(*question).stdout.split())
    assert said.startswith("The angles are not determined at temperature 0.001: supcon hardly depends on them. ")
    assert "The regular simplex, to which they tend as the temperature falls, loses nothing" in said
    assert "only optimum" not in said
    answer = run(*question, "--json").json
    assert answer["certified"] is True
    assert answer["unique"] is None
    gram = np.array(answer["gram"])
    np.testing.assert_allclose(
        [gram[1, 2], gram[0, 2], gram[0, 1]], low_temperature_cosines([0.7, 0.2, 0.1], 0.001), atol=2e-3
    )


def test_the_low_temperature_formula_holds_where_angles_are_resolved(run):
    gram = np.array(run("imbalance", "--props", "0.7,0.2,0.1", "-t", "0.01", "--json").json["gram"])
    np.testing.assert_allclose(
        [gram[1, 2], gram[0, 2], gram[0, 1]], low_temperature_cosines([0.7, 0.2, 0.1], 0.01), atol=1e-9
    )


@pytest.mark.parametrize(
    ("props", "sentence"),
    [
        (
            "0.4,0.35,0.25",
            ": Collapse: supcon puts classes 2 and 3 (60.0% of the samples) at one point, opposite class 1.",
        ),
        ("0.4,0.3,0.2,0.1", ": Collapse: supcon puts classes 1 and 4, and classes 2 and 3 at one point each, opposite"),
        ("0.6,0.3,0.1", ": Minority collapse: supcon puts classes 2 and 3 at one point, opposite class 1."),
    ],
)
def test_only_what_is_a_minority_is_called_one(run, props, sentence):
    assert sentence in " ".join(run("imbalance", "--props", props, "--dim", 1, "--quiet").stdout.split())


def test_quiet_is_only_the_sentence(run):
    done = run("imbalance", "--props", "3,2,1", "--quiet")
    sentence = "Imbalance bends the simplex: supcon wants angles from"
    assert " ".join(done.stdout.split()).startswith(sentence)
    assert len(done.stdout.splitlines()) <= 2
    assert done.stderr == ""


def test_what_was_understood_differently_is_said_on_stderr(run):
    assert "taken as counts" in run("imbalance", "--props", "3,2,1").stderr
    assert "sum to 0.999" in run("imbalance", "--props", "0.333,0.333,0.333").stderr


def test_the_nearest_threshold_is_in_sight_from_both_sides(run):
    below = run("imbalance", "--props", "0.95,0.025,0.025").stdout
    above = run("imbalance", "--props", "0.95,0.025,0.025", "-t", 1).stdout
    pattern = r"temperature ([0-9.]+) the 2 smaller classes would"
    one, other = (re.search(pattern, " ".join(text.split())) for text in (below, above))
    assert one
    assert other
    assert one[1] == other[1]
    assert 0.1 < float(one[1]) < 1
    assert "would collapse" in below
    assert "would no longer be one point" in " ".join(above.split())


def test_a_grid_by_orbit_where_many_classes_are_alike(run):
    done = run("imbalance", "--props", "90*0.01,0.1")
    assert "90 x 0.01" in done.stdout
    assert "One row for each group" in done.stdout


def test_colour_only_where_it_is_wanted(run, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert ANSI in run("imbalance", "--props", "0.7,0.3").stdout
    assert "48;2;" not in run("imbalance", "--props", "0.7,0.3", "--no-color").stdout
    monkeypatch.setenv("NO_COLOR", "1")
    assert "48;2;" not in run("imbalance", "--props", "0.7,0.3").stdout
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.delenv("FORCE_COLOR")
    assert ANSI not in run("imbalance", "--props", "0.7,0.3").stdout


# --- JSON ------------------------------------------------------------------------------------------------------------

KEYS = {
    "schema",
    "command",
    "problem",
    "versions",
    "proof",
    "effort",
    "assumption",
    "classes",
    "orbits",
    "orbit_cosines",
    "gram",
    "value",
    "lower_bound",
    "gap",
    "certified",
    "unique",
    "rank",
    "structure",
    "solver",
    "nearest_threshold",
}


def strict(text: str):
    """Parse JSON, refusing NaN and Infinity."""

    def refuse(name):
        raise AssertionError(f"{name} in JSON")

    return json.loads(text, parse_constant=refuse)


def test_json_is_what_the_contract_says(run):
    done = run("imbalance", "--counts", "6,3,3", "--names", "a,b,c", "-t", 0.5, "--json")
    assert done.code == 0
    assert done.stdout.count("\n") == 1
    answer = strict(done.stdout)
    assert set(answer) == KEYS
    assert list(answer) == sorted(answer)
    assert (answer["schema"], answer["command"]) == ("geomsolve/1", "imbalance")
    assert answer["classes"] == [
        {"name": "a", "proportion": 0.5, "orbit": 0},
        {"name": "b", "proportion": 0.25, "orbit": 1},
        {"name": "c", "proportion": 0.25, "orbit": 1},
    ]
    assert answer["orbits"] == [{"size": 1, "proportion": 0.5}, {"size": 2, "proportion": 0.25}]
    cosines = answer["orbit_cosines"]
    assert cosines[0][0] is None
    assert answer["gram"][1][2] == cosines[1][1]
    assert answer["gram"][0] == [1.0, cosines[0][1], cosines[0][1]]
    assert set(answer["structure"]) == {
        "kind",
        "groups",
        "min_cosine",
        "max_cosine",
        "min_angle_deg",
        "max_angle_deg",
        "simplex_distance",
    }
    assert set(answer["solver"]) == {"name", "reason", "iterations", "seconds"}
    assert answer["certified"] is True
    assert answer["problem"]["loss"] == {"name": "supcon", "temperature": 0.5, "full_batch": False}
    assert answer["problem"]["tolerance"] == 1e-6
    assert {"geomsolve", "python", "numpy", "cvxpy"} <= set(answer["versions"])


@pytest.mark.slow
def test_json_holds_the_cosines_of_up_to_200_sizes_and_all_with_full(run):
    for sizes, flags, held in ((200, (), True), (201, (), False), (201, ("--full",), True)):
        counts = ",".join(str(n) for n in range(5, 5 + sizes))
        cosines = strict(run("imbalance", "--counts", counts, "--json", *flags).stdout)["orbit_cosines"]
        assert (cosines is not None and len(cosines) == sizes) if held else cosines is None


def test_json_of_infinite_negatives_and_of_a_threshold(run):
    answer = strict(run("imbalance", "--props", "0.9,0.05,0.05", "--loss", "infonce", "--json").stdout)
    assert answer["problem"]["loss"]["negatives"] == "inf"
    assert answer["nearest_threshold"]["over"] == "temperature"
    assert answer["nearest_threshold"]["value"] > 0
    assert strict(run("imbalance", "--props", "0.5,0.5", "--json").stdout)["nearest_threshold"] is None


def test_groups_are_names(run):
    flags = ["--props", "0.95,0.025,0.025", "-t", "1", "--names", "a,b,c", "--json"]
    assert strict(run("imbalance", *flags).stdout)["structure"]["groups"] == [["b", "c"]]


@pytest.mark.parametrize(("n_classes", "full", "there"), [(64, False, True), (65, False, False), (65, True, True)])
def test_the_gram_matrix_of_many_classes_only_when_asked_for(run, n_classes, full, there):
    answer = strict(
        run("imbalance", "--counts", f"{n_classes - 1}*1,2", "--json", *(["--full"] if full else [])).stdout
    )
    assert ("gram" in answer) == there
    if there:
        assert np.array(answer["gram"]).shape == (n_classes, n_classes)


def test_a_json_problem_asked_again_gives_the_same_answer(run):
    first = strict(run("imbalance", "--dataset", "ham10000", "-t", 0.5, "--json").stdout)
    again = geomsolve.solve(geomsolve.Imbalance(**first["problem"]))
    assert again.value == pytest.approx(first["value"], abs=1e-12)


def test_versions_and_the_library_agree_with_the_command(run):
    assert run("--version").stdout.strip() == f"geomsolve, version {geomsolve.__version__}"
    command = strict(run("imbalance", "--props", "0.7,0.2,0.1", "--json").stdout)
    library = geomsolve.solve(geomsolve.Imbalance(props=[0.7, 0.2, 0.1])).to_dict()
    for volatile in ("solver", "effort"):
        del command[volatile], library[volatile]
    assert command == json.loads(json.dumps(library))


@pytest.mark.parametrize(
    ("arguments", "says", "never"),
    [
        (("imbalance", "--counts", "20*1"), "20 classes of proportion 0.05.", "sizes"),
        (("imbalance", "--counts", "19*1,2"), "20 classes of 2 sizes", "proportion 0.05."),
        (("imbalance", "--loss", "spectral", "--props", "0.7,0.2,0.1"), "+0.0000", "-0.0000"),
        (("negatives", "--loss", "dcl", "--props", "0.5,0.3,0.2", "-t", 100), "; 1 brings it within", "1 negatives"),
        (("spectrum", "--power", "1"), "The only frequency survives.", "All 1"),
        (("sweep", "--props", "0.8,0.12,0.08", "--over", "temperature=1"), "Proven at 1 point:", "1 points"),
        (
            ("threshold", "--props", "0.5,0.3,0.2", "--loss", "infonce", "-t", 0.1, "--over", "negatives"),
            "at none of the 269 numbers of negatives looked at, from 1 to inf",
            "every negatives",
        ),
        (
            ("realizable", "--weighting", "soft-supcon", "--labels", "0,1", "--self-pairs", "exclude"),
            "(entropic floor) is 0 nats",
            "-0 ",
        ),
        (
            ("realizable", "--weighting", "yaware", "--labels", "circle:8"),
            "smallest eigenvalue 0, 0 % of the spectrum",
            "eigenvalue -",
        ),
    ],
    ids=lambda x: " ".join(map(str, x))[:30] if isinstance(x, tuple) else "",
)
def test_one_is_no_plural_and_zero_has_no_sign(run, arguments, says, never):
    said = " ".join(run(*arguments).stdout.split())
    assert says in said
    assert never not in said


# --- files -----------------------------------------------------------------------------------------------------------


def test_out_holds_the_json_whatever_is_on_the_screen(run, tmp_path):
    target = tmp_path / "answer.json"
    done = run("imbalance", "--props", "0.7,0.2,0.1", "--out", target)
    assert done.code == 0
    assert "Proven" in done.stdout
    assert set(strict(target.read_text())) == KEYS
    assert [p.name for p in tmp_path.iterdir()] == ["answer.json"]
    both = run("imbalance", "--props", "0.7,0.2,0.1", "--json", "--out", target)
    assert strict(both.stdout)["value"] == strict(target.read_text())["value"]


def test_a_failed_question_leaves_the_old_file_alone(run, tmp_path):
    target = tmp_path / "answer.json"
    target.write_text("old")
    assert run("imbalance", "--props", "0.7,0.2", "--out", target).code == 2
    assert target.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["answer.json"]


def test_a_write_that_breaks_leaves_nothing_half_written(tmp_path, monkeypatch):
    from geomsolve.errors import GeomsolveError
    from geomsolve.files import write_atomically

    target = tmp_path / "answer.json"
    target.write_text("old")

    def full(handle):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(GeomsolveError, match=r"answer\.json' cannot be written: No space"):
        write_atomically(target, "new")
    assert target.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["answer.json"]


def test_files_are_readable_like_any_other(run, tmp_path):
    run("imbalance", "--props", "0.5,0.5", "--out", tmp_path / "a.json")
    (tmp_path / "b").touch()
    assert (tmp_path / "a.json").stat().st_mode == (tmp_path / "b").stat().st_mode


def test_out_to_nowhere(run, tmp_path):
    done = run("imbalance", "--props", "0.5,0.5", "--out", tmp_path / "no" / "such" / "a.json")
    assert done.code == 2
    assert done.stdout == ""
    assert "--out: there is no folder" in done.stderr
    done = run("imbalance", "--props", "0.5,0.5", "--out", tmp_path)
    assert done.code == 2
    assert done.stdout == ""


def test_out_to_a_device(run):
    assert run("imbalance", "--props", "0.5,0.5", "--out", os.devnull).code == 0


# --- input -----------------------------------------------------------------------------------------------------------


def test_every_way_to_give_the_same_classes(run, tmp_path, monkeypatch):
    import io

    (tmp_path / "p.txt").write_text("6\n3\n3\n")
    (tmp_path / "p.csv").write_text("class,n\nx,6\ny,3\nz,3\n")
    np.save(tmp_path / "p.npy", np.array([6, 3, 3]))
    monkeypatch.setattr("sys.stdin", io.StringIO("6 3 3"))
    ways = (
        ["--props", "1/2,1/4,1/4"],
        ["--props", "0.5 2*0.25"],
        ["--props", "6,3,3"],
        ["--counts", "6,2*3"],
        ["--counts", f"@{tmp_path / 'p.txt'}"],
        ["--counts", f"@{tmp_path / 'p.csv'}:n"],
        ["--counts", f"@{tmp_path / 'p.npy'}"],
        ["--counts", "-"],
    )
    answers = [strict(run("imbalance", *way, "-t", 1, "--json").stdout) for way in ways]
    # reference: supcon, 0.5, 0.25, 0.25, temperature 1
    assert all(a["value"] == pytest.approx(-0.6878452058661153, abs=1e-9) for a in answers)


BAD = {
    "negative": (["--props", "0.7,-0.2,0.5"], "--props: proportions must be positive numbers, but number 2 is -0.2"),
    "zero": (["--props", "0.7,0,0.3"], "--props: .*number 2 is 0"),
    "nan": (["--props", "0.5,nan,0.5"], "--props: .*number 2 is nan"),
    "word": (["--props", "abc"], "--props: 'abc' is not a number"),
    "empty": (["--props", ""], "--props: the list is empty"),
    "single": (["--props", "1.0"], "--props: one class"),
    "sum": (["--props", "0.7,0.2,0.2"], "--props: the proportions sum to 1.1, not 1"),
    "mixed counts": (["--props", "5,2.5"], "--props: .*sum to 7.5, not 1"),
    "fractional count": (["--counts", "5,2.5"], "--counts: counts must be whole numbers, but number 2 is 2.5"),
    "nothing": ([], "exactly one of props, counts, labels or dataset"),
    "two sources": (["--props", "0.5,0.5", "--counts", "3,3"], "found props and counts"),
    "names": (["--props", "0.5,0.5", "--names", "a,b,c"], "3 names for 2 classes"),
    "same name": (["--props", "0.5,0.5", "--names", "a,a"], "--names: the name 'a' stands twice"),
    "loss": (["--props", "0.5,0.5", "--loss", "supkon"], "--loss: unknown loss 'supkon'; did you mean 'supcon'"),
    "unused flag": (["--props", "0.5,0.5", "--margin", "1"], "--margin: the loss supcon does not use this; it takes"),
    "unused -t": (
        ["--props", "0.5,0.5", "--loss", "spectral", "-t", "1"],
        "--temperature: the loss spectral does not use this",
    ),
    "temperature 0": (
        ["--props", "0.5,0.5", "-t", "0"],
        "--temperature: wanted a temperature above 0, from 0.0001 to 1e6, got '0'",
    ),
    "temperature -1": (["--props", "0.5,0.5", "-t", "-1"], "--temperature: wanted a temperature above 0"),
    "temperature nan": (["--props", "0.5,0.5", "-t", "nan"], "--temperature: wanted a temperature above 0"),
    "temperature word": (["--props", "0.5,0.5", "-t", "warm"], "--temperature: wanted .* got 'warm'"),
    "file": (["--props", "@/no/such/file"], "--props: there is no file '/no/such/file'"),
    "negatives": (
        ["--props", "0.5,0.5", "--loss", "infonce", "--negatives", "0"],
        "--negatives: wanted a whole number, at least 1, or inf, got '0'",
    ),
    "views": (["--props", "0.5,0.5", "--batch", "8", "--views", "0"], "--views: wanted a whole number, at least 1"),
    "views alone": (["--props", "0.5,0.5", "--views", "2"], "--views: .*give the batch size too"),
    "full batch": (["--props", "0.5,0.5", "--full-batch"], "--full-batch: a full batch needs class counts"),
    "full batch of singles": (["--counts", "1,1", "--full-batch"], "--full-batch: every class has one sample"),
    "dataset": (["--dataset", "ham1000"], "--dataset: unknown data set 'ham1000'; did you mean 'ham10000'"),
    "factor": (["--dataset", "cifar10-lt"], "--dataset: 'cifar10-lt' needs an imbalance factor"),
    "solver": (["--props", "0.5,0.5", "--solver", "conik"], "--solver: unknown solver 'conik'; did you mean 'conic'"),
    "kinks": (["--props", "0.5,0.5", "--loss", "triplet", "--solver", "manifold"], "--solver: .*without kinks"),
    "tolerance": (["--props", "0.5,0.5", "--tolerance", "0"], "--tolerance: wanted more than 0"),
    "flag": (["--porps", "0.5,0.5"], "No such option.*--porps"),
    "argument": (["--props", "0.5,0.5", "stray"], "unexpected extra argument"),
    "seed": (["--props", "0.5,0.5", "--seed", "x"], "'x' is not a valid integer"),
    "memory": (
        ["--counts", "@many.npy"],
        "--counts: 1,000,000 distinct proportions would need about 67,055 GiB of memory; at most",
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("bad", BAD)
def test_bad_input_is_one_clear_message(run, tmp_path, monkeypatch, bad):
    args, message = BAD[bad]
    if bad == "memory":
        np.save(tmp_path / "many.npy", np.arange(1, 1_000_001))
        monkeypatch.chdir(tmp_path)
    done = run("imbalance", *args)
    assert done.code == 2
    assert done.stdout == ""
    assert len(done.stderr.strip().splitlines()) == 1
    assert re.search(message, done.stderr)
    assert done.stderr.startswith("Error: ")


def test_unknown_commands_are_guessed(run):
    done = run("imbalanse")
    assert (done.code, done.stdout) == (2, "")
    assert "did you mean 'imbalance'" in done.stderr


# --- exit codes ------------------------------------------------------------------------------------------------------


def test_not_proven_is_exit_code_one_and_says_so(run):
    """A loss with kinks goes through the interior-point solver alone, which leaves a gap of 1e-15 at least."""
    question = ("imbalance", "--props", "0.5,0.3,0.1,0.1", "--loss", "triplet", "--margin", 1.9, "--tolerance", "1e-17")
    done = run(*question)
    assert done.code == 1
    assert "NOT PROVEN" in done.stdout
    assert "a proof needs a gap of at most 1.0e-17" in " ".join(done.stdout.split())
    answer = run(*question, "--json")
    assert answer.code == 1
    assert answer.json["certified"] is False
    assert answer.json["gap"] > 1e-17


def test_no_usable_answer_is_exit_code_three(run):
    done = run("imbalance", "--props", "0.7,0.2,0.1", "--loss", "infonce", "--negatives", 500, "--solver", "conic")
    assert (done.code, done.stdout) == (3, "")
    assert "no cone form" in done.stderr
    assert "leave --solver out" in done.stderr


def test_interrupted_is_130(run, monkeypatch):
    def interrupted(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr("geomsolve.cli.commands.imbalance.imbalance", interrupted)
    done = run("imbalance", "--props", "0.7,0.3")
    assert (done.code, done.stdout) == (130, "")


def test_interrupted_while_it_is_loaded_is_130():
    loading = (
        "import sys, geomsolve.__main__ as start\n"
        "class Interrupted:\n"
        "    def find_spec(name, *_):\n"
        "        if name == 'click': raise KeyboardInterrupt\n"
        "sys.meta_path.insert(0, Interrupted)\n"
        "start.main()"
    )
    done = subprocess.run([sys.executable, "-c", loading], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "Error: interrupted\n")


def test_an_internal_error_shows_no_traceback_unless_asked(run, monkeypatch):
    def broken(*args, **kwargs):
        raise RuntimeError("a bug")

    monkeypatch.setattr("geomsolve.cli.commands.imbalance.imbalance", broken)
    done = run("imbalance", "--props", "0.7,0.3")
    assert done.code == 3
    assert "internal error" in done.stderr
    monkeypatch.setattr("sys.argv", ["geomsolve", "imbalance", "--props", "0.7,0.3", "--debug"])
    from geomsolve.cli.main import main

    with pytest.raises(RuntimeError, match="a bug"):
        main()


# --- in a process of its own -----------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_installed_command_and_the_module_are_the_same(tmp_path):
    args = ("imbalance", "--props", "0.7,0.2,0.1", "--json")
    one = shell(*args, cwd=tmp_path)
    other = subprocess.run(
        [sys.executable, "-m", "geomsolve", *args], capture_output=True, text=True, cwd=tmp_path, check=False
    )
    assert one.returncode == other.returncode == 0
    first, second = strict(one.stdout), strict(other.stdout)
    for answer in (first, second):  # the only things that may differ: seconds
        del answer["solver"]["seconds"], answer["effort"]["seconds"]
    assert first == second
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("args", "code"),
    [
        ("--help", 0),
        ("list losses", 0),
        ("list datasets --json", 0),
        ("imbalance --props 0.7,0.2,0.1", 0),
        ("imbalance --props 0.7,0.2,0.1 --dim 1", 1),
        ("imbalance --props 0.7,0.2,0.1 --dim 1 --json", 1),
        ("imbalance --props 0.7,0.2", 2),
    ],
)
@pytest.mark.slow
def test_a_reader_that_leaves_early_changes_no_exit_code(args, code):
    process = subprocess.run(
        f"{shlex.quote(str(Path(sys.executable).parent / 'geomsolve'))} {args} | true; exit ${{PIPESTATUS[0]}}",
        shell=True,
        executable="/bin/bash",
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.returncode == code
    assert process.stderr.count("\n") == (code == 2)


@pytest.mark.slow
def test_standard_input_in_a_pipe():
    done = shell("imbalance", "--counts", "-", "--json", input="6\n3\n3\n")
    assert done.returncode == 0
    assert [c["proportion"] for c in strict(done.stdout)["classes"]] == [0.5, 0.25, 0.25]


# --- help ------------------------------------------------------------------------------------------------------------


def every_command():
    names = Commands("geomsolve").list_commands(click.Context(cli))
    return [(), *((name,) for name in names)]


@pytest.mark.parametrize("command", every_command(), ids=lambda c: " ".join(c) or "geomsolve")
@pytest.mark.parametrize("flag", ["-h", "--help"])
def test_help(run, command, flag):
    done = run(*command, flag)
    assert (done.code, done.stderr) == (0, "")
    assert "Usage: geomsolve" in done.stdout
    assert done.stdout.rstrip().splitlines()[-1].strip()
    assert "Example: geomsolve" in done.stdout


@pytest.mark.parametrize("command", [(), ("imbalance",), ("list",)], ids=lambda c: " ".join(c) or "geomsolve")
def test_the_example_of_every_help_works(run, command):
    text = " ".join(run(*command, "--help").stdout.split())
    example = shlex.split(text.rpartition("Example: geomsolve ")[2])
    done = run(*example)
    assert done.code == 0
    assert done.stdout


def test_help_names_every_command_and_every_loss_flag(run):
    text = run("--help").stdout
    assert "imbalance" in text
    assert "Which geometry does a loss want for these class proportions?" in text
    flags = run("imbalance", "--help").stdout
    for cls in geomsolve.losses.REGISTRY.values():
        for parameter in cls.takes().values():
            assert all(flag in flags for flag in parameter.flags)


# --- list ------------------------------------------------------------------------------------------------------------


def test_list_losses(run):
    done = run("list", "losses")
    assert done.code == 0
    for name in ("supcon", "infonce", "dcl", "triplet", "sigmoid", "spectral", "align-uniform", "soft-supcon"):
        assert name in done.stdout
    assert "softmax classifier on free features" in done.stdout  # on one line, not a word a line
    rows = {row["name"]: row for row in strict(run("list", "losses", "--json").stdout)["losses"]}
    assert "--negatives" in rows["infonce"]["flags"]
    assert "Khosla" in rows["supcon"]["source"]


def test_list_datasets(run):
    done = run("list", "datasets")
    assert done.code == 0
    for name in ("cifar10-lt:100", "cifar100-lt:100", "ham10000", "isic2019", "eyepacs", "creditcard-fraud"):
        assert name in done.stdout
    answer = strict(run("list", "datasets", "--json").stdout)
    assert (answer["schema"], answer["command"]) == ("geomsolve/1", "list")
    rows = {row["name"]: row for row in answer["datasets"]}
    assert rows["cifar100-lt:100"]["samples"] == 10847
    assert all(row["source"] for row in rows.values())


@pytest.mark.parametrize("what", [[], ["nonsense"]])
def test_list_nothing(run, what):
    done = run("list", *what)
    assert (done.code, done.stdout) == (2, "")
    assert "losses" in done.stderr


@pytest.mark.parametrize(
    "name", ["cifar10-lt:100", "cifar100-lt:100", "ham10000", "isic2019", "eyepacs", "aptos2019", "ddr"]
)
def test_every_data_set_is_answered_and_proven(run, name):
    done = run("imbalance", "--dataset", name, "--json")
    assert done.code == 0
    answer = strict(done.stdout)
    assert answer["certified"]
    assert answer["value"] >= answer["lower_bound"]
    assert math.isfinite(answer["structure"]["min_angle_deg"])


# --- files that must not be lost -------------------------------------------------------------------------------------


def test_no_command_writes_over_what_it_reads(run, tmp_path):
    problem = tmp_path / "p.yaml"
    problem.write_text("kind: imbalance\nprops: [0.7, 0.3]\n")
    points = tmp_path / "x.npy"
    np.save(points, np.eye(4))
    labels = tmp_path / "y.txt"
    labels.write_text("0\n0\n1\n1\n")
    rows = tmp_path / "rows.jsonl"
    for arguments in (
        ("solve", problem, "--out", problem),
        ("batch", problem, "--out", problem),
        ("batch", problem, "--out", rows, "--csv", rows),
        ("report", problem, "--out", problem),
        ("compare", points, "--labels", labels, "--out", points),
    ):
        before = {path: path.read_bytes() for path in (problem, points, labels)}
        done = run(*arguments)
        assert (done.code, done.stdout) == (2, "")
        assert "write to another file" in done.stderr
        assert {path: path.read_bytes() for path in before} == before
    assert not rows.exists()


def test_a_link_given_to_out_stays_a_link(run, tmp_path):
    target, link = tmp_path / "target.json", tmp_path / "link.json"
    link.symlink_to(target)
    assert run("imbalance", "--props", "0.7,0.3", "--quiet", "--out", link).code == 0
    assert link.is_symlink()
    assert json.loads(target.read_text())["certified"] is True
