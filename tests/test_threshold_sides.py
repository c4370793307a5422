"""Where two sides come to coincide, to part or to collapse: closed forms, then the command."""

from __future__ import annotations

from math import exp, log

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import expit

from geomsolve import ThresholdCrossmodal, solve


def ask(**flags):
    return solve(ThresholdCrossmodal(**flags))


def test_the_published_start_of_siglip_parts_at_22040_pairs(run):
    """b = s = 10: the simplex is optimal iff s >= ((K - 1) / K) ln(K - 3)."""
    found = run("threshold", "--loss", "siglip", "-t", 0.1, "--bias", -10, "--over", "classes", "--json").json
    assert found["threshold"]["value"] == 22_040
    assert (found["threshold"]["before"], found["threshold"]["after"]) == ("regular simplex", "apart")
    root = brentq(lambda k: 10 - (k - 1) / k * log(k - 3), 1e4, 1e5, xtol=1e-9)
    assert root == pytest.approx(22_039.4626, abs=1e-4)
    assert found["exact"] == pytest.approx(root, abs=1e-6)
    text = run("threshold", "--loss", "siglip", "-t", 0.1, "--bias", -10, "--over", "classes").stdout
    assert text.startswith("Under siglip, images and texts coincide, at the corners of a regular simplex, up to 22,039")
    assert "22039.4626" in text


def test_opposite_points_without_a_bias():
    """Antipodal at b = 0 iff s <= ln((K - 2) / 2)."""
    edge = ask(props=[0.01] * 100, loss={"name": "siglip"}).threshold
    assert edge["after"] == "antipodal"
    assert edge["value"] == pytest.approx(1 / log(98 / 2), rel=1e-9)


def test_where_a_bias_parts_the_sides(run):
    """sigma(b - s) = ((K - 2) / 2) sigma(-s / (K - 1) - b); antipodal from where D1 = 0 is passed."""
    k, s = 8, 5.0
    root = brentq(lambda b: expit(b - s) - (k - 2) / 2 * expit(-s / (k - 1) - b), -20, 20, xtol=1e-13)
    found = ask(props=[1 / k] * k, loss={"name": "siglip", "temperature": 0.2}, over="bias")
    assert [(c["before"], c["after"]) for c in found.changes] == [("regular simplex", "apart"), ("apart", "antipodal")]
    assert found.changes[0]["value"] == pytest.approx(-root, abs=1e-8)
    # K classes at -1: the contrast block [[alpha, D], [D, beta]] is singular
    pull, push = lambda z: expit(-z) / k, lambda z: expit(z) / k

    def flat(b):
        z = -s + b
        own, other = -pull(z), push(z)
        return own + (k - 1) * other - abs(own - other)

    end = brentq(flat, -5, 20, xtol=1e-13)
    assert found.changes[1]["value"] == pytest.approx(end, abs=1e-8)
    assert found.state == "apart"
    text = run("threshold", "--loss", "siglip", "-t", 0.2, "--bias", -3, "--over", "bias", "--props", "8*1/8").stdout
    assert "Yours, bias -3: images and texts coincide" in text


@pytest.mark.parametrize(("prior", "value"), [("uniform", 1.24099413), ("props", 0.874098027)])
def test_features_and_classifiers_collapse(prior, value):
    found = ask(props=[0.95, 0.025, 0.025], loss={"name": "cosine-softmax", "prior": prior})
    assert found.threshold["value"] == pytest.approx(value, abs=1e-8)
    assert (found.threshold["before"], found.threshold["after"]) == ("apart", "minority collapse")
    assert found.collapsed_above is True
    assert [c["after"] for c in found.changes] == ["minority collapse"]


def test_clean_clip_collapses_where_supcon_does():
    from geomsolve import Threshold

    clip = ask(props=[0.7, 0.2, 0.1], loss={"name": "clip"})
    supcon = solve(Threshold(props=[0.7, 0.2, 0.1]))
    assert clip.threshold["value"] == pytest.approx(supcon.threshold["value"], rel=1e-9)
    assert [stage["state"] for stage in clip.path] == ["tied", "minority collapse"]


def test_noise_parts_the_sides_of_unequal_classes():
    """At the change the certificate of the best tied geometry has an eigenvalue 0: beyond it the two sides gain."""
    from geomsolve import Crossmodal

    flags = {"props": [0.7, 0.2, 0.1], "loss": {"name": "clip", "temperature": 0.5}}
    found = ask(**flags, over="noise")
    (change,) = found.changes
    assert (change["before"], change["after"]) == ("tied", "apart")
    near = [solve(Crossmodal(**flags, noise=change["value"] * x)).tied for x in (0.98, 1.05)]
    assert near == [True, False]


def test_up_to_which_noise_the_simplex_is_best():
    """Beyond it the pairs are expressed exactly: K / ((K - 1) log(1 + K (1 - eta) / eta)) is the temperature."""
    found = ask(props=[0.25] * 4, loss={"name": "clip", "temperature": 0.5}, over="noise").threshold
    assert found["value"] == pytest.approx(4 / (3 + exp(4 / (3 * 0.5))), rel=1e-8)
    assert (found["before"], found["after"]) == ("regular simplex", "tied")


def test_no_change_and_pictures(run, tmp_path):
    stays = run("threshold", "--loss", "siglip", "-t", 0.2, "--props", "8*1/8", "--over", "noise")
    assert stays.code == 0
    assert stays.stdout.startswith("No change was found: with siglip, images and texts do not coincide")
    target = tmp_path / "a.svg"
    drawn = run("threshold", "--loss", "siglip", "--props", "8*1/8", "--over", "bias", "--plot", target, "--quiet")
    assert drawn.code == 0
    assert "regular simplex" in target.read_text()
    found = ask(pairs=[[3, 1, 1], [1, 2, 1]], loss={"name": "siglip"}, over="bias")
    assert found.changes[-1]["after"] == "antipodal"
    assert np.isfinite(found.changes[-1]["value"])


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (("--loss", "clip", "--over", "bias", "--props", ".5,.5"), "--over: the loss clip has no bias"),
        (("--loss", "clip", "--views", 2, "--props", ".5,.5"), "--views: the loss clip does not use this"),
        (("--loss", "siglip", "--over", "classes", "--props", ".5,.5"), "--props: over classes the path makes"),
        (("--loss", "siglip", "--slack", 0.1, "--props", ".5,.5"), "--slack: this belongs to a loss over classes"),
        (("--pairs", "1,0;0,1", "--over", "noise"), "--over: noise is for classes"),
        (("--pairs", "1,-1;0,1"), "--pairs: the weight in row 1, column 2 is -1"),
        (("--loss", "siglip"), "exactly one of"),
        (("--loss", "supcon", "--noise", 0.1, "--props", ".5,.5"), "--loss: supcon is no loss of two sides"),
    ],
)
def test_questions_that_make_no_sense(run, flags, words):
    ended = run("threshold", *flags)
    assert ended.code == 2
    assert ended.stdout == ""
    assert words in " ".join(ended.stderr.split())


def test_sweeps_of_two_sides(run, tmp_path):
    """A balanced sweep of the bias passes the three geometries; noise and temperature make a grid."""
    table, target = tmp_path / "a.csv", tmp_path / "a.svg"
    flags = ("--loss", "siglip", "--props", "8*1/8", "-t", 0.2, "--over", "bias=-2,0,4")
    found = run("sweep", *flags, "--json", "--csv", table, "--plot", target)
    assert found.code == 0
    rows = found.json["rows"]
    assert [row["structure"] for row in rows] == ["apart", "apart", "antipodal"]
    assert rows[0]["value"] == pytest.approx(0.42262813442, abs=1e-9)
    assert rows[0]["modality_gap"] == pytest.approx(0.64228911, abs=1e-7)
    assert rows[0]["partner_angle_deg"] == pytest.approx(np.degrees(np.arccos(0.79373235)), abs=1e-5)
    assert rows[2]["value"] == pytest.approx(np.logaddexp(0, 1) + 7 * np.logaddexp(0, -1), abs=1e-12)
    assert table.read_text().splitlines()[0].startswith("bias,value")
    assert "modality gap" in target.read_text()
    text = run("sweep", *flags).stdout
    assert text.startswith("Over bias, images and texts under siglip: apart at 2, antipodal at 1 of 3 points.")
    assert "the largest to its own text, the smallest to another" in " ".join(text.split())
    noisy = run("sweep", "--loss", "clip", "--props", ".7,.3", "--noise", 0.1, "--over", "temperature=1,2").stdout
    assert "proportions 0.7, 0.3, noise 0.1; temperature varied" in noisy
    grid = run("sweep", "--props", ".7,.2,.1", "--noise", 0, "--over", "noise=0,.05", "--over", "tau=.3,.6", "--json")
    assert [row["temperature"] for row in grid.json["rows"]] == [0.3, 0.6, 0.3, 0.6]
    assert [row["tied"] for row in grid.json["rows"]][:2] == [True, True]
    wrong = run("sweep", "--loss", "clip", "--props", ".5,.5", "--over", "bias=0,1")
    assert (wrong.code, wrong.stdout) == (2, "")
    assert "--over: the loss clip has no bias to go over" in wrong.stderr
    assert "--over: noise" in run("sweep", "--loss", "clip", "--props", ".5,.5", "--over", "noise=0,2").stderr


@pytest.mark.parametrize("classes", [4, 8])
def test_pairs_that_can_be_expressed_leave_open_whether_sides_coincide(classes):
    """Up to K / ((K-1) log(1 + K (1-eta)/eta)) unit vectors have the ideal logits: one change, no state of rounding."""
    eta = 0.1
    tau = classes / ((classes - 1) * np.log(1 + classes * (1 - eta) / eta))
    props = [1 / classes] * classes
    found = solve(ThresholdCrossmodal(props=props, noise=eta, loss="clip", over="temperature"))
    assert [(c["before"], c["after"]) for c in found.changes] == [("tied", "regular simplex")]
    assert found.changes[0]["value"] == pytest.approx(tau, rel=1e-9)
    assert [stage["open"] for stage in found.path] == [True, False]
    # below: partners at cosine 1 have the loss of free logits, minus the mutual information, and so have partners at .5
    pairs = np.full((classes, classes), eta / classes**2) + np.eye(classes) * (1 - eta) / classes
    floor = -np.sum(pairs * np.log(pairs * classes**2))
    for own in (1.0, 0.5):
        logits = (own + (1 - np.eye(classes)) * -0.5 * classes / (classes - 1)) / (0.5 * tau)
        rows = logits - np.log(np.mean(np.exp(logits), axis=1))[:, None]
        assert -np.sum(pairs * rows) == pytest.approx(floor, abs=1e-12)


def test_noise_up_to_which_pairs_are_expressed():
    """At temperature t the noise solves the same formula."""
    eta = brentq(lambda e: 8 / (7 * np.log(1 + 8 * (1 - e) / e)) - 0.2, 1e-9, 0.5, xtol=1e-15)
    found = solve(ThresholdCrossmodal(props=[1 / 8] * 8, loss="clip", temperature=0.2, over="noise"))
    assert [(c["before"], c["after"]) for c in found.changes] == [("regular simplex", "tied")]
    assert found.changes[0]["value"] == pytest.approx(eta, rel=1e-7)


@pytest.mark.slow
def test_no_noise_is_said_to_be_none(run):
    flags = ("threshold", "--props", "0.7,0.2,0.1", "-t", 0.5, "--loss", "clip", "--over", "noise")
    assert run(*flags).stdout.rstrip().endswith("The default, noise 0: images and texts coincide.")
    assert run(*flags, "--noise", 1).stdout.rstrip().endswith("Yours, noise 1: images and texts are all at one point.")
