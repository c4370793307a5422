"""Gradient descent against the certified prediction: the whole way, the verdicts, the command."""

from __future__ import annotations

import dataclasses
import importlib.util
import json
import math

import numpy as np
import pytest
from click.testing import CliRunner

torch = pytest.importorskip("torch")

from geomsolve import Imbalance, InputError, Realizable, solve  # noqa: E402
from geomsolve.analyses.check import Descent, Prediction, check, judge  # noqa: E402
from geomsolve.cli.main import cli, main  # noqa: E402
from geomsolve.descent import experiments  # noqa: E402
from geomsolve.losses import make_loss  # noqa: E402
from geomsolve.questions.check import Check, CheckWeighting  # noqa: E402


@pytest.fixture
def rough(monkeypatch):
    """Values from few draws: their standard errors say how rough they are."""
    monkeypatch.setattr(experiments, "MOST_DRAWS", 2**16)


TEN = [
    {"props": (0.5, 0.3, 0.2), "loss": {"name": "supcon", "temperature": 0.5}},
    {"props": (0.95, 0.025, 0.025), "loss": {"name": "supcon", "temperature": 1.0}},  # collapsed minorities
    {"props": (0.4, 0.3, 0.2, 0.1), "loss": {"name": "supcon", "temperature": 0.5, "batch": 16}},
    {"counts": (6, 3, 3), "loss": {"name": "supcon", "temperature": 0.5, "full_batch": True}},
    {"props": (0.5, 0.3, 0.2), "loss": {"name": "nt-xent", "temperature": 0.5, "batch": 16}},
    {"props": (0.7, 0.2, 0.1), "loss": {"name": "infonce", "temperature": 0.5, "negatives": 8, "form": "mean"}},
    {"props": (0.7, 0.2, 0.1), "loss": {"name": "dcl", "temperature": 0.5, "sampling": "supervised"}},
    {"props": (0.7, 0.2, 0.1), "loss": {"name": "soft-supcon", "temperature": 0.5, "epsilon": 0.01}},
    {"props": (0.5, 0.3, 0.2), "loss": {"name": "triplet", "margin": 1.8}},
    {"props": (0.6, 0.25, 0.15), "loss": {"name": "sigmoid", "temperature": 0.5, "bias": 1.0}},
    {"props": (0.5, 0.3, 0.2), "loss": {"name": "spectral"}},
    {"props": (0.5, 0.3, 0.2), "loss": {"name": "pairwise", "psi": "exp(2*x)", "sampling": "iid"}},
    {"props": (0.5, 0.3, 0.2), "loss": {"name": "align-uniform"}},
    {"props": (0.5, 0.3, 0.2), "loss": {"name": "weince", "temperature": 0.5, "delta": 0.1}},
    {"props": (0.5, 0.3, 0.2), "loss": {"name": "contrastive", "neg_margin": -0.8}},
    {"props": (0.5, 0.3, 0.2), "loss": {"name": "lifted-structure", "negatives": 4}},
    {"props": (0.5, 0.3, 0.2), "loss": {"name": "soft-margin-triplet", "temperature": 0.5}},
    {"props": (0.5, 0.3, 0.2), "loss": {"name": "multi-similarity", "temperature": 0.5, "negatives": 4}},
    {"props": (0.5, 0.3, 0.2), "loss": {"name": "n-pair", "temperature": 0.5}},
    {"props": (0.5, 0.3, 0.2), "loss": {"name": "supcon-in", "temperature": 0.5}},
]


@pytest.mark.slow
@pytest.mark.parametrize("problem", TEN, ids=[str(p["loss"]["name"]) for p in TEN])
def test_descent_reaches_the_prediction_and_never_beats_the_bound(problem):
    report = check(Check(**problem, device="cpu"))
    assert report.prediction.certified
    assert report.prediction.unique is True
    assert report.verdict == "agrees"
    assert report.exit_code == 0
    assert report.max_gram_error < 0.05
    found = report.descent
    assert found.within_class < 0.01
    assert found.standard_error < 4e-4
    assert abs(found.value - report.prediction.value) < 1e-3
    assert found.value + 4 * found.standard_error > report.prediction.lower_bound - 1e-9


def test_all_loss_families_are_among_the_problems():
    from geomsolve.losses import REGISTRY, ClassifierLoss

    elsewhere = {"bcl", "kcl", "tsc", "contrastive-distance"}  # more closely, with presets and losses of distances
    assert {p["loss"]["name"] for p in TEN} | elsewhere == {
        name for name, cls in REGISTRY.items() if not issubclass(cls, ClassifierLoss)
    }


@pytest.mark.slow
@pytest.mark.parametrize("optimizer", ["sgd", "lbfgs"])
def test_other_optimisers_arrive_too(optimizer):
    loss = {"name": "supcon", "temperature": 0.5}
    report = check(Check(props=(0.7, 0.2, 0.1), loss=loss, device="cpu", optimizer=optimizer))
    assert report.agrees
    assert report.max_gram_error < 1e-4
    assert report.descent.optimizer == optimizer


@pytest.mark.slow
def test_pytorch_metric_learning_arrives_too():
    for problem in (
        {"props": (0.5, 0.3, 0.2), "loss": {"name": "supcon", "temperature": 0.5, "batch": 12}},
        {"counts": (6, 3, 3, 1), "loss": {"name": "supcon", "temperature": 0.5, "full_batch": True}},
    ):
        assert check(Check(**problem, device="cpu", implementation="pml")).agrees


@pytest.mark.slow
@pytest.mark.parametrize(
    "problem",
    [
        {"weighting": "yaware", "labels": (20, 25, 30), "sigma": 5},
        {"weighting": "yaware", "labels": (20, 25, 30), "sigma": 5, "normalise": "columns"},
        {"weighting": "yaware", "labels": (1.0, 2.0, 4.0, 2.0), "self_pairs": "exclude"},
        {"weighting": "supcon", "labels": "classes:4,2,1"},
        {"weighting": "soft-supcon", "labels": "classes:4,2,1", "epsilon": 0.01},
        {"weighting": "xclr", "labels": "circle:4"},
        {"weighting": "custom", "weights": ((1, 0.5, 0.2), (0.5, 1, 0.1), (0.2, 0.1, 1))},
    ],
    ids=lambda p: "-".join(str(x) for x in p.values())[:40],
)
def test_weightings_are_reached(problem):
    report = check(CheckWeighting(**problem, temperature=0.5, device="cpu", optimizer="lbfgs", steps=2000))
    assert report.prediction.certified
    assert report.verdict == "agrees"
    scale = max(1.0, abs(report.prediction.value))
    assert abs(report.descent.value - report.prediction.value) < 1e-6 * scale
    assert report.descent.value >= report.prediction.lower_bound - 1e-9 * scale
    if report.prediction.unique:
        assert report.max_gram_error < 1e-2


def test_euclidean_latents_are_reached():
    problem = CheckWeighting(weighting="euclidean", labels=(0, 1, 3), temperature=0.5, device="cpu", optimizer="lbfgs")
    report = check(problem)
    assert report.agrees
    y = np.array([0.0, 1.0, 3.0])
    np.testing.assert_allclose(report.descent.gram, 0.5 * (y[:, None] - y) ** 2, atol=1e-3)  # tau |y - y'|^2 / sigma^2


@pytest.mark.slow
@pytest.mark.usefixtures("rough")
def test_same_seed_same_answer():
    problem = {"props": (0.6, 0.4), "loss": {"name": "infonce", "negatives": 2}, "steps": 30, "device": "cpu"}
    one, other = check(Check(**problem)), check(Check(**problem))
    assert one.descent.value == other.descent.value
    assert np.array_equal(one.descent.gram, other.descent.gram)
    assert check(Check(**problem, seed=1)).descent.value != one.descent.value


def test_torchs_settings_are_put_back():
    before = torch.get_num_threads(), torch.are_deterministic_algorithms_enabled()
    check(Check(props=(0.6, 0.4), steps=5, device="cpu"))
    assert (torch.get_num_threads(), torch.are_deterministic_algorithms_enabled()) == before


# ---- verdicts


def prediction(**changes):
    report = solve(Imbalance(props=(0.5, 0.3, 0.2), loss={"name": "supcon", "temperature": 0.5}))
    return dataclasses.replace(Prediction.of_loss(report), **changes)


def descent(**changes):
    exact = prediction()
    same = Descent(exact.value, 0.0, exact.gram, 0.0, 10, True, 0.1, "cpu", "adam", 64, 3)
    return dataclasses.replace(same, **changes)


def test_loss_below_the_bound_is_a_contradiction():
    exact = prediction()
    assert judge(exact, descent(), 0.0) == "agrees"
    assert judge(exact, descent(value=exact.lower_bound - 1e-8), 0.0) == "contradiction"
    assert judge(exact, descent(value=exact.lower_bound - 1e-11), 0.0) == "agrees"  # rounding
    assert judge(exact, descent(value=exact.lower_bound - 1e-3, standard_error=2.6e-4), 0.0) == "agrees"
    assert judge(exact, descent(value=exact.lower_bound - 1e-3, standard_error=2.4e-4), 0.0) == "contradiction"


def test_anything_else_than_the_predicted_optimum_does_not_agree():
    exact = prediction()
    seen = exact.value + 1e-6
    assert judge(exact, descent(value=seen), 0.06) == "elsewhere"
    assert judge(exact, descent(value=seen, converged=False), 0.06) == "not there yet"
    assert judge(exact, descent(value=seen, within_class=0.06), 0.0) == "elsewhere"
    assert judge(exact, descent(value=exact.value + 2e-3), 0.0) == "elsewhere"
    assert judge(prediction(unique=False), descent(), 0.9) == "agrees"
    assert judge(prediction(unique=False), descent(value=exact.value + 2e-3), 0.0) == "elsewhere"


def test_what_the_loss_shows_only_beyond_single_precision_is_open():
    exact = prediction()
    for changes in ({}, {"converged": False}, {"within_class": 0.06}):
        assert judge(exact, descent(value=exact.value + 1e-7, **changes), 0.06) == "agrees"
    assert judge(exact, descent(value=exact.value, standard_error=1e-3), 0.06) == "elsewhere"  # nobody knows the loss
    unproven = dataclasses.replace(exact, certified=False)
    assert judge(unproven, descent(), 0.06) == "elsewhere"


@pytest.mark.slow
def test_descent_ends_where_single_precision_sees_no_more():
    """Two balanced classes at temperature .1: at 130 degrees the loss is 1e-7 above the optimum."""
    from geomsolve.cli.commands.check import sentence

    report = check(Check(counts=(5, 5), samples=8, device="cpu"))
    assert report.verdict == "agrees"
    assert report.exit_code == 0
    assert report.descent.converged
    assert report.descent.steps < 5000
    assert abs(report.descent.value - math.log(0.5 + 0.5 * math.exp(-20))) < 1.2e-7
    assert report.open == (report.max_gram_error > 0.05)
    unlike = dataclasses.replace(report, max_gram_error=0.35)
    assert "reaches the predicted loss to single precision, which leaves the angles open" in sentence(unlike)


def test_open_angles_are_asked_of_nobody():
    """Not even of a weighting, whose optimum is the only one but may not be resolved either."""
    for unique in (True, None):
        cold = prediction(resolved=False, unique=unique)
        assert judge(cold, descent(), 0.9) == "agrees"
        assert judge(cold, descent(value=cold.value + 2e-3), 0.0) == "elsewhere"


@pytest.mark.parametrize("verdict", ["agrees", "not there yet", "elsewhere"])
def test_words_on_open_angles_speak_of_the_loss(verdict):
    from geomsolve.analyses.check_report import CheckReport
    from geomsolve.cli.commands.check import pairs_table, sentence, what_to_do

    cold = solve(Imbalance(props=(0.7, 0.2, 0.1), loss={"name": "supcon", "temperature": 0.001}))
    known = Prediction.of_loss(cold)
    assert not known.determined
    report = CheckReport({}, known, descent(value=known.value + 0.5, dim=1), 0.9, verdict, verdict == "agrees", None)
    words = sentence(report)
    assert words.endswith("the angles are not determined at temperature 0.001: supcon hardly depends on them.")
    assert "predicted loss" in words
    assert "geometry" not in words + what_to_do(report)
    assert "0.9" not in words
    assert [str(column.header) for column in pairs_table(report).columns][1] == "one of many"


def test_words_on_many_optima_speak_of_the_loss():
    from geomsolve.analyses.check_report import CheckReport
    from geomsolve.cli.commands.check import sentence

    for unique, goal in ((True, "geometry (largest"), (False, "loss."), (None, "loss.")):
        report = CheckReport({}, prediction(unique=unique), descent(), 0.9, "elsewhere", False, None)
        assert f"but not to the predicted {goal}" in sentence(report)


@pytest.mark.slow
def test_wrong_prediction_would_be_caught(monkeypatch):
    """The whole way with a bound that is too high by 1e-6: the check must cry."""
    import geomsolve.analyses.check as module

    honest = module.geometry
    monkeypatch.setattr(
        module,
        "geometry",
        lambda p: dataclasses.replace(
            r := honest(p), proof=dataclasses.replace(r.proof, lower_bound=r.value + 1e-6, gap=-1e-6)
        ),
    )
    report = check(Check(props=(0.5, 0.3, 0.2), loss={"name": "supcon", "temperature": 0.5}, device="cpu"))
    assert report.verdict == "contradiction"
    assert report.agrees is False
    assert report.exit_code == 1


@pytest.mark.slow
def test_limited_dimension_is_compared_with_the_best_found_there():
    report = check(Check(counts=(4, 4, 4, 4), loss="spectral", dim=2, device="cpu"))
    assert report.verdict == "agrees"
    assert not report.prediction.certified  # the bound is that of all dimensions
    assert report.exit_code == 1
    assert report.descent.value > report.prediction.lower_bound + 0.01
    assert np.linalg.matrix_rank(report.descent.gram, tol=1e-6) == 2
    assert report.descent.dim == 2


# ---- companions


def test_plain_losses_of_companions():
    assert make_loss("supcon", {}).plain() == (make_loss("supcon", {}), None)
    plain, added = make_loss("infonce", {"hardness": 2.0}).plain()
    assert plain == make_loss("infonce", {})
    assert "hardness 2" in added
    plain, added = make_loss("weince", {"sampling": "supervised"}).plain()
    assert plain == make_loss("infonce", {"form": "mean", "sampling": "supervised"})
    assert "batch" in added
    assert make_loss("weince", {"delta": 0.1}).plain()[1] is None


@pytest.mark.slow
def test_hard_negatives_end_where_the_local_searches_end():
    loss = {"name": "infonce", "temperature": 0.5, "hardness": 2.0, "sampling": "supervised"}
    report = check(Check(props=(0.5, 0.3, 0.2), loss=loss, device="cpu"))
    local = solve(Imbalance(props=(0.5, 0.3, 0.2), loss=loss))
    assert report.verdict == "moved"
    assert report.agrees is None
    assert report.exit_code == 1
    assert np.abs(report.descent.gram - local.gram).max() < 1e-3
    assert report.descent.value == pytest.approx(local.value, abs=1e-8)
    assert report.max_gram_error == pytest.approx(np.abs(local.gram - report.prediction.gram).max(), abs=1e-3)


@pytest.mark.slow
@pytest.mark.usefixtures("rough")
@pytest.mark.parametrize(
    "problem",
    [
        {"loss": {"name": "infonce", "negatives": 8, "sampling": "supervised"}, "synthetic": "synco"},
        {"loss": {"name": "dcl", "negatives": 4}, "synthetic": "synco:1,6"},
        {"loss": {"name": "infonce", "negatives": 8, "hardness": 1.0}},
        {"loss": {"name": "weince"}},
    ],
)
def test_companions_are_answered_but_never_certified(problem):
    report = check(Check(props=(0.6, 0.25, 0.15), **problem, steps=20, device="cpu"))
    assert report.verdict == "moved"
    assert report.companion
    assert report.prediction.certified  # of the plain loss
    assert report.exit_code == 1
    assert np.isfinite(report.descent.value)


# ---- bad input


@pytest.mark.parametrize(
    ("problem", "field", "part"),
    [
        ({"loss": {"name": "supcon"}, "synthetic": "synco"}, "synthetic", "--negatives"),
        ({"loss": {"name": "infonce", "negatives": 4}, "synthetic": "synco:9"}, "synthetic", "'9'"),
        ({"loss": {"name": "supcon"}, "implementation": "pml"}, "implementation", "batch"),
        ({"loss": {"name": "supcon", "batch": 4}, "optimizer": "lbfgs"}, "optimizer", "random batches"),
        ({"loss": {"name": "supcon", "full_batch": True}}, "loss.full_batch", "counts"),
        ({"samples": 50_000}, "samples", "20,000"),
        ({"loss": {"name": "nope"}}, "loss.name", "known"),
    ],
)
def test_bad_questions_are_refused(problem, field, part):
    with pytest.raises(InputError, match=part) as caught:
        check(Check(props=(0.5, 0.3, 0.2), **problem, device="cpu"))
    assert caught.value.field == field


@pytest.mark.parametrize(
    ("problem", "part"),
    [
        ({"device": "tpu"}, "cuda"),
        ({"steps": 0}, "at least 1"),
        ({"optimizer": "newton"}, "lbfgs"),
        ({"implementation": "pml", "synthetic": "synco"}, "pml"),
    ],
)
def test_bad_settings_are_refused(problem, part):
    with pytest.raises(InputError, match=part):
        Check(props=(0.5, 0.5), **problem)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a device")
def test_absent_device_is_one_message():
    with pytest.raises(InputError, match="no CUDA device"):
        check(Check(props=(0.5, 0.5), device="cuda"))


def test_without_torch_the_message_says_what_to_install(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(InputError, match=r"pip install 'geomsolve\[torch\]'"):
        check(Check(props=(0.5, 0.5)))


def test_weightings_that_cannot_be_trained_are_refused():
    with pytest.raises(InputError, match="labels"):
        CheckWeighting(weighting="yaware")
    with pytest.raises(InputError, match="missing"):
        check(CheckWeighting(weighting="custom", weights=((1, None), (None, 1)), device="cpu"))
    with pytest.raises(InputError, match="apart"):
        check(CheckWeighting(weighting="supcon", labels="classes:2,2", similarity="euclidean", device="cpu"))


# ---- a question and a training


def test_check_of_a_question_is_the_check_that_is_written_flat():
    question = Imbalance(counts=(3, 2), names=("a", "b"), loss={"name": "spectral"}, seed=3, dim=1)
    flat = Check(counts=(3, 2), names=("a", "b"), loss="spectral", seed=3, dim=1, steps=7, samples=20)
    assert flat.question == question
    assert (
        flat
        == Check(question=question, training={"steps": 7, "samples": 20})
        == Check(question=question, steps=7, samples=20)
    )
    assert (flat.training.steps, flat.training.device, flat.seed) == (7, "auto", 3)
    question = Realizable(weighting="yaware", labels=(1, 2), sigma=2, temperature=0.5, tolerance=1e-4)
    flat = CheckWeighting(weighting="yaware", labels=(1, 2), sigma=2, temperature=0.5, tolerance=1e-4, optimizer="sgd")
    assert flat.question == question
    assert flat == CheckWeighting(question=question, training={"optimizer": "sgd"})
    assert flat.tolerance == 1e-4


def test_check_is_written_flat():
    why = {"title": "t", "why": "w", "expect": {"verdict": "agrees"}}
    check = Check(props=(0.7, 0.3), loss={"name": "supcon", "temperature": 0.5}, steps=9, **why)
    assert check.model_dump(exclude_defaults=True) == {
        "props": (0.7, 0.3),
        "loss": {"temperature": 0.5},
        "steps": 9,
        "title": "t",
        "why": "w",
        "expect": {"verdict": "agrees"},
    }
    assert Check(**check.model_dump()) == check
    assert check.question.why is None


def test_every_complaint_about_a_check_names_its_flat_key():
    with pytest.raises(InputError) as caught:
        Check(props=(0.5,), steps=0, device="tpu")
    assert {caught.value.field, *(each.field for each in caught.value.rest)} == {"props", "steps", "device"}
    with pytest.raises(InputError, match="did you mean 'steps'") as caught:
        Check(props=(0.5, 0.5), stepz=3)
    assert caught.value.field == "stepz"
    with pytest.raises(InputError, match="unknown key") as caught:
        CheckWeighting(weighting="yaware", labels=(1, 2), samples=8)  # of a loss
    assert caught.value.field == "samples"


def test_problem_file_of_a_check_is_refused_with_its_place(tmp_path, run):
    file = tmp_path / "a.yaml"
    file.write_text("kind: check\nprops: [0.5, 0.5]\nloss: {name: supcon, margin: 1}\nsteps: 10\n")
    shown = run("validate", file)
    assert shown.code == 2
    assert f"{file}:3:22: loss.margin: " in shown.stdout + shown.stderr
    file.write_text("kind: check_weighting\nweighting: yaware\nlabels: [1, 2]\nkernle: linear\nsteps: 0\n")
    shown = run("validate", file)
    assert shown.code == 2
    assert f"{file}:4:1: kernle: unknown key; did you mean 'kernel'?" in shown.stdout + shown.stderr
    assert f"{file}:5:1: steps: " in shown.stdout + shown.stderr


TRAINED = "device: cpu\noptimizer: lbfgs\nexpect: {verdict: agrees}\n"


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        "kind: check\nprops: [0.6, 0.4]\nloss: supcon\ngrid: {loss.temperature: [0.5, 1]}\n",
        "kind: check_weighting\nweighting: yaware\nlabels: [20, 25, 30]\ntemperature: 0.5\ngrid: {sigma: [5, 6]}\n",
    ],
)
def test_problem_files_of_checks(tmp_path, run, text):
    file = tmp_path / "a.yaml"
    file.write_text(text + TRAINED)
    shown = run("batch", file, "--jobs", 1, "--json")
    rows = [json.loads(line) for line in shown.stdout.splitlines()]
    assert [row["status"] for row in rows] == ["ok", "ok"]
    assert rows[0]["problem"]["optimizer"] == "lbfgs"
    assert not {"question", "training"} & set(rows[0]["problem"])


# ---- the command


def run(*arguments):
    return CliRunner().invoke(cli, list(arguments), standalone_mode=False)


@pytest.mark.slow
def test_command_agrees_in_words_and_json(tmp_path):
    arguments = ("check", "--props", "0.5,0.3,0.2", "-t", "0.5", "--device", "cpu", "--names", "a,b,c")
    out = tmp_path / "answer.json"
    shown = run(*arguments, "--out", str(out))
    assert shown.return_value == 0
    assert shown.output.startswith("Descent agrees")
    for part in ("a and b", "predicted", "reached", "proven", "64 free features in 3 dimensions"):
        assert part in shown.output
    answer = json.loads(out.read_text())
    assert {"prediction", "descent", "max_gram_error", "agrees", "problem", "versions", "schema"} <= set(answer)
    assert {"value", "lower_bound", "gram"} <= set(answer["prediction"])
    assert {"value", "gram", "within_class", "steps", "seconds", "device"} <= set(answer["descent"])
    assert answer["command"] == "check"
    assert answer["agrees"] is True
    assert answer["problem"]["samples"] == 64
    assert run(*arguments, "--quiet").output.count("\n") <= 2


def test_command_says_how_far_it_got():
    shown = run("check", "--props", "0.7,0.2,0.1", "--steps", "3", "--device", "cpu")
    assert shown.return_value == 1
    assert "Not there yet" in shown.output
    assert "--steps" in shown.output


def test_command_on_a_weighting():
    arguments = ("--weighting", "yaware", "--labels", "20,25,30", "--sigma", "5", "-t", "0.5")
    shown = run("check", *arguments, "--device", "cpu")
    assert shown.return_value == 0
    assert "labels 20 and 30" in shown.output


@pytest.mark.slow
@pytest.mark.parametrize(
    ("flags", "quantity"),
    [
        ("--props 0.6,0.3,0.1", "cosine"),
        ("--weighting yaware --labels 20,25,32 --similarity euclidean --sigma 5", "squared distance"),
    ],
)
def test_the_picture_shows_reached_against_predicted(tmp_path, flags, quantity):
    pytest.importorskip("matplotlib")
    from geomsolve.plots import draw

    picture = tmp_path / "a.svg"
    arguments = (*flags.split(), "-t", "0.5", "--steps", "30", "--device", "cpu", "--json", "--plot", str(picture))
    answer = json.loads(run("check", *arguments).output)
    assert picture.read_bytes().startswith(b"<?xml")
    (axes,) = draw(answer).axes
    pairs, worst = axes.collections
    drawn = np.asarray(pairs.get_offsets())
    for side, part in enumerate(("prediction", "descent")):
        assert drawn[:, side] == pytest.approx(np.array(answer[part]["gram"])[np.triu_indices(3, 1)])
    assert np.abs(np.diff(worst.get_offsets())).item() == pytest.approx(answer["max_gram_error"])
    assert axes.get_xlabel() == f"predicted {quantity}"


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (("--props", "0.5,0.5", "--sigma", "2"), "--sigma: this belongs to a weighting"),
        (("--weighting", "yaware", "--labels", "1,2", "--batch", "4"), "--batch: this belongs to a loss"),
        (("--props", "0.5,0.5", "--optimizer", "newton"), "--optimizer"),
        (("--props", "0.5,0.5", "--synthetic", "synco"), "--synthetic"),
        ((), "props"),
    ],
)
def test_command_refuses_in_one_line(arguments, part, capsys, monkeypatch):
    monkeypatch.setattr("sys.argv", ["geomsolve", "check", *arguments])
    with pytest.raises(SystemExit) as caught:
        main()
    assert caught.value.code == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert part in shown.err
    assert shown.err.count("\n") == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (("imbalance", "--props", "0.5,0.3,0.2", "-t", "0.5"), "Imbalance bends"),
        (("realizable", "--weighting", "yaware", "--labels", "20,25,30", "--sigma", "5", "-t", "0.5"), "Inconsistent"),
    ],
)
def test_check_as_a_flag(arguments, part):
    shown = run(*arguments, "--check")
    assert shown.return_value == 0
    assert part in shown.output
    assert "Descent agrees" in shown.output
    answer = json.loads(run(*arguments, "--check", "--json").output)
    assert answer["check"]["agrees"] is True
    assert "check" not in json.loads(run(*arguments, "--json").output)


# ---- what a network can be held to


@pytest.mark.slow
def test_check_says_how_far_a_network_may_be(run):
    """Published: at temperature .1 and 1e-4 nats the cosine of classes 2 and 3 may be up to .1999083449."""
    flags = ("check", "--props", "0.7,0.2,0.1", "--optimizer", "lbfgs", "--samples", 24)
    answer = run(*flags, "-t", "0.1", "--json").json
    loosest = answer["loosest"]
    assert loosest["slack"] == 1e-4
    assert loosest["classes"] == ["2", "3"]
    assert loosest["high"] == pytest.approx(0.1999083449, abs=1e-8)
    assert loosest["high"] >= 0.1999083449 - 1e-10
    assert loosest["width"] == pytest.approx(loosest["high"] - loosest["low"])
    words = " ".join(run(*flags, "-t", "0.1").stdout.split())
    assert "no evidence for a network" in words
    words = " ".join(run(*flags, "-t", "0.5").stdout.split())
    assert "may be -0.233 to -0.157" in words
    assert "no evidence" not in words


def test_check_of_what_has_no_range_says_nothing_about_networks(run):
    done = run("check", "--props", "0.6,0.4", "--loss", "infonce", "--hardness", 1, "--steps", 50, "--json")
    assert done.json["loosest"] is None
    done = run("check", "--weighting", "yaware", "--labels", "20,25", "--sigma", 5, "--steps", 50, "--json")
    assert done.json["loosest"] is None


def test_dimensions_that_make_no_difference_are_refused_before_they_are_trained(run):
    refused = run("imbalance", "--props", "0.7,0.2,0.1", "--check", "--dim", 100_000)
    assert refused.code == 2
    assert "--dim: 100,000 dimensions are more than can be trained" in " ".join(refused.stderr.split())


def test_windows_that_bounce_above_the_bound_end_the_training():
    """Every second window is above that before it, none is below the least by a tenth."""
    from geomsolve.descent.train import WINDOWS, _Excess

    excess = _Excess(0.0)
    ended = [excess.done(mean) for mean in [1e-8, 2e-8] * WINDOWS]
    assert ended.index(True) == WINDOWS  # the first is below all that was
    falling = _Excess(0.0)
    assert not any(falling.done(1e-8 * 0.85**n) for n in range(40))


def test_training_far_below_the_goal_goes_on():
    """A goal that was only found may be beaten: then there is no end before steps run out or samples wander."""
    from geomsolve.descent.train import WINDOWS, _Excess

    below = _Excess(0.0)
    assert not any(below.done(-1e-3 * n) for n in range(4 * WINDOWS))
    at = _Excess(0.0)
    assert [at.done(-1e-9) for _ in range(2 * WINDOWS)].index(True) == WINDOWS


@pytest.mark.slow
def test_in_few_dimensions_training_ends_where_the_best_found_is_reached():
    """Forty classes in a plane: the loss is flat around the best that is known there; 13,200 steps are no better."""
    report = check(Check(props=(1 / 40,) * 40, dim=2, device="cpu"))
    assert report.descent.converged
    assert report.descent.steps < 6_000
    assert report.verdict == "agrees"


@pytest.mark.parametrize(
    "arguments",
    [
        ("imbalance", "--props", "0.6,0.4", "--check"),
        ("realizable", "--weighting", "yaware", "--labels", "20,25", "--sigma", "5", "--check"),
    ],
)
def test_the_flag_does_not_solve_twice(arguments, monkeypatch):
    import geomsolve.analyses.check as module

    class TrainedError(Exception):
        pass

    def trained(problem, sides, progress):
        raise TrainedError

    def again(problem):
        raise AssertionError("solved again")

    monkeypatch.setattr(module, "geometry", again)
    monkeypatch.setattr(module, "realizable", again)
    monkeypatch.setattr(module, "run", trained)
    assert isinstance(CliRunner().invoke(cli, arguments).exception, TrainedError)
