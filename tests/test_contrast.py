"""Losses side by side.  Numbers: closed forms of each loss, and the answers of geomsolve imbalance."""

from __future__ import annotations

import io
import json

import numpy as np
import pytest
from rich.console import Console

from geomsolve import Contrast, Imbalance, InputError, solve
from geomsolve.losses import REGISTRY

THREE = (0.7, 0.2, 0.1)


def rows_of(report):
    return {row.label: row for row in report.rows}


@pytest.fixture(scope="module")
def three():
    return solve(Contrast(props=THREE, loss={"temperature": 0.5}))


def test_every_row_is_the_answer_of_its_own_forward_question(three):
    for row in three.rows:
        kept = {"temperature": 0.5} if "temperature" in REGISTRY[row.label].takes() else {}
        alone = solve(Imbalance(props=THREE, loss={"name": row.label, **kept}))
        assert row.certified
        assert row.value == alone.value
        if row.classifier_angle_deg is None:
            assert (row.structure, row.min_angle_deg) == (alone.structure.kind, alone.structure.min_angle_deg)
            assert row.simplex_excess == alone.simplex_excess
        assert row.ignored == (() if kept else ("temperature",))


def test_closed_forms(three):
    """Spectral: F = sum p_a p_b c^2, so the frame has sum p_a^2 and the simplex (1 - sum p_a^2) / 4 more.  SupCon: the
    cosines of the rebalancing table.  Soft SupCon: cosine 1 + tau ln epsilon wherever that is a Gram matrix."""
    rows = rows_of(three)
    squares = sum(p * p for p in THREE)
    assert rows["spectral"].structure == "orthogonal frame"
    assert rows["spectral"].minority_angle_deg == pytest.approx(90, abs=1e-6)
    assert rows["spectral"].value == pytest.approx(squares, abs=1e-12)
    assert rows["spectral"].simplex_excess == pytest.approx((1 - squares) / 4, abs=1e-12)
    assert np.cos(np.radians(rows["supcon"].minority_angle_deg)) == pytest.approx(-0.195271, abs=2e-6)
    assert rows["supcon"].value == pytest.approx(-0.7208670871, abs=1e-9)
    assert np.cos(np.radians(rows["soft-supcon"].min_angle_deg)) == pytest.approx(1 + 0.5 * np.log(0.1), abs=1e-6)
    assert not rows["triplet"].fixed


def test_the_width_is_that_of_the_widest_pair(three):
    """The range of the pair 2, 3 as derived; the other two, held more firmly, are narrower."""
    wide = rows_of(three)["supcon"].width
    assert wide.pair == ("2", "3")
    assert wide.complete
    assert wide.wide == pytest.approx(-0.1571239416 + 0.2334630729, abs=1e-6)
    assert rows_of(three)["triplet"].width is None


def test_two_balanced_classes_range_as_the_closed_form_says():
    """K = 2, tau 0.1, eps 1e-4: from the optimum -1 up to 1 + tau ln(2 e^{F* + eps} - 1)."""
    report = solve(Contrast(props=(0.5, 0.5), losses=["supcon"]))
    assert report.rows[0].width.wide == pytest.approx(0.07897302 + 1, abs=1e-6)
    assert report.rows[0].minority_angle_deg is None


def test_thresholds_over_temperature():
    """One majority of share .95: SupCon collapses where q = (P x / 2) ((P x + q) / (P + q x) + 1), x = e^{-2/tau}."""
    P, q = 0.95, 0.05
    report = solve(Contrast(props=(P, q / 2, q / 2), losses=["supcon", "spectral", "sigmoid"], loss={"temperature": 1}))
    rows = rows_of(report)
    x = np.exp(-2 / rows["supcon"].threshold)
    assert P * x / 2 * ((P * x + q) / (P + q * x) + 1) == pytest.approx(q, rel=1e-6)
    assert rows["supcon"].collapsed_above
    assert rows["spectral"].threshold is None
    assert report.verdict == "some collapse"
    below = solve(Contrast(props=(P, q / 2, q / 2), losses=["supcon"], loss={"temperature": 0.3})).rows[0]
    assert below.threshold == pytest.approx(rows["supcon"].threshold, rel=1e-9)
    assert below.collapsed_above
    assert below.groups == []


def test_losses_stand_as_they_were_named_and_best_first_otherwise(three):
    named = solve(Contrast(props=THREE, losses=["triplet", "supcon", "spectral"]))
    assert [row.label for row in named.rows] == ["triplet", "supcon", "spectral"]
    assert named.headline == "90.0° (spectral) to 115.7° (supcon)"
    assert solve(Contrast(props=THREE, losses=["triplet", "spectral"])).headline == "90.0° (spectral)"
    angles = [row.minority_angle_deg for row in three.rows if row.fixed]
    assert len(angles) >= 5
    assert angles == sorted(angles, reverse=True)
    assert not three.rows[-1].fixed


def test_one_loss_twice_with_parameters_of_its_own():
    report = solve(
        Contrast(props=THREE, losses=["supcon", {"name": "supcon", "sampler": "balanced"}], loss={"temperature": 0.5})
    )
    plain, balanced = report.rows
    assert balanced.label == "supcon, sampler balanced"
    assert balanced.structure == "regular simplex"
    assert plain.structure == "general"
    assert json.loads(json.dumps(report.to_dict()))["problem"]["losses"][1] == {"name": "supcon", "sampler": "balanced"}


def test_of_cross_entropy_the_feature_means_stand_there():
    """SELI, K = 4, two majority classes, R = 10: feature means of minorities at cosine -.64853, classifiers .07945."""
    report = solve(Contrast(counts=[10, 10, 1, 1], losses=["cross-entropy", "supcon"]))
    row = report.rows[0]
    assert row.certified
    assert np.cos(np.radians(row.classifier_angle_deg)) == pytest.approx(0.07945, abs=1e-4)
    assert np.cos(np.radians(row.minority_angle_deg)) == pytest.approx(-0.64853, abs=1e-4)
    assert np.cos(np.radians(row.min_angle_deg)) == pytest.approx(-0.19460, abs=1e-4)
    assert row.simplex_excess is row.threshold is row.width is None


def test_after_a_relu_the_frame_is_the_best_there_is(run):
    """SupCon gives the orthogonal frame for any proportions; no angle is above 90 degrees."""
    answer = run("contrast", "--props", "0.7,0.2,0.1", "--losses", "supcon,spectral", "--nonnegative", "--json").json
    for row in answer["rows"]:
        assert row["structure"] == "orthogonal frame"
        assert row["minority_angle_deg"] == pytest.approx(90, abs=1e-6)
        assert row["simplex_excess"] is None
        assert 0 < row["width"] <= 1
    assert "--nonnegative" in answer["rows"][0]["command"]


@pytest.mark.slow
def test_every_loss_there_is_has_a_row_within_eighty_columns():
    """A loss that needs more than it was given says what."""
    from geomsolve.cli.commands.contrast import show, table

    report = solve(Contrast(dataset="cifar10-lt:100", losses="all"))
    rows = {row["loss"]: row for row in report.to_dict()["rows"]}
    assert set(rows) == set(REGISTRY)
    assert "--batch" in rows["nt-xent"]["failed"]
    assert rows["nt-xent"]["min_angle_deg"] is None
    assert rows["supcon"]["width_complete"] is False
    text = io.StringIO()
    screen = Console(file=text, width=80)
    show(report, screen, quiet=False)
    assert "…" not in text.getvalue()
    assert screen.measure(table(report)).maximum <= 80


def test_the_command_says_which_loss_keeps_the_small_classes_apart(run):
    shown = run("contrast", "--props", "0.95,0.025,0.025", "-t", "1", "--losses", "supcon,spectral,triplet")
    text = " ".join(shown.stdout.split())
    assert text.startswith("spectral keeps the smaller classes 2 and 3 farthest apart, at 90.0° or more; supcon puts")
    assert "Without temperature: spectral and triplet." in text
    assert shown.code == 0
    quiet = run("contrast", "--props", "0.5,0.5", "--losses", "supcon,align-uniform", "--quiet").stdout
    assert quiet == "All 2 losses that fix the angles keep the classes equally far apart, the closest two at 180.0°.\n"


def test_the_rows_have_the_keys_of_the_contract(run):
    answer = run("contrast", "--props", "0.7,0.2,0.1", "--losses", "supcon", "-t", "0.5", "--json").json
    assert answer["problem"]["loss"] == {"temperature": 0.5}
    keys = {"loss", "structure", "min_angle_deg", "minority_angle_deg", "simplex_excess", "threshold", "certified"}
    assert keys <= set(answer["rows"][0])


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (("--losses", "supcom"), "--losses: unknown loss 'supcom'; did you mean 'supcon'?"),
        (("--losses", "nt-xent"), "--losses: nt-xent: batch: it compares within a batch"),
        (("--losses", "supcon,supcon"), "--losses: the loss 'supcon' stands twice"),
        (("--hardness", "2"), "--hardness: none of these losses uses it, but dcl, infonce"),
        (("-t", "-1"), "--temperature: wanted a temperature above 0"),
        (("--slack", "0"), "--slack: "),
    ],
)
def test_what_makes_no_sense_is_refused(run, flags, words):
    shown = run("contrast", "--props", "0.7,0.2,0.1", *flags)
    assert shown.code == 2
    assert shown.stdout == ""
    assert words in shown.stderr


@pytest.mark.parametrize(
    ("how", "field"),
    [
        ({"losses": ["supcon", {"name": "supcon", "temprature": 1}]}, "losses"),
        ({"loss": {"name": "supcon"}}, "loss.name"),
        ({"losses": 3}, "losses"),
        ({"losses": [3]}, "losses"),
        ({"loss": 3}, "loss"),
    ],
)
def test_what_makes_no_sense_in_a_file_is_refused(how, field):
    with pytest.raises(InputError) as refused:
        solve(Contrast(props=THREE, **how))
    assert refused.value.field == field
