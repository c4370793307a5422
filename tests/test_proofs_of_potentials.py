"""Proofs about potentials of one's own and about non-negative features, against their definitions."""

from __future__ import annotations

import json
import math
import random
from fractions import Fraction

import numpy as np
import pytest
from test_proofs import expanded, made_false
from test_proofs_of_batches import holds, rejected

pytest.importorskip("flint")

from geomsolve import verify
from geomsolve.verify_potentials import FUNCTIONS, Potential

PSIS = {
    "(x - 0.2)**2": lambda x: (x - 0.2) ** 2,
    "log1p(exp(5*(x-0.3)))": lambda x: np.log1p(np.exp(5 * (x - 0.3))),
    "exp(3*x) + sqrt(x + 1.5)**3": lambda x: np.exp(3 * x) + (x + 1.5) ** 1.5,
    "logaddexp(x, 2*x - 1) + 1/(x + 3)": lambda x: np.logaddexp(x, 2 * x - 1) + 1 / (x + 3),
    "square(x) - cos(x)/4 + x*pi": lambda x: x * x - np.cos(x) / 4 + x * math.pi,
}


def written(run, tmp_path, *flags):
    path = tmp_path / "p.json"
    done = run("imbalance", *flags, "--json", "--proof", path)
    assert done.code == 0, done.stderr
    return done.json, json.loads(path.read_text())


def claims_of(proof):
    return {claim["claim"]: claim for claim in proof["claims"]}


def only(proof, *claims):
    return {**proof, "claims": [claim for claim in proof["claims"] if claim["claim"] in claims]}


def pairwise(proof, psi) -> float:
    """Pair by pair, at the point of a proof."""
    p, vectors, _ = expanded(proof)
    gram = vectors @ vectors.T
    pairs = ((a, b) for a in range(len(p)) for b in range(len(p)) if a != b)
    return float(sum(p[a] * p[b] / (1 - p[a]) * psi(gram[a, b]) for a, b in pairs))


@pytest.mark.parametrize("psi", PSIS)
def test_what_is_proven_is_the_potential_that_was_written(run, tmp_path, psi):
    answer, proof = written(run, tmp_path, "--props", "5,2*2,1", "--loss", "pairwise", "--psi", psi)
    assert holds(proof)
    low, high = float(claims_of(proof)["bound"]["at_least"]), float(claims_of(proof)["value"]["at_most"])
    assert low <= answer["value"] <= high <= low + 1e-9
    assert pairwise(proof, PSIS[psi]) == pytest.approx(high, abs=3e-12)
    assert ("unique" in claims_of(proof)) == (answer["unique"] is True)


def test_every_function_is_what_its_name_says():
    known = {name: getattr(np, name) for name in FUNCTIONS if name not in ("arctan", "logaddexp")}
    verify.flint.ctx.cap = 3
    for name, function in known.items():
        for x in (0.3, 2.5):
            made = FUNCTIONS[name](verify.flint.arb_series([verify.flint.arb(x), 1]))
            assert float(made[0].mid()) == pytest.approx(float(function(x)), rel=1e-12), name
            slope = (function(x + 1e-6) - function(x - 1e-6)) / 2e-6
            assert float(made[1].mid()) == pytest.approx(slope, rel=1e-6, abs=1e-8), name
    two = [verify.flint.arb_series([verify.flint.arb(x), 1]) for x in (0.3, 0.9)]
    assert float(FUNCTIONS["logaddexp"](*two)[0].mid()) == pytest.approx(np.logaddexp(0.3, 0.9), rel=1e-12)
    assert float(FUNCTIONS["arctan"](two[0])[0].mid()) == pytest.approx(math.atan(0.3), rel=1e-12)


@pytest.mark.parametrize("scale", [1, 10, 100, 1000])
def test_a_steep_soft_maximum_is_shown_to_be_strictly_convex(scale):
    for psi in (f"log1p(exp({scale}*(x-0.5)))", f"log(1 + exp({scale}*(x-0.5)))", f"logaddexp(0, {scale}*(x-0.5))"):
        assert Potential(psi).strict


def test_a_line_is_convex_and_not_strictly():
    assert not Potential("3*x - 1").strict
    assert Potential("x + x**2/10").strict


REFUSED = {
    "sin(x)": "not shown to be convex",
    "-x**2": "not shown to be convex",
    "log(x)": "not shown to be convex",
    "x**3": "not shown to be convex",
    "x +": "no expression",
    "y": "can stand in it",
    "abs(x)": "can stand in it",
    "x if x else x": "can stand in it",
    "__import__('os')": "can stand in it",
    "exp(x, x)": "another number of arguments",
    "-1e-400*1e200*1e200*x**2": "not shown to be convex",
    "(0.99999999999999999-1)*1e20*x**2": "not shown to be convex",
    "(x**9).exp(x)": "can stand in it",
    "exp(" + "-" * 400 + "x)": "within each other",
    "True*x**2": "can stand in it",
    "+".join(["x**2"] * 120): "longer than 500",
    "-" * 60 + "x**2": "within each other",
}


@pytest.mark.parametrize("psi", REFUSED)
def test_what_is_no_convex_potential_is_no_proof(psi):
    with pytest.raises(verify.NotAProofError, match=REFUSED[psi]):
        Potential(psi)


def test_what_the_check_cannot_show_gets_no_proof(run, tmp_path):
    done = run("imbalance", "--props", "5,3,2", "--loss", "pairwise", "--psi", "x**4", "--proof", tmp_path / "p.json")
    assert done.code == 2
    assert "not shown to be convex" in done.stderr
    assert not (tmp_path / "p.json").exists()


# ---- features without negative coordinates


def shares(proof):
    weights = [(Fraction(g["weight"]), g["size"]) for g in proof["question"]["classes"]]
    total = sum(w * n for w, n in weights) or 1
    return [float(w / total) for w, n in weights for _ in range(n)]


def frame_supcon(proof) -> float:
    """All other classes at cosine 0: sum_a p_a log(p_a + (1 - p_a) e^{-1/t})."""
    t = float(proof["question"]["loss"]["temperature"])
    return sum(p * math.log(p + (1 - p) * math.exp(-1 / t)) for p in shares(proof))


@pytest.mark.parametrize("temperature", ["0.1", "1", "5"])
def test_the_frame_of_supcon_has_the_loss_of_its_closed_form(run, tmp_path, temperature):
    answer, proof = written(run, tmp_path, "--props", "5,2*2,1", "-t", temperature, "--nonnegative")
    assert answer["structure"]["kind"] == "orthogonal frame"
    assert holds(proof)
    assert [*claims_of(proof)] == ["value", "bound", "unique"]
    assert frame_supcon(proof) == pytest.approx(float(claims_of(proof)["value"]["at_most"]), abs=3e-12)
    assert 0 < frame_supcon(proof) - float(claims_of(proof)["bound"]["at_least"]) < 3e-11


@pytest.mark.parametrize(
    "flags",
    [
        ("--loss", "triplet", "--margin", 1.5),
        ("--loss", "n-pair", "-t", 0.5),
        ("--loss", "spectral"),
        ("--loss", "infonce", "--negatives", 8),
        ("--loss", "contrastive-distance", "--neg-distance", 1.8),
        ("--loss", "pairwise", "--psi", "x**2", "--sampling", "iid"),
        ("--loss", "supcon", "--batch", 8),
        ("--loss", "nt-xent", "--batch", 4),
    ],
    ids=str,
)
def test_frames_of_other_losses_are_proven(run, tmp_path, flags):
    answer, proof = written(run, tmp_path, "--props", "5,2*2,1", "--nonnegative", *flags)
    assert answer["structure"]["kind"] == "orthogonal frame"
    assert proof["kind"] == "frame"
    assert holds(proof)
    low, high = float(claims_of(proof)["bound"]["at_least"]), float(claims_of(proof)["value"]["at_most"])
    assert low <= answer["value"] <= high


def test_what_is_no_frame_gets_no_proof(run, tmp_path):
    flags = ("--loss", "soft-supcon", "--epsilon", 0.9, "--temperature", 1)
    done = run("imbalance", "--props", "5,3,2", "--nonnegative", *flags, "--proof", tmp_path / "p.json")
    assert done.code == 2
    assert "orthogonal frame, which is not the optimum" in " ".join(done.stderr.split())


def test_a_frame_of_classes_that_attract_each_other_is_refused(run, tmp_path):
    """A potential that is least at cosine .2: the frame is no optimum there, whatever is claimed."""
    _, proof = written(run, tmp_path, "--props", "5,3,2", "--nonnegative", "--loss", "pairwise", "--psi", "(x+0.2)**2")
    assert holds(proof)
    proof["question"]["loss"]["psi"] = "(x-0.2)**2"
    for claim in ("bound", "unique"):
        assert rejected(only(proof, claim))


def test_shares_off_a_kink_do_not_make_a_frame_the_only_optimum():
    """Margin 0.5: every cosine in [0, 0.5] costs nothing."""
    question = {"loss": {"name": "triplet", "margin": "0.5"}, "classes": [{"size": 2, "weight": "1"}]}
    proof = {"format": "geomsolve-proof/3", "kind": "frame", "question": question, "dual": {"shares": [["0.5"]]}}
    assert rejected({**proof, "claims": [{"claim": "unique"}]})


@pytest.mark.slow
def test_one_digit_that_makes_a_claim_false_is_found(run, tmp_path):
    rng = random.Random(5)
    _, frame = written(run, tmp_path, "--props", "5,2*2,1", "-t", "0.5", "--nonnegative")
    exact = frame_supcon(frame)

    def at_most(other):
        return frame_supcon(other) > float(other["claims"][0]["at_most"]) + 1e-14

    def at_least(other):
        return float(other["claims"][0]["at_least"]) > exact + 1e-14

    def too_low(other):
        made = float(other["question"]["loss"]["temperature"]) > 0 and min(shares(other), default=0) > 0
        return made and float(other["claims"][0]["at_least"]) > frame_supcon(other) + 1e-14

    for claim, false in (("value", at_most), ("bound", at_least)):
        assert all(map(rejected, made_false(only(frame, claim), ("claims",), false, rng))), claim
    assert all(map(rejected, made_false(only(frame, "bound"), ("question",), too_low, rng)))
    psi = "log1p(exp(5*(x-0.3)))"
    _, own = written(run, tmp_path, "--props", "5,2*2,1", "--loss", "pairwise", "--psi", psi)

    def above(other):
        return pairwise(other, PSIS[psi]) > float(other["claims"][0]["at_most"]) + 1e-14

    for within in (("claims",), ("point",)):
        assert all(map(rejected, made_false(only(own, "value"), within, above, rng))), within
    least = pairwise(own, PSIS[psi])
    false = made_false(only(own, "bound"), ("claims",), lambda p: float(p["claims"][0]["at_least"]) > least, rng)
    assert all(map(rejected, false))
