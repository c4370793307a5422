"""Proofs that stand alone: what is written is true, what is checked holds, and what is changed is rejected.

Everything is worked out again here on all K classes at once, by numpy or by closed forms, without either side's orbits.
"""

from __future__ import annotations

import ast
import copy
import json
import random
import re
import subprocess
import sys
from decimal import Decimal
from fractions import Fraction
from math import exp
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import brentq

import geomsolve
from geomsolve import verify, verify_further

flint = pytest.importorskip("flint", reason="python-flint, the extra 'proof', is not installed")

FILE = Path(verify.__file__)


def written(run, tmp_path, *args):
    path = tmp_path / "proof.json"
    found = run(*args, "--proof", path)
    assert found.code == 0, found.stderr
    return json.loads(path.read_text())


def holds(proof) -> bool:
    """Whether all claims hold, by the one file alone too where that knows the loss."""
    text = json.dumps(proof)
    if proof["format"] == verify.FORMAT and not all(outcome[1] for outcome in verify.check(text)):
        return False
    return all(outcome[1] for outcome in verify_further.check_all(text))


def expanded(proof):
    """Proportions (K,) and unit vectors (K, d) of all classes, and mu (K,)."""
    groups, point = proof["question"]["classes"], proof["point"]
    p, vectors, mu = [], [], []
    widths = [len(point["centroids"][0]), *(group["size"] for group in groups)]
    for g, group in enumerate(groups):
        n = group["size"]
        corners = np.eye(n) - 1 / n
        corners /= max(np.linalg.norm(corners[0]), 1e-300)
        for i in range(n):
            parts = [np.array([float(x) for x in point["centroids"][g]])]
            parts += [np.zeros(w) for w in widths[1:]]
            parts[g + 1] = float(point["spread"][g]) * corners[i]
            row = np.concatenate(parts)
            vectors.append(row / np.linalg.norm(row))
            p.append(float(Fraction(group["weight"])))
            mu.append(float(proof["dual"]["mu"][g]))
    p = np.array(p)
    return p / p.sum(), np.array(vectors), np.array(mu)


def supcon(p, gram, t):
    """Population SupCon and its symmetrised slope, on all classes."""
    weight = p * np.exp((gram - 1) / t)
    total = weight.sum(axis=1)
    slope = (p / t)[:, None] * weight / total[:, None]
    slope = (slope + slope.T) / 2
    return float(p @ np.log(total)), slope - np.diag(np.diag(slope))


def collapsed(majority: float, t: float) -> bool:
    """Whether SupCon collapses, in closed form, whatever the number of smaller classes."""
    x, q = exp(-2 / t), 1 - majority
    return q <= majority * x / 2 * ((majority * x + q) / (majority + q * x) + 1)


def test_a_proof_by_hand(run, tmp_path):
    proof = written(run, tmp_path, "imbalance", "--props", ".7,.2,.1", "-t", ".5")
    assert holds(proof)
    p, vectors, mu = expanded(proof)
    gram = vectors @ vectors.T
    value, slope = supcon(p, gram, 0.5)
    S = slope + np.diag(mu)
    claims = {claim["claim"]: claim for claim in proof["claims"]}
    assert claims.keys() == {"value", "bound", "unique"}
    assert proof["further"] == [{"claim": "rank", "groups": [], "rank": 2}]
    low, high = float(claims["bound"]["at_least"]), float(claims["value"]["at_most"])
    assert low < -0.7208670871 < high + 1e-10
    assert value < high < value + 1e-11
    assert low < value - np.sum(S * gram) + 3 * min(0, np.linalg.eigvalsh(S)[0]) < low + 1e-10
    assert proof["question"]["classes"][0]["weight"] == "0.7"


FORMS = [
    ("--props", ".7,.2,.1", "--loss", "triplet"),
    ("--props", ".6,.3,.1", "--loss", "triplet", "--margin", "1.9"),
    ("--props", "1/3,1/3,1/3", "--loss", "sigmoid", "--bias", "2"),
    ("--counts", "50,20,10,1", "--full-batch", "-t", ".5"),
    ("--props", ".7,.2,.1", "--loss", "infonce", "--form", "mean", "--sampling", "supervised", "-t", "1"),
    ("--props", ".7,.2,.1", "--loss", "dcl", "-t", ".3"),
    ("--props", ".7,.2,.1", "--loss", "spectral"),
    ("--props", ".7,.2,.1", "--loss", "infonce", "--negatives", "8", "-t", "1"),
    ("--props", ".8,.1,.05,.05", "--batch", "16", "-t", ".5"),
    ("--props", ".95,.025,.025", "-t", "2"),
    ("--props", ".7,.2,.1", "--loss", "dcl", "--negatives", "1", "-t", ".3"),
    ("--props", ".7,.2,.1", "-t", ".5", "--sampler", "sqrt", "--denominator", ".5,.3,.2"),
    ("--props", ".7,.2,.1", "-t", ".5", "--anchor-weights", "balanced", "--logit-adjust", "1"),
    ("--props", ".7,.2,.1", "--loss", "infonce", "--anchor-weights", "1,2,3", "--denominator", "balanced"),
    ("--props", ".7,.2,.1", "--loss", "infonce", "--sampling", "supervised", "--sampler", ".3", "-t", "1"),
    ("--props", ".8,.1,.05,.05", "--loss", "kcl", "--batch", "6", "-t", ".5"),
    ("--props", ".5,.3,.1,.1", "--loss", "bcl"),
    ("--props", ".7,.2,.1", "--loss", "n-pair", "-t", ".5"),
    ("--props", ".7,.2,.1", "--loss", "soft-supcon", "--epsilon", ".01", "-t", ".5"),
    ("--props", ".7,.1,.1,.1", "--loss", "weince", "--delta", ".1", "--sampling", "supervised"),
    ("--props", ".7,.2,.1", "--loss", "align-uniform"),
    ("--props", ".6,.3,.1", "--loss", "contrastive", "--neg-margin", "-.9"),
    ("--props", ".7,.2,.1", "--loss", "soft-margin-triplet", "--margin", ".2"),
]


@pytest.mark.parametrize("args", FORMS, ids=" ".join)
def test_every_form_is_proven_at_the_loss_that_is_printed(run, tmp_path, args):
    path = tmp_path / "p.json"
    value = run("imbalance", *args, "--json", "--proof", path).json["value"]
    proof = json.loads(path.read_text())
    assert holds(proof)
    low, high = (float(next(iter({*c.values()} - {c["claim"]}))) for c in proof["claims"][:2][::-1])
    assert low <= value <= high
    assert high - low < 1e-9


def test_fractions_are_what_was_written():
    from geomsolve.analyses.elimination import exact

    cases = {
        0.7: "0.7",
        1 / 3: "1/3",
        1e-7: "0.0000001",
        12 / 7: "12/7",
        50: "50",
        0.12345678901234568: "0.12345678901234568",
    }
    for x, text in cases.items():
        assert exact(x) == text


def test_thresholds_are_enclosed(run, tmp_path):
    """Against the closed form of the collapse of SupCon, in double precision and in thirty digits."""
    proof = written(run, tmp_path, "threshold", "--props", ".95,.025,.025", "--over", "temperature")
    assert holds(proof)
    (claim,) = proof["claims"]
    low, high = Decimal(claim["low"]), Decimal(claim["high"])
    assert high - low == Decimal("1e-12")
    root = brentq(lambda t: 1.0 if collapsed(0.95, t) else -1.0, 0.5, 1.5, xtol=1e-15)
    assert float(low) - 1e-13 < root < float(high) + 1e-13
    assert collapsed(0.95, float(high) + 1e-13)
    assert not collapsed(0.95, float(low) - 1e-13)

    sharp = written(run, tmp_path, "threshold", "--props", ".95,.025,.025", "--digits", "30")
    assert holds(sharp)
    ends = [Decimal(sharp["claims"][0][key]) for key in ("low", "high")]
    assert ends[1] - ends[0] == Decimal("1e-30")
    assert low <= ends[0] < ends[1] <= high


@pytest.mark.parametrize(("over", "digits"), [("temperature", 12), ("majority", 12), ("majority", 30)])
def test_thresholds_in_a_direction_across_orbits(run, tmp_path, over, digits):
    more = ("--over", over, "-t", "1", "--digits", digits) if over == "majority" else ("--over", over)
    proof = written(run, tmp_path, "threshold", "--props", ".9,.06,.04", *more)
    assert holds(proof)
    (claim,) = proof["claims"]
    assert isinstance(claim["against"], list)
    assert claim["low"].startswith("1.1425461" if over == "temperature" else "0.9240")


def test_a_threshold_in_whole_numbers_lies_between_neighbours(run, tmp_path):
    """What the command says in words, 'fewer than 14 samples', and no other two neighbours."""
    args = ("threshold", "--props", ".9,.06,.04", "--over", "batch", "-t", "1")
    assert "fewer than 14 samples" in run(*args).stdout
    proof = written(run, tmp_path, *args)
    assert holds(proof)
    (claim,) = proof["claims"]
    assert (claim["low"], claim["high"], claim["collapsed"]) == ("13", "14", "below")
    (outcome,) = verify.check(json.dumps(proof))
    assert outcome[0] == "one class opposite all others is the only optimum at batch 13, and no optimum at 14"
    for low, high in (("12", "13"), ("14", "15"), ("13.5", "14")):
        assert rejected({**proof, "claims": [{**claim, "low": low, "high": high}]})


def test_ages_are_not_realizable_by_a_vector_of_fractions(run, tmp_path):
    proof = written(run, tmp_path, "realizable", "--weighting", "yaware", "--labels", "20,25,30", "--sigma", "5")
    assert holds(proof)
    (claim,) = proof["claims"]
    x, y = [Fraction(each) for each in claim["against"]], (20, 25, 30)
    T = [[1 - Fraction("0.1") * (a - b) ** 2 / (2 * 25) for b in y] for a in y]
    assert sum(x[i] * x[j] * T[i][j] for i in range(3) for j in range(3)) < 0
    assert claim["claim"] == "not realizable"


def test_a_square_is_realizable_exactly(run, tmp_path):
    """Four corners of a square of side 1 at temperature 2: radius^2 = 1/2 = sigma^2 / temperature, just so."""
    args = ("--weighting", "yaware", "--labels", "0,0;0,1;1,0;1,1", "-t", "2")
    assert holds(written(run, tmp_path, "realizable", *args))


@pytest.mark.parametrize("beyond", [False, True])
def test_exact_verdicts_where_eigenvalues_cannot_tell(run, tmp_path, beyond):
    """Corners of a square of side 1 are unit vectors at temperature 2, opposite ones too; just above they are not."""
    t = "2.0000000000001" if beyond else "2"
    args = ("realizable", "--weighting", "yaware", "--labels", "0,0;0,1;1,0;1,1", "-t", t)
    assert run(*args, "--json").json["verdict"] == "realizable"
    path = tmp_path / "p.json"
    found = run(*args, "--exact", "--json", "--proof", path)
    assert found.code == 0
    assert holds(json.loads(path.read_text()))
    assert found.json["verdict"] == ("inconsistent" if beyond else "realizable")
    assert found.json["least_dimension"] == (None if beyond else 2)
    assert "exactly" in found.json["reason"] or "by exact elimination" in found.json["reason"]
    shown = found.json["exact"]
    assert shown["positive_semidefinite"] is not beyond
    if beyond:
        x, y = [Fraction(each) for each in shown["against"]], [(0, 0), (0, 1), (1, 0), (1, 1)]
        T = [[1 - Fraction(t) * ((a[0] - b[0]) ** 2 + (a[1] - b[1]) ** 2) / 2 for b in y] for a in y]
        form = sum(x[i] * x[j] * T[i][j] for i in range(4) for j in range(4))
        assert form == Fraction(shown["form"]) < 0


@pytest.mark.parametrize(
    "args", [("xclr", "--labels", "1,0;0,1"), ("yaware",), ("yaware", "--labels", "0,1", "--dim", 1)]
)
def test_exact_verdicts_of_what_is_not_in_fractions_are_refused(run, args):
    done = run("realizable", "--weighting", *args, "--exact")
    assert (done.code, done.stdout) == (2, "")
    assert "--exact: exact verdicts are for y-Aware" in done.stderr


def digit_changed(text: str, rng: random.Random) -> str:
    """The same number with one digit changed, as a number."""
    places = [m.start() for m in re.finditer("[0-9]", text)]
    while True:
        at = rng.choice(places)
        other = text[:at] + rng.choice("0123456789") + text[at + 1 :]
        if Fraction(other) != Fraction(text):
            return other


def places_in(data, path=()):
    """Every number in quotes, by its path."""
    if isinstance(data, dict):
        return [found for key, value in data.items() if key != "names" for found in places_in(value, (*path, key))]
    if isinstance(data, list):
        return [found for i, value in enumerate(data) for found in places_in(value, (*path, i))]
    return [path] if isinstance(data, str) and verify.NUMBER.fullmatch(data) else []


def changed(proof, within, rng):
    """A copy of a proof in which one digit of what stands at ``within`` is another."""
    other = copy.deepcopy(proof)
    *above, last = rng.choice([place for place in places_in(proof) if place[: len(within)] == within])
    inner = other
    for key in above:
        inner = inner[key]
    inner[last] = digit_changed(inner[last], rng)
    return other


def rejected(proof) -> bool:
    try:
        return not holds(proof)
    except verify.NotAProofError:
        return True


def made_false(proof, within, is_false, rng, count=200):
    """``count`` proofs with one digit changed that make a claim false, by an independent reckoning."""
    found = []
    while len(found) < count:
        other = changed(proof, within, rng)
        if is_false(other):
            found.append(other)
    return found


def value_is_false(proof):
    p, vectors, _ = expanded(proof)
    return supcon(p, vectors @ vectors.T, 0.5)[0] > float(proof["claims"][0]["at_most"]) + 1e-14


def bound_is_false(proof):
    return float(proof["claims"][1]["at_least"]) > -0.7208670871


def dual_is_false(proof):
    """The bound does not follow from this mu."""
    p, vectors, mu = expanded(proof)
    gram = vectors @ vectors.T
    value, slope = supcon(p, gram, 0.5)
    S = slope + np.diag(mu)
    delta = (value - np.sum(S * gram) - float(proof["claims"][1]["at_least"])) / 3
    return delta < -1e-14 or np.linalg.eigvalsh(S + delta * np.eye(3))[0] < -1e-14


@pytest.mark.slow
def test_one_digit_that_makes_a_claim_about_the_loss_false_is_found(run, tmp_path):
    proof = written(run, tmp_path, "imbalance", "--props", ".7,.2,.1", "-t", ".5")
    rng = random.Random(1)
    cases = [
        (("claims", 0), value_is_false),
        (("point",), value_is_false),
        (("claims", 1), bound_is_false),
        (("dual",), dual_is_false),
        (("point",), dual_is_false),
    ]
    for within, is_false in cases:
        assert not is_false(proof)
        assert all(map(rejected, made_false(proof, within, is_false, rng))), within


@pytest.mark.slow
@pytest.mark.parametrize("claim", ["collapsed", "groups", "rank"])
def test_one_digit_that_makes_a_collapse_false_is_found(run, tmp_path, claim):
    """The classes and the temperature against the closed form; a point that is not opposite is no collapse, and
    classes that are collapsed have the rank 1, else 2."""
    proof = written(run, tmp_path, "imbalance", "--props", ".95,.025,.025", "-t", ".9")
    stated = [each for each in (*proof["claims"], *proof.pop("further")) if each["claim"] == claim]
    proof |= {"claims": stated, "format": verify.FORMAT if claim == "collapsed" else verify_further.FURTHER}
    rng = random.Random(2)

    def is_false(other):
        groups = other["question"]["classes"]
        weights = [Fraction(g["weight"]) for g in groups]
        t, total = Fraction(other["question"]["loss"]["temperature"]), weights[0] + 2 * weights[1]
        if min(t, *weights) <= 0:
            return True
        share = float(weights[0] / total)
        return (t < 1000 and t > Fraction("0.01") and not collapsed(share, float(t))) or t <= Fraction("0.01")

    assert holds(proof)
    assert not is_false(proof)
    assert all(map(rejected, made_false(proof, ("question",), is_false, rng)))
    if claim == "rank":
        assert all(rejected({**proof, "claims": [{**stated[0], "rank": rank}]}) for rank in (0, 2, 3, "1", None))
        return
    if claim == "groups":
        assert all(rejected({**proof, "claims": [{**stated[0], "groups": x}]}) for x in ([[0, 1]], [[]], [[2]], 1))
        return
    assert all(rejected(changed(proof, ("point", "centroids"), rng)) for _ in range(200))
    triplet = written(run, tmp_path, "imbalance", "--props", ".7,.2,.1", "--loss", "triplet")
    triplet["claims"] = [{"claim": "unique"}]
    assert rejected(triplet)


@pytest.mark.slow
@pytest.mark.parametrize("over", ["temperature", "majority"])
def test_one_digit_that_makes_a_threshold_false_is_found(run, tmp_path, over):
    args = ("--props", ".9,.06,.04", "--over", over, *(("-t", "1") if over == "majority" else ()))
    proof = written(run, tmp_path, "threshold", *args)
    rng = random.Random(3)
    at = (lambda x: collapsed(0.9, x)) if over == "temperature" else (lambda x: collapsed(x, 1.0))

    def is_false(other):
        low, high = (float(other["claims"][0][key]) for key in ("low", "high"))
        return not 0.02 < low < high < (50 if over == "temperature" else 1) or at(low - 1e-14) or not at(high + 1e-14)

    def no_way_down(other):
        """x'Sx is not negative at the lower end."""
        groups, x = other["question"]["classes"], [float(y) for y in other["claims"][0]["against"]]
        low = float(other["claims"][0]["low"])
        p = np.array([float(g["weight"]) for g in groups])
        if over == "majority":
            p = np.array([low, *((1 - low) * p[1:] / p[1:].sum())])
        v = np.where(p == p.max(), 1.0, -1.0)
        slope = supcon(p, np.outer(v, v), low if over == "temperature" else 1.0)[1]
        S = slope - np.diag((slope * np.outer(v, v)).sum(axis=1))
        return np.array(x) @ S @ np.array(x) > 1e-15

    for within, untrue in ((("claims", 0, "low"), is_false), (("claims", 0, "high"), is_false)):
        assert not untrue(proof)
        assert all(map(rejected, made_false(proof, within, untrue, rng))), within
    assert all(map(rejected, made_false(proof, ("claims", 0, "against"), no_way_down, rng)))


@pytest.mark.slow
def test_one_digit_that_makes_a_verdict_false_is_found(run, tmp_path):
    rng = random.Random(4)
    ages = written(run, tmp_path, "realizable", "--weighting", "yaware", "--labels", "20,25,30", "--sigma", "5")

    def targets(other):
        q = other["question"]
        y = [[Fraction(x) for x in row] for row in q["labels"]]
        t, sigma = Fraction(q["temperature"]), Fraction(q["sigma"])
        if t <= 0 or sigma <= 0:
            return None
        return [[1 - t * sum((a - b) ** 2 for a, b in zip(u, v, strict=True)) / (2 * sigma**2) for v in y] for u in y]

    def not_shown(other):
        T, x = targets(other), [Fraction(y) for y in other["claims"][0]["against"]]
        return T is None or sum(x[i] * x[j] * T[i][j] for i in range(3) for j in range(3)) >= 0

    assert all(map(rejected, made_false(ages, ("claims",), not_shown, rng, 200)))
    corners = written(run, tmp_path, "realizable", "--weighting", "yaware", "--labels", "0,0;0,1;1,0;1,1", "-t", "1.2")

    def indefinite(other):
        T = targets(other)
        return T is None or np.linalg.eigvalsh(np.array(T, dtype=float))[0] < -1e-9

    assert all(map(rejected, made_false(corners, ("question",), indefinite, rng)))


def test_some_classes_share_a_point_in_every_optimum(run, tmp_path):
    """Two large classes and five small ones that are one point: 2 dimensions, against the optimum of all 7 classes
    solved as if none were alike; and classes of different size, at the same point beside a large one."""
    small = ("--loss", "infonce", "--sampling", "supervised", "--negatives", "4", "-t", "2")
    proof = written(run, tmp_path, "imbalance", "--props", "2*.45,5*.02", *small)
    assert holds(proof)
    assert proof["further"] == [
        {"claim": "groups", "groups": [[1]]},
        {"claim": "rank", "groups": [[1]], "rank": 2},
    ]
    _, vectors, _ = expanded(proof)
    assert np.allclose(vectors[2:], vectors[2], atol=0)
    cold = written(run, tmp_path, "imbalance", "--props", "2*.45,5*.02", *small[:-1], ".1")
    assert holds(cold)
    forged = {**cold, "further": proof["further"]}
    assert not holds(forged)
    merged = written(run, tmp_path, "imbalance", "--props", ".95,.03,.02", "-t", "2")
    assert merged["further"][0] == {"claim": "groups", "groups": [[1, 2]]}
    assert holds(merged)


JOINT = ".3,.02,.02,.06;.01,.2,.02,.07;.02,.03,.18,.07"
SIDES = {
    ("--props", ".7,.2,.1", "--loss", "clip", "-t", ".5"): -0.7208670871,
    ("--pairs", JOINT, "--loss", "clip", "-t", "1"): -0.402379750939,
    ("--props", "8*.125", "--loss", "siglip", "-t", ".1", "--bias", "0"): 0.13035816004,
    ("--props", ".7,.2,.1", "--loss", "cosine-softmax", "-t", ".5"): 0.08343503941,
    ("--props", ".6,.4", "--noise", ".1", "--loss", "cosine-softmax", "--margin", ".2", "--prior", "props"): None,
    ("--pairs", "2,0,1;2,0,1;0,3,1", "--loss", "siglip", "-t", ".5", "--sampling", "iid"): None,
}


@pytest.mark.parametrize(("args", "value"), SIDES.items(), ids=lambda x: " ".join(x) if isinstance(x, tuple) else "")
def test_two_sides_are_proven_at_the_loss_that_is_printed(run, tmp_path, args, value):
    """Against numbers worked out apart, where there are such."""
    path = tmp_path / "p.json"
    printed = run("crossmodal", *args, "--json", "--proof", path).json["value"]
    proof = json.loads(path.read_text())
    assert holds(proof)
    low, high = (float(proof["claims"][k][key]) for k, key in ((1, "at_least"), (0, "at_most")))
    assert low <= printed <= high < low + 1e-9
    assert value is None or abs(printed - value) < 1e-9


@pytest.mark.slow
def test_one_digit_that_makes_a_claim_about_two_sides_false_is_found(run, tmp_path):
    proof = written(run, tmp_path, "crossmodal", "--pairs", JOINT, "--loss", "clip", "-t", "1")
    rng = random.Random(5)
    pi = np.array([[float(x) for x in row.split(",")] for row in JOINT.split(";")])
    pi /= pi.sum()
    p, q = pi.sum(axis=1), pi.sum(axis=0)

    def value_is_false(other):
        points = np.array([[float(x) for x in row] for row in other["point"]["centroids"]])
        points /= np.linalg.norm(points, axis=1, keepdims=True)
        C = points[:3] @ points[3:].T
        value = p @ np.log(np.exp(C) @ q) / 2 + q @ np.log(p @ np.exp(C)) / 2 - np.sum(pi * C)
        return value > float(other["claims"][0]["at_most"]) + 1e-14

    def bound_is_false(other):
        return float(other["claims"][1]["at_least"]) > -0.402379750938

    for within, is_false in (
        (("claims", 0), value_is_false),
        (("point",), value_is_false),
        (("claims", 1), bound_is_false),
    ):
        assert not is_false(proof)
        assert all(map(rejected, made_false(proof, within, is_false, rng))), within


@pytest.mark.slow
def test_designed_weights_and_the_best_advice_are_proven(run, tmp_path):
    """Weights under which a simplex is optimal, against numbers worked out apart; a balanced sampler as the advice."""
    design = ("design", "--props", ".45,.35,.2", "-t", ".5")
    proof = written(run, tmp_path, *design)
    assert holds(proof)
    masses = [Fraction(g["anchor"]) * Fraction(g["weight"]) for g in proof["question"]["classes"]]
    shares = [float(mass / sum(masses)) for mass in masses]
    assert shares == pytest.approx([0.2376096443, 0.4440667604, 0.3183235954], abs=1e-9)
    both = written(run, tmp_path, *design, "--change", "both")
    assert holds(both)
    assert float(both["claims"][0]["at_most"]) == pytest.approx(-1.0036893322, abs=1e-9)
    assert rejected({**both, "claims": [{"claim": "bound", "at_least": "-1.0036893321"}]})
    advice = written(run, tmp_path, "advise", "--props", ".95,.03,.02", "-t", "1")
    assert holds(advice)
    assert advice["question"]["loss"]["sampler"] == "0"
    done = run(*design, "--change", "margins", "--proof", tmp_path / "none.json")
    assert (done.code, done.stdout) == (2, "")
    assert "no proof that stands alone is written for this form of supcon" in done.stderr


def test_the_checker_is_one_file_that_knows_nothing_of_geomsolve():
    text, *further = (file.read_text() for file in (FILE, *sorted(FILE.parent.glob("verify_*.py"))))
    assert max(file.count("\n") for file in (text, *further)) <= 400
    ours = [line for file in further for line in file.splitlines() if re.match("(from|import) geomsolve", line)]
    assert all(re.match(r"from geomsolve( import verify(, verify_\w+)*$|\.verify(_further)? import )", x) for x in ours)
    known = {node.names[0].name.split(".")[0] for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Import)}
    known |= {node.module.split(".")[0] for node in ast.walk(ast.parse(text)) if isinstance(node, ast.ImportFrom)}
    assert known <= set(sys.stdlib_module_names)
    assert re.findall(r"import_module\((.*?)\)", text) == ['"flint"']


@pytest.mark.slow
def test_the_file_alone_checks(run, tmp_path):
    written(run, tmp_path, "imbalance", "--props", ".7,.2,.1", "-t", ".5")
    alone = tmp_path / "alone.py"
    alone.write_text(FILE.read_text())
    command = [sys.executable, "-S", "-I", str(alone), str(tmp_path / "proof.json")]
    site = str(Path(flint.__file__).parents[1])
    command[1:3] = ["-c", f"import sys, runpy; sys.path[:] = [p for p in sys.path if p] + [{site!r}]; "
                    f"sys.argv = {command[3:]!r}; runpy.run_path({str(alone)!r}, run_name='__main__'); "]  # fmt: skip
    done = subprocess.run(command[:3], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "proven" in done.stdout


def test_verify_command(run, tmp_path):
    folder = tmp_path / "proofs"
    folder.mkdir()
    run("imbalance", "--props", ".7,.2,.1", "-t", ".5", "--proof", folder / "a.json")
    run("threshold", "--props", ".9,.06,.04", "--proof", folder / "b.json")
    done = run("verify", folder)
    assert done.code == 0
    assert "2 files: all proven." in done.stdout
    data = json.loads((folder / "a.json").read_text())
    data["claims"][1]["at_least"] = "-0.72"
    (folder / "c.json").write_text(json.dumps(data))
    done = run("verify", folder, "--json")
    assert done.code == 1
    assert [row["status"] for row in done.json["files"]] == ["proven", "proven", "not proven"]
    assert "FAILS" in run("verify", folder / "c.json").stdout


BAD = {
    "not JSON": "{",
    "format": '{"format": "geomsolve-proof/9", "kind": "optimum"}',
    "'format' is missing": "{}",
    "kind": '{"format": "geomsolve-proof/1", "kind": "hope"}',
}


@pytest.mark.parametrize("said", BAD)
def test_what_is_no_proof_is_refused(run, tmp_path, said):
    path = tmp_path / "bad.json"
    path.write_text(BAD[said])
    done = run("verify", path)
    assert (done.code, done.stdout) == (2, "")
    assert said in done.stderr


def test_bad_numbers_sizes_and_claims_are_refused(run, tmp_path):
    proof = written(run, tmp_path, "imbalance", "--props", ".7,.2,.1", "-t", ".5")
    changes = {
        "wanted a number in quotes": (("point", "spread", 0), 0),
        "wanted a number in quotes, got '0x1'": (("dual", "mu", 0), "0x1"),
        "wanted a number in quotes, got 'nan'": (("claims", 0, "at_most"), "nan"),
        "divides by zero": (("claims", 1, "at_least"), "1/0"),
        "size: wanted 1 to": (("question", "classes", 0, "size"), 10**10),
        "weights must be positive": (("question", "classes", 0, "weight"), "-1"),
        "unknown loss": (("question", "loss", "name"), "hope"),
        "takes": (("question", "loss", "margin"), "1"),
        "the temperature must be given": (("question", "loss", "temperature"), "0"),
        "at the origin": (("point", "centroids", 0), ["0", "0", "0"]),
        "claims": (("claims",), []),
        "lacks one of its keys": (("claims", 0), {"claim": "value"}),
        "value lacks one of its keys or has others": (("claims", 0, "at_least"), "0"),
        "'question' has 'dim'": (("question", "dim"), "1"),
        "'classes' has 'anchor'": (("question", "classes", 0, "anchor"), "9"),
        "'a proof' has 'slack'": (("slack",), "1"),
        "'point' has 'radius'": (("point", "radius"), "2"),
        "full_batch: wanted true or false": (("question", "loss", "full_batch"), "no"),
        "full_batch: wanted true or false, and no": (
            ("question", "loss"),
            {"name": "supcon", "temperature": "0.5", "full_batch": True, "batch": "8"},
        ),
        "views are those of a batch": (("question", "loss", "views"), "3"),
        "wanted some of": (("claims", 0), {"claim": "hope"}),
    }
    for said, (place, value) in changes.items():
        other = copy.deepcopy(proof)
        inner = other
        for key in place[:-1]:
            inner = inner[key]
        inner[place[-1]] = value
        with pytest.raises(verify.NotAProofError, match=re.escape(said)):
            verify.check(json.dumps(other))


@pytest.mark.parametrize("check", [verify.check, verify_further.check_all])
def test_an_entry_that_comes_twice_is_refused(run, tmp_path, check):
    """A reader sees the first of the two, json the last."""
    text = json.dumps(written(run, tmp_path, "imbalance", "--props", ".7,.2,.1", "-t", ".5"))
    with pytest.raises(verify.NotAProofError, match="comes twice among claim, at_least, at_least"):
        check(text.replace('"at_least": "', '"at_least": "5", "at_least": "'))


def test_weights_that_a_check_would_not_use_are_refused(run, tmp_path):
    """Of some classes only, beside a rule, or for a loss, a batch or draws that are not rebalanced."""
    proof = written(run, tmp_path, "imbalance", "--props", ".7,.2,.1", "-t", ".5", "--anchor-weights", "1,2,3")
    assert holds(proof)
    classes = proof["question"]["classes"]
    some = [classes[0], {k: x for k, x in classes[1].items() if k != "anchor"}, classes[2]]
    loss = {"name": "supcon", "temperature": "0.5"}
    for question in (
        {"loss": loss, "classes": some},
        {"loss": loss, "classes": [some[1], *classes[1:]]},
        {"loss": {**loss, "anchors": "balanced"}, "classes": classes},
        {"loss": {**loss, "batch": "8"}, "classes": classes},
        {"loss": {**loss, "full_batch": True}, "classes": [{**each, "weight": "2"} for each in classes]},
        {"loss": {**loss, "name": "bcl"}, "classes": classes},
        {"loss": {"name": "spectral"}, "classes": classes},
    ):
        with pytest.raises(verify.NotAProofError):
            verify_further.check_all(json.dumps({**proof, "question": question}))
    with pytest.raises(verify.NotAProofError, match="'further' must be list"):
        verify_further.check_all(json.dumps({**proof, "further": {"claim": "rank", "rank": 1, "groups": []}}))


def test_a_batch_of_less_than_one_pair_would_make_false_bounds_true():
    """SigLIP with less than nothing of negatives is concave in them: from pairs at right angles, where its slope is
    small, the tangent promises a loss of .6 at least; with all points at one place it is -199 log 2."""
    proof = {
        "format": verify_further.FURTHER,
        "kind": "sides",
        "question": {
            "loss": {"name": "siglip", "temperature": "0.01", "bias": "-100", "batch": "-199"},
            "pairs": [["1", "0"], ["0", "1"]],
        },
        "point": {"centroids": [["1", "0"], ["0", "1"]] * 2, "spread": ["0"] * 4},
        "dual": {"mu": ["12.5"] * 4},
        "claims": [{"claim": "bound", "at_least": "0.6"}],
    }
    with pytest.raises(verify.NotAProofError, match="batch: wanted one pair or more"):
        verify_further.check_all(json.dumps(proof))
    proof["question"]["loss"]["batch"] = "1"
    assert verify_further.check_all(json.dumps(proof))[0][1]


@pytest.mark.parametrize(
    "args",
    [
        ("imbalance", "--props", ".7,.2,.1", "--loss", "tsc"),
        ("imbalance", "--props", ".7,.2,.1", "--nonnegative", "--dim", "2"),
        ("imbalance", "--counts", "5000*101", "--loss", "cross-entropy"),
        ("imbalance", "--props", ".7,.2,.1", "--sampler", "balanced", "--batch", "8"),
        ("threshold", "--props", ".9,.06,.04", "--over", "imbalance"),
        ("threshold", "--props", ".25,.5,.25", "--over", "negatives", "--loss", "dcl"),  # linear in one: a tie
        ("realizable", "--weighting", "yaware"),
    ],
)
def test_where_no_proof_is_written_it_is_said_and_nothing_is_left(run, tmp_path, args):
    path, out = tmp_path / "p.json", tmp_path / "o.json"
    done = run(*args, "--proof", path, "--out", out)
    assert (done.code, done.stdout) == (2, "")
    assert "--proof" in done.stderr
    assert not path.exists()
    assert not out.exists()


def test_without_the_extra(run, tmp_path, monkeypatch):
    monkeypatch.setattr(verify, "flint", None)
    monkeypatch.setattr("geomsolve.cli.commands.verify.flint", None)
    written(run, tmp_path, "imbalance", "--props", ".7,.2,.1", "-t", ".5")
    done = run("verify", tmp_path / "proof.json")
    assert done.code == 2
    assert "pip install 'geomsolve[proof]'" in done.stderr
    done = run("threshold", "--props", ".9,.06,.04", "--proof", tmp_path / "t.json", "--digits", "30")
    assert done.code == 2
    assert "python-flint" in done.stderr


def test_the_version_of_the_format_is_that_which_is_checked(run, tmp_path):
    proof = written(run, tmp_path, "imbalance", "--props", ".7,.2,.1", "-t", ".5")
    assert proof["format"] == verify.FORMAT
    assert geomsolve.__version__ in proof["written_by"]


def test_a_proof_takes_no_other_files_place(run, tmp_path):
    path = tmp_path / "p.json"
    done = run("imbalance", "--props", ".7,.2,.1", "--proof", path, "--out", path)
    assert done.code == 2
    assert "--proof" in done.stderr
    assert not path.exists()


@pytest.mark.slow
@pytest.mark.parametrize("temperature", ["1e-999", "1e-30", "1e999"])
def test_numbers_beyond_all_reason_end_in_words(run, tmp_path, temperature):
    path = tmp_path / "proof.json"
    for more in ((), ("--loss", "infonce", "--negatives", "4")):
        run("imbalance", "--props", ".7,.2,.1", "-t", "1", *more, "--proof", path)
        proof = json.loads(path.read_text())
        proof["question"]["loss"]["temperature"] = temperature
        path.write_text(json.dumps(proof))
        done = run("verify", path)
        assert done.code in (1, 2)
        assert "internal error" not in done.stderr


PROBLEMS = """
kind: imbalance
props: [0.7, 0.2, 0.1]
grid: {loss.temperature: [0.5, 1]}
proof: proofs/mine.json
---
kind: levels
loss: supcon
batch: 8
classes: 2
"""


@pytest.mark.slow
def test_proofs_of_a_batch_and_of_its_page(run, tmp_path, monkeypatch):
    """Problems of one document have files of their own; what is as it was written is kept, what is not is redone."""
    monkeypatch.chdir(tmp_path)
    folder, out = tmp_path / "in", tmp_path / "out.jsonl"
    folder.mkdir()
    (folder / "p.yaml").write_text(PROBLEMS)
    assert run("batch", folder, "--out", out, "--jobs", 1, "--quiet").code == 0
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    own = [folder / "proofs" / name for name in ("mine.json", "mine-2.json")]
    assert {row["proof_file"]["file"] for row in rows if row.get("proof_file")} == set(map(str, own))
    assert all(holds(json.loads(path.read_text())) for path in own)

    done = run("batch", folder, "--out", out, "--resume", "--proof", "dir", "--jobs", 1)
    assert "2 proofs in dir" in done.stdout
    assert sorted(path.name for path in (tmp_path / "dir").iterdir()) == ["p-1.json", "p-2.json"]
    (tmp_path / "dir" / "p-2.json").write_text("{}")
    assert run("report", out, "--out", "page.html").code == 0
    page = (tmp_path / "page.html").read_text()
    assert "verified, 4 claims: dir/p-1.json" in page
    assert "not verified, as it is not the file that was written: dir/p-2.json" in page
    done = run("batch", folder, "--out", out, "--resume", "--proof", "dir", "--jobs", 1)
    assert "2 of 3 answers are kept" in done.stderr
    assert run("verify", "dir").code == 0


def test_a_problem_file_names_its_proof(run, tmp_path):
    path = tmp_path / "p.yaml"
    path.write_text("kind: imbalance\nprops: [0.7, 0.2, 0.1]\nproof: p.json\n")
    assert run("solve", path).code == 0
    assert holds(json.loads((tmp_path / "p.json").read_text()))
    assert run("solve", path, "--proof", tmp_path / "q.json").code == 0
    assert (tmp_path / "q.json").read_text() == (tmp_path / "p.json").read_text()
    for bad in ("../p.json", "/p.json", "p.yaml"):
        path.write_text(f"kind: imbalance\nprops: [0.7, 0.2, 0.1]\nproof: {bad}\n")
        done = run("validate", path)
        assert done.code == 2
        assert "in the folder of the problem or below it" in done.stdout + done.stderr
    path.write_text("kind: levels\nbatch: 8\nclasses: 2\nproof: r.json\n")
    done = run("solve", path)
    assert done.code == 2
    assert f"{path}:4:" in done.stderr
    assert not (tmp_path / "r.json").exists()


@pytest.mark.parametrize(
    ("classes", "dim", "bound"), [(3, 2, -1 / 2), (6, 3, 0), (12, 3, 5**-0.5), (27, 6, 1 / 4), (5, 2, 0.30901699437)]
)
def test_points_are_as_far_apart_as_proven(run, tmp_path, classes, dim, bound):
    """Regular simplex, octahedron, icosahedron, 27 lines, pentagon are optimal; a bound above that is refused."""
    proof = written(run, tmp_path, "capacity", "--classes", classes, "--dim", dim)
    assert holds(proof)
    high, low = (proof["claims"][k] for k in (0, 1))
    assert bound - 1e-4 < float(Fraction(low["at_least"])) <= bound + 1e-15 < float(high["at_most"]) < bound + 1e-9
    for other in (f"{bound + 1e-6:.9f}", "0.9"):
        assert rejected({**proof, "claims": [{**low, "at_least": other}]})
    assert rejected({**proof, "claims": [{**high, "at_most": f"{bound - 1e-9:.12f}"}]})


@pytest.mark.slow
def test_one_digit_that_makes_a_claim_about_spacing_false_is_found(run, tmp_path):
    """Of the icosahedron; a polynomial is false that is too large at 1 or above 0 at some cosine."""
    proof = written(run, tmp_path, "capacity", "--classes", 12, "--dim", 3)
    rng = random.Random(6)
    t = np.linspace(-1, float(proof["claims"][1]["at_least"]), 20001)
    legendre = np.polynomial.legendre.Legendre

    def largest_is_false(other):
        points = np.array([[float(x) for x in row] for row in other["points"]])
        points /= np.linalg.norm(points, axis=1, keepdims=True)
        return np.triu(points @ points.T, 1).max() > float(other["claims"][0]["at_most"]) + 1e-14

    def bound_is_false(other):
        return float(other["claims"][1]["at_least"]) > 5**-0.5

    def polynomial_is_false(other):
        f = [1.0, *map(float, other["polynomial"])]
        return sum(f) > 12 + 1e-12 or min(f) < 0 or legendre(f)(t).max() > 1e-12

    cases = [("points", largest_is_false), ("polynomial", polynomial_is_false)]
    for within, is_false in [((name,), is_false) for name, is_false in cases] + [(("claims", 1), bound_is_false)]:
        assert not is_false(proof)
        assert all(map(rejected, made_false(proof, within, is_false, rng))), within
