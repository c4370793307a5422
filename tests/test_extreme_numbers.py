"""Numbers whose squares, sums or ratios are none are refused where they are read; all others are computed with.

Warnings are errors here, so an answer says that no overflow happened on the way.
"""

from __future__ import annotations

import io

import numpy as np
import pytest

from geomsolve import Realizable, solve


@pytest.mark.parametrize(
    ("flags", "field"),
    [
        (["diversity", "--latents", "circle:6", "--kappa", "1e308"], "kappa"),
        (["diversity", "--latents", "circle:6", "-t", "1e-320"], "temperature"),
        (["diversity", "--latents", "circle:4", "--masses", "1e308,1e308,1,1"], "masses"),
        (["diversity", "--latents", "circle:4", "--masses", "1e-320,1,1,1"], "masses"),
        (["spectrum", "--power", "power-law:2:16", "--eps", "1e308", "--alignment", "2"], "eps"),
        (["spectrum", "--power", "power-law:2:16", "--eps", "1e-320"], "eps"),
        (["spectrum", "--power", "1,2", "--blur", "1e-320"], "blur"),
        (["spectrum", "--power", "1,2", "--noise", "1e308"], "noise"),
        (["spectrum", "--power", "1,2", "--jitter", "1e308"], "jitter"),
        (["spectrum", "--power", "1,2", "--alignment", "1e308"], "alignment"),
        (["spectrum", "--power", "1e308,1e308"], "power"),
        (["spectrum", "--power", "1e-320,1", "--noise", "1"], "power"),
        (["realizable", "--weighting", "yaware", "--labels", "0,1,2", "--arc", "1e308"], "arc"),
        (["realizable", "--weighting", "yaware", "--labels", "0,1e308,2"], "labels"),
        (["realizable", "--weighting", "custom", "--weights", "1e308,1;1,1e308"], "weights"),
        (["realizable", "--weighting", "custom", "--similarity", "euclidean", "--target", "0,1e308;1e308,0"], "target"),
        (["negatives", "--joint", "1e308,1e308;1e308,1e308"], "joint"),
        (["negatives", "--joint", "1e-320,0;0,1"], "joint"),
        (["imbalance", "--counts", "1e308,1e308"], "counts"),
        (["imbalance", "--props", "1e-320,1"], "props"),
        (["imbalance", "--props", "1e308,1e308"], "props"),
        (["imbalance", "--props", ".6,.4", "--dim", "9" * 400], "dim"),
        (["realizable", "--weighting", "yaware", "--labels", "0,1,2", "-t", "1e-300"], "temperature"),
        (["realizable", "--weighting", "yaware", "--labels", "line:9:1e308"], "labels"),
        (["realizable", "--weighting", "yaware", "--labels", "circle:8:1e-300"], "labels"),
        (["diversity", "--latents", "circle:6", "-t", "5e-324"], "temperature"),
        (["levels", "--batch", "9223372036854775808"], "batch"),
        (["levels", "--batch", "64", "--classes", "6", "--views", "9" * 400], "views"),
        (["levels", "--batch", "64", "--classes", "6", "--dim", "9" * 400], "dim"),
        (["sweep", "--classes", str(2**63), "--over", "imbalance=1,10"], "classes"),
        (["capacity", "--classes", "3", "--dim", str(2**63)], "dim"),
        (["spectrum", "--power", "1,2", "--eps", "5e-324"], "eps"),
        (["realizable", "--weighting", "custom", "--weights", "1,.5;.5,1", "--slack", "1e-300"], "slack"),
        (["spectrum", "--power", "power-law:2:64", "--blur", "1e-300"], "blur"),
    ],
)
def test_numbers_that_nothing_can_be_computed_with_are_refused(run, flags, field):
    answer = run(*flags)
    assert answer.code == 2
    assert answer.stdout == ""
    assert answer.stderr.startswith(f"Error: --{field}")


@pytest.mark.parametrize(
    "flags",
    [
        ["diversity", "--latents", "circle:4", "--kappa", "1e6"],
        ["diversity", "--latents", "circle:4", "--masses", "1e-100,1e100,1,1"],
        [
            "spectrum",
            "--power",
            "1e-100,1",
            "--noise",
            "1e12",
            "--eps",
            "1e12",
            "--alignment",
            "1e12",
            "--jitter",
            "1e12",
        ],
        ["spectrum", "--power", "1e100,1", "--eps", "1e-12", "--alignment", "1e12", "--blur", "1e-12"],
        ["realizable", "--weighting", "yaware", "--labels", "0,1,2", "--arc", "1e12"],
        ["realizable", "--weighting", "custom", "--weights", "1,1e-320;1e-320,1"],
        ["realizable", "--weighting", "custom", "--similarity", "euclidean", "--target", "0,1e100;1e100,0"],
        ["imbalance", "--counts", f"{2**53},1"],
        ["levels", "--counts", "1000000000,5,5", "--batch", "64"],
    ],
)
def test_numbers_at_the_bounds_are_computed_with(run, flags):
    answer = run(*flags, "--json")
    assert answer.code in (0, 1), answer.stderr
    assert answer.json["command"] == flags[0]


@pytest.mark.slow
@pytest.mark.parametrize(
    "flags",
    [
        ["--views", "1000000"],
        ["--batch", "1000000000"],
        ["--loss", "infonce", "--negatives", "1000000000"],
    ],
)
def test_a_training_that_does_not_fit_is_refused_before_it_begins(run, flags):
    """10^6 views of 64 samples are 1.28e8 features in 2 dimensions."""
    pytest.importorskip("torch")
    batch = [] if "--batch" in flags or "infonce" in flags else ["--batch", "4"]
    answer = run("check", "--props", ".6,.4", "--steps", "2", *batch, *flags)
    assert (answer.code, answer.stdout) == (2, "")
    assert "numbers at once; at most 268,435,456 fit" in answer.stderr


def test_a_billion_samples_are_drawn_from_as_ever_more_are():
    """The levels of batches without replacement of 1e9 samples are those of batches with replacement, up to B/N."""
    from geomsolve.questions.levels import Levels

    shares, batch = np.array([0.8, 0.15, 0.05]), 16
    counts = (shares * 1_000_000_000).round().astype(int).tolist()
    finite = solve(Levels(counts=counts, batch=batch))
    assert finite.replacement == "no"
    assert finite.optimum == pytest.approx(finite.optimum_other_replacement, rel=1e-6)
    with_replacement = solve(Levels(props=shares.tolist(), batch=batch))
    assert finite.batch_spread == pytest.approx(with_replacement.batch_spread, rel=0.1)


def test_weights_of_no_self_pairs_may_be_anything():
    """The diagonal does not enter where self pairs are excluded: 0 and 1 ask for the same."""
    answers = [
        solve(Realizable(weighting="custom", weights=[[d, 9, 1], [9, d, None], [1, None, d]], self_pairs="exclude"))
        for d in (0, 1)
    ]
    assert [answer.verdict for answer in answers] == ["realizable", "realizable"]
    assert answers[0].value == pytest.approx(answers[1].value, abs=1e-12)


@pytest.mark.parametrize(
    "text", ["1,.6;.6,1", "1,.6;.6,1\n", "# weights\n1,.6;.6,1;\n", "1,.6\n.6,1\n", "1,.6;\n.6,1;\n"]
)
def test_rows_on_standard_input_are_split_as_in_the_flag(run, monkeypatch, text):
    flags = ("realizable", "--weighting", "custom", "--weights")
    wanted = run(*flags, "1,.6;.6,1", "--json").json
    monkeypatch.setattr("sys.stdin", io.StringIO(text))
    read = run(*flags, "-", "--json").json
    assert read["verdict"] == wanted["verdict"]
    assert read["optimum"] == wanted["optimum"]
    assert read["target"] == wanted["target"]


def test_vectors_on_standard_input(run, monkeypatch):
    flags = ("realizable", "--weighting", "yaware", "--labels")
    wanted = run(*flags, "0,0;1,0;0,1", "--json").json
    for text in ("0,0;1,0;0,1\n", "0,0\n1,0\n0,1\n"):
        monkeypatch.setattr("sys.stdin", io.StringIO(text))
        assert run(*flags, "-", "--json").json["target"] == wanted["target"]
    monkeypatch.setattr("sys.stdin", io.StringIO("0,0;1,0\n0,1\n"))
    refused = run(*flags, "-")
    assert refused.code == 2
    assert "line 1 of standard input" in refused.stderr


def test_a_seed_is_no_larger_than_every_generator_takes(run):
    for flags in (("--check",), ()):
        ended = run("imbalance", "--counts", "50,30,20", "--seed", 10**22, *flags)
        assert (ended.code, ended.stdout) == (2, "")
        assert "--seed" in ended.stderr


@pytest.mark.slow
def test_more_dimensions_than_make_a_difference_are_refused_before_training(run):
    pytest.importorskip("torch")
    answer = run("check", "--props", ".6,.4", "--steps", "2", "--batch", "4", "--dim", str(2**53))
    assert (answer.code, answer.stdout) == (2, "")
    assert "at most 4,096" in answer.stderr
