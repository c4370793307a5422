"""Settings that make a loss value a level: closed forms, theorems about courses, then the command as a user runs it."""

from __future__ import annotations

from math import exp, log

import numpy as np
import pytest
from scipy.optimize import brentq

from geomsolve import InputError, solve
from geomsolve.analyses.find_levels import LEVELS, Path
from geomsolve.analyses.scales import Setting
from geomsolve.cli.again import command_of
from geomsolve.losses import find_loss
from geomsolve.proof.places import places, whole_places
from geomsolve.questions.levels import Levels


def matches(answer, level):
    return [match for match in answer["matches"] if match["level"] == level]


def only(answer, level):
    (match,) = matches(answer, level)
    return match


STUCK = ("--views", 2, "-t", 0.1, "--classes", 6)


def test_the_batch_that_makes_a_value_the_collapse(run):
    """.1 / .07 log(2 64 - 1) = 6.92027."""
    flags = ("levels", "--find", "batch", "--loss-value", 6.92027, "--base-temperature", 0.07, *STUCK)
    ended = run(*flags, "--json")
    assert ended.code == 0
    match = only(ended.json, "collapse")
    assert (match["over"], match["value"], match["low"], match["high"]) == ("batch", 64, 64, 64)
    assert run(*flags).stdout.startswith("6.92027 is total collapse at batch 64.")
    (missed,) = [miss for miss in ended.json["misses"] if miss["level"] == "optimum"]
    assert missed["certain"]
    for near in missed["nearest"]:
        m = 2 * near["value"] / 6
        best = log((m - 1) + 5 * m * exp(-6 / 5 / 0.1)) / 0.7
        assert near["level"] == pytest.approx(best, rel=1e-9)
        assert abs(best - 6.92027) > 5e-6


def test_a_factor_that_is_missing_is_told(run):
    flags = ("levels", "--find", "batch", "--loss-value", 6.92027, *STUCK)
    ended = run(*flags, "--json")
    assert ended.json["matches"] == []
    wanted = {"level": "collapse", "over": "batch", "value": 64, "base_temperature": 0.07}
    assert wanted in ended.json["other_scale"]
    text = " ".join(run(*flags).stdout.split())
    assert "total collapse at batch size 64 with temperature / 0.07: that factor is missing in your scale" in text
    assert "No batch size from 6 to 1,073,741,824 makes 6.92027 total collapse" in text
    # where it stands as given
    base = run("levels", "--find", "base-temperature", "--loss-value", 6.92, "--batch", 64, *STUCK)
    there = " ".join(base.stdout.split())
    assert "6.92 is total collapse at base temperature 0.07," in there
    assert "with temperature / 0.07: that factor is missing in your scale" in there
    # and the other way round: log 127 = 4.8442 is collapse without it
    flags = ("levels", "--find", "temperature", "--loss-value", 4.8442, "--batch", 64, *STUCK)
    much = run(*flags, "--base-temperature", 0.07)
    assert "total collapse at temperature 0.1 without temperature / 0.07" in " ".join(much.stdout.split())
    # nothing is missing where the value is a level as it is
    fits = run("levels", "--find", "batch", "--loss-value", 6.92027, "--base-temperature", 0.07, *STUCK, "--json").json
    assert fits["other_scale"] == []


def test_many_batches_within_few_digits(run):
    answer = run("levels", "--find", "batch", "--loss-value", "10.0", "--base-temperature", 0.1, *STUCK, "--json").json
    match = only(answer, "collapse")
    low = int(np.ceil((exp(9.95) + 1) / 2))
    high = int(np.floor((exp(10.05) + 1) / 2))
    assert (match["low"], match["high"]) == (low, high)
    assert abs(match["value"] - (exp(10) + 1) / 2) <= 0.5


def test_temperatures_to_full_precision(run):
    flags = ("levels", "--find", "temperature", "--loss-value", 6.92, "--batch", 64, "--classes", 6)
    answer = run(*flags, "--base-temperature", 0.07, "--json").json
    assert only(answer, "collapse")["value"] == pytest.approx(6.92 * 0.07 / log(127), rel=1e-12)
    assert only(answer, "collapse")["low"] == pytest.approx(6.915 * 0.07 / log(127), rel=1e-9)
    m = 128 / 6
    best = brentq(lambda t: t / 0.07 * log((m - 1) + 5 * m * exp(-6 / 5 / t)) - 6.92, 0.05, 1, xtol=1e-15)
    assert only(answer, "optimum")["value"] == pytest.approx(best, rel=1e-9)
    assert only(answer, "optimum")["certified"]
    again = run("levels", "--batch", 64, "--classes", 6, "--base-temperature", 0.07, "--json",
                "-t", only(answer, "random_start")["value"]).json  # fmt: skip
    assert again["random_start"] == pytest.approx(6.92, rel=1e-9)


def test_what_does_not_depend_on_the_setting(run):
    flags = ("levels", "--find", "temperature", "--batch", 64, "--classes", 6, "--loss-value")
    assert only(run(*flags, 4.84419, "--json").json, "collapse")["any"]
    assert "total collapse at any temperature" in run(*flags, 4.84419).stdout
    assert "it is 4.844187 whatever the setting" in run(*flags, 6.92).stdout


def test_the_base_temperature_divides(run):
    answer = run("levels", "--find", "base-temperature", "--loss-value", 6.92, "--batch", 64, *STUCK, "--json").json
    for level, value in (("collapse", log(127)), ("optimum", log(61 / 3 + 320 / 3 * exp(-12)))):
        assert only(answer, level)["value"] == pytest.approx(0.1 * value / 6.92, rel=1e-9)
    none = run("levels", "--find", "base-temperature", "--loss-value", -1, "--batch", 64, *STUCK, "--json").json
    assert none["matches"] == []
    assert all(miss["certain"] for miss in none["misses"])


def sigma(x):
    return 1 / (1 + exp(-x))


def test_the_best_bias(run):
    """At the simplex of 256 pairs the slopes of both halves cancel: sigma(b - 10) = 255 sigma(-10/255 - b)."""
    flags = ("levels", "--find", "bias", "--loss", "sigmoid", "--batch", 256, "-t", 0.1)
    answer = run(*flags, "--json").json
    best = brentq(lambda b: sigma(b - 10) - 255 * sigma(-10 / 255 - b), 0, 20, xtol=1e-14)
    value = log(1 + exp(best - 10)) + 255 * log(1 + exp(-10 / 255 - best))
    assert answer["best"]["value"] == pytest.approx(best, abs=1e-6)
    assert answer["best"]["optimum"] == pytest.approx(value, rel=1e-10)
    assert answer["best"]["certified"]
    assert "The optimum is smallest, 0.2055267, at subtracted bias 7.8035" in run(*flags).stdout


def test_biases_of_a_value(run):
    """The two-tower optimum of 256 pairs at bias 0 is 2.283403852; a convex function has a value twice."""
    flags = ("levels", "--find", "bias", "--loss", "sigmoid", "--batch", 256, "-t", 0.1, "--loss-value")
    first, second = matches(run(*flags, 2.283403852, "--json").json, "optimum")
    assert first["value"] == pytest.approx(0, abs=1e-7)
    simplex = log(1 + exp(second["value"] - 10)) + 255 * log(1 + exp(-10 / 255 - second["value"]))
    assert simplex == pytest.approx(2.283403852, rel=1e-9)
    # total collapse is least where e^(b - 10) = 255
    least = log(256) + 255 * log(1 + 1 / 255)
    below = run(*flags, f"{least - 0.01:.4f}", "--json").json
    assert matches(below, "collapse") == []
    assert next(miss for miss in below["misses"] if miss["level"] == "collapse")["certain"]
    assert len(matches(run(*flags, f"{least + 0.01:.4f}", "--json").json, "collapse")) == 2
    text = " ".join(run(*flags, 0.001).stdout.split())
    assert text.startswith("No subtracted bias from -1,000,000 to 1,000,000 makes 0.001 total collapse")


def test_numbers_of_negatives(run):
    """log 32 = 3.4657 is 3.47 to its last digit, and not 3.470."""
    flags = ("levels", "--find", "negatives", "--loss", "infonce", "-t", 0.1, "--json", "--loss-value")
    assert only(run(*flags, "3.47").json, "collapse")["value"] == 31
    answer = run(*flags, "3.470").json
    assert matches(answer, "collapse") == []
    (missed,) = [miss for miss in answer["misses"] if miss["level"] == "collapse"]
    assert [near["value"] for near in missed["nearest"]] == [31, 32]
    assert missed["certain"]
    mean = run(*flags, "0.7", "--form", "mean").json
    assert next(miss for miss in mean["misses"] if miss["level"] == "collapse")["least"] == pytest.approx(log(2))


@pytest.mark.slow
def test_batches_are_drawn_as_levels_draws_them(run):
    """Counts 110, 7, 7 at batch 64: 4.470 without replacement, 4.477 with."""
    flags = ("levels", "--find", "batch", "--counts", "110,7,7", "-t", 0.5, "--json", "--loss-value")
    without = run(*flags, "4.470").json
    assert only(without, "optimum")["value"] == 64
    assert {miss["high"] for miss in without["misses"]} == {124}
    with_ = only(run(*flags, "4.477", "--replacement", "yes").json, "optimum")
    assert with_["value"] == 64


SETTINGS = [
    ({"name": "supcon", "temperature": 0.3}, {"batch": 12, "classes": 4}),
    ({"name": "supcon", "temperature": 0.3}, {"batch": 12, "props": [0.6, 0.3, 0.1], "views": 1}),
    ({"name": "supcon", "temperature": 0.3}, {"batch": 12, "counts": [20, 8, 4], "replacement": "no"}),
    ({"name": "simclr", "temperature": 0.3}, {"batch": 12}),
    ({"name": "infonce", "temperature": 0.3}, {"batch": 12}),
    ({"name": "infonce", "temperature": 0.3, "negatives": 5}, {"props": [0.6, 0.3, 0.1]}),
    ({"name": "infonce", "temperature": 0.3, "negatives": 5, "form": "mean"}, {"props": [0.6, 0.3, 0.1]}),
    ({"name": "infonce", "temperature": 0.3, "negatives": 5, "form": "mean"}, {}),
    ({"name": "infonce", "temperature": 0.3, "form": "mean"}, {"batch": 12, "classes": 3}),
    ({"name": "dcl", "temperature": 0.3}, {"batch": 12, "props": [0.6, 0.3, 0.1]}),
    ({"name": "dcl", "temperature": 0.3}, {"props": [0.6, 0.3, 0.1]}),
    ({"name": "sigmoid", "temperature": 0.3, "bias": 2}, {"batch": 12}),
    ({"name": "sigmoid", "temperature": 0.3, "bias": 2}, {"batch": 12, "props": [0.6, 0.3, 0.1]}),
    ({"name": "triplet"}, {"batch": 12, "classes": 3}),
    ({"name": "align-uniform"}, {"batch": 12}),
]
GRIDS = {
    "batch": [4, 5, 7, 12, 13, 30],
    "negatives": [1, 2, 3, 5, 9, 40],
    "temperature": [0.15, 0.2, 0.3, 0.6, 1, 3],
    "bias": [-4, -1, 0, 1.5, 3, 8],
}


@pytest.mark.slow
@pytest.mark.parametrize(("loss", "flags"), SETTINGS)
def test_levels_go_as_the_loss_says(loss, flags):
    """What is claimed to rise, fall or be convex does so on a grid."""
    setting = Setting.of(Levels(loss=loss, **flags))
    stated = 0
    for over, grid in GRIDS.items():
        if over not in setting.loss.takes() and (over != "batch" or "batch" not in flags):
            continue
        path = Path(setting, over, grid[0], grid[-1], False)
        for level in LEVELS:
            course = find_loss(loss["name"]).course(setting.loss, over, level)
            x = np.array(grid, dtype=float)
            y = np.array([path.level(level, each)[0] for each in grid])
            u = 1 / x[::-1] if over == "temperature" else x
            bend = np.diff(np.diff(y[::-1] if over == "temperature" else y) / np.diff(u))
            room = 1e-7 * np.abs(y).max()
            stated += course != ""
            assert course != "rising" or np.all(np.diff(y) >= -room), (over, level, y)
            assert course != "falling" or np.all(np.diff(y) <= room), (over, level, y)
            assert course != "convex" or np.all(bend >= -room), (over, level, y)
    assert stated > 0


def test_where_nothing_is_known_nothing_is_called_none(run, monkeypatch):
    cls = find_loss("supcon")
    flags = ("levels", "--find", "batch", "--base-temperature", 0.07, *STUCK, "--loss-value")
    known = run(*flags, 6.92027, "--json").json
    monkeypatch.setattr(cls, "course", lambda self, over, level: "")
    scanned = run(*flags, 6.92027, "--json").json
    assert scanned["matches"] == known["matches"]
    assert not any(miss["certain"] for miss in scanned["misses"])
    other = ("levels", "--find", "batch", *STUCK, "--loss-value", 6.92027, "--json")
    misses = run(*other).json["misses"]
    nearest = {miss["level"]: [near["value"] for near in miss["nearest"]] for miss in misses}
    assert nearest["collapse"] == [506, 507]
    text = run(*flags, 0.5).stdout
    assert text.startswith("No batch size was found from 6 to 1,073,741,824 that makes 0.5")
    assert "none found" in text


def test_places_by_hand():
    def falling(x):
        return 10 / x

    (found,), _ = places(falling, 0.5, 100, 2.0, 0.1)
    assert found.at == pytest.approx(5)
    assert found.span == pytest.approx((10 / 1.9, 10 / 2.1))
    assert places(falling, 0.5, 100, 21.0, 0.5) == ([], [])
    (edge,), _ = places(falling, 0.5, 100, 20.1, 0.5)
    assert edge.at == 0.5
    for value in (3.0, 0.4, 0.11):  # against looking at every number
        for blur in (1e-9, 0.02, 0.3):
            found, beside = whole_places(falling, 1, 100, value, blur)
            near = [x for x in range(1, 101) if abs(10 / x - value) <= blur]
            if near:
                assert found[0].span == (near[0], near[-1])
                assert abs(10 / found[0].at - value) == min(abs(10 / x - value) for x in near)
            else:
                assert found == []
                (a, _), (b, _) = beside
                assert 10 / a > value > 10 / b
                assert b == a + 1
    assert whole_places(falling, 1, 100, 11.0, 1e-9)[1] == [(1, 10.0)]


def test_a_problem_file_finds(run, tmp_path):
    file = tmp_path / "find.yaml"
    file.write_text(
        "kind: levels\nfind: base_temperature\nloss_value: 6.92\nbatch: 64\nclasses: 6\nloss: {temperature: 0.1}\n"
    )
    ended = run("solve", file)
    assert ended.code == 0
    assert ended.stdout.startswith("6.92 is total collapse at base temperature 0.07")
    row = run("solve", file, "--json").json
    assert row["problem"]["find"] == "base-temperature"
    assert "--find base-temperature" in command_of(row)
    assert row["status"] == "ok"


@pytest.mark.parametrize(
    ("flags", "field"),
    [
        ({"find": "batch", "classes": 3}, "loss_value"),
        ({"find": "bias", "classes": 3, "batch": 8, "loss_value": 3}, "find"),
        ({"find": "batch", "loss_value": 3}, "classes"),
        ({"find": "temperature", "classes": 3, "loss_value": 3}, "batch"),
        ({"find": "base-temperature", "loss": "triplet", "classes": 3, "loss_value": 3}, "base_temperature"),
        ({"find": "seed", "classes": 3, "loss_value": 3}, "find"),
        ({"find": "batch", "loss": "spectral", "classes": 3, "loss_value": 3}, "loss.name"),
    ],
)
def test_errors_name_the_field(flags, field):
    with pytest.raises(InputError) as error:
        solve(Levels(**flags))
    assert error.value.field == field


def test_pairs_whose_optimum_rests_on_an_assumption(run):
    flags = ("levels", "--find", "bias", "--loss", "sigmoid", "--batch", 8, "-t", 0.2, "--props", "0.6,0.3,0.1")
    ended = run(*flags, "--json")
    assert ended.code == 1
    assert ended.json["assumption"] == "the two views of a sample coincide"
    assert "NOT PROVEN: the optimum is that if the two views of a sample coincide." in run(*flags).stdout
