"""Proofs about features and classifiers, against the definition of their loss."""

from __future__ import annotations

import json
import math
import random
from fractions import Fraction

import numpy as np
import pytest
from test_proofs import made_false
from test_proofs_of_batches import holds, rejected

pytest.importorskip("flint")

from geomsolve import verify, verify_losses

CASES = {
    "budget": ("--constraint", "budget:5,1"),
    "unequal budget": ("--constraint", "budget:5,0.3", "--anchor-weights", "balanced"),
    "smoothed": ("--constraint", "budget:5,1", "--smoothing", 0.1, "--logit-adjust", 1),
    "weighted": ("--constraint", "budget:2,2", "--anchor-weights", "1,2,2,4"),
    "decay": ("--regularise", 0.003),
    "strong decay": ("--regularise", 0.05, "--smoothing", 0.05),
    "margin": ("--ufm", "seli"),
}


def written(run, tmp_path, *flags):
    path = tmp_path / "p.json"
    done = run("imbalance", "--counts", "50,9,9,1", "--loss", "cross-entropy", *flags, "--json", "--proof", path)
    assert done.code == 0, done.stderr
    return done.json, json.loads(path.read_text())


def only(proof, *claims):
    return {**proof, "claims": [claim for claim in proof["claims"] if claim["claim"] in claims]}


def array(rows):
    return np.array([[float(Fraction(x)) for x in row] for row in rows])


def program(proof):
    """Counts n, weights m, prior v, targets T of the classes one by one, in the order of the proof."""
    loss, groups = proof["question"]["loss"], proof["question"]["classes"]
    n = np.array([float(Fraction(g["weight"])) for g in groups for _ in range(g["size"])])
    own = np.array([float(Fraction(g.get("anchor", "1"))) for g in groups for _ in range(g["size"])])
    k, e = len(n), float(loss.get("smoothing", 0))
    m = np.ones(k) if loss.get("anchors") == "balanced" else n * own
    return n, m / m.sum(), (n / n.sum()) ** float(loss.get("logit_adjust", 0)), (1 - e) * np.eye(k) + e / k


def cross_entropy(proof) -> float:
    """The loss with its charge, sample by class; inf where a constraint is not kept."""
    loss, (n, m, v, T) = proof["question"]["loss"], program(proof)
    H, W = (array(proof["point"][side]) for side in ("features", "classifiers"))
    Z = H @ W.T
    if loss["charge"] == "margin":
        ahead = (np.diag(Z)[:, None] - Z)[~np.eye(len(n), dtype=bool)]
        kept = ahead.min() >= 1 - 1e-15
        return (n / n.sum() @ (H**2).sum(1) + (W**2).sum()) / 2 if kept else math.inf
    q = v * np.exp(Z)
    q /= q.sum(axis=1, keepdims=True)
    value = -float(m @ np.sum(T * np.log(q), axis=1))
    if loss["charge"] == "decay":
        return value + float(loss["weight"]) * (n @ (H**2).sum(1) + (W**2).sum()) / 2
    short = (H**2).sum() <= len(n) * float(loss["features"]) and (W**2).sum() <= len(n) * float(loss["classifiers"])
    return value if short else math.inf


@pytest.mark.parametrize("case", CASES)
def test_what_is_proven_is_the_loss_by_its_definition(run, tmp_path, case):
    answer, proof = written(run, tmp_path, *CASES[case])
    assert proof["kind"] == "classifiers"
    assert holds(proof)
    high, low = (float(claim[key]) for claim, key in zip(proof["claims"], ("at_most", "at_least"), strict=True))
    assert low <= answer["value"] + 1e-12
    assert answer["value"] <= high <= low + 1e-9
    assert cross_entropy(proof) == pytest.approx(high, abs=3e-12)


@pytest.mark.parametrize("case", CASES)
def test_no_random_features_and_classifiers_go_below_the_bound(run, tmp_path, case):
    _, proof = written(run, tmp_path, *CASES[case])
    low, rng = float(proof["claims"][1]["at_least"]), np.random.default_rng(1)
    best = [array(proof["point"][side]) for side in ("features", "classifiers")]
    reached = []
    for _ in range(300):
        H, W = (x + rng.choice([1e-3, 0.1, 1.0]) * rng.standard_normal(x.shape) for x in best)
        loss, k = proof["question"]["loss"], len(H)
        if loss["charge"] == "budget":
            H *= math.sqrt(k * float(loss["features"]) / (H**2).sum()) * 0.999999
            W *= math.sqrt(k * float(loss["classifiers"]) / (W**2).sum()) * 0.999999
        elif loss["charge"] == "margin":
            Z = H @ W.T
            ahead = (np.diag(Z)[:, None] - Z)[~np.eye(k, dtype=bool)].min()
            H = H / ahead * 1.000001 if ahead > 0 else best[0]
        point = {side: x.tolist() for side, x in zip(("features", "classifiers"), (H, W), strict=True)}
        reached.append(cross_entropy({**proof, "point": point}))
    assert min(reached) >= low
    assert min(reached) < low + 0.1 * max(1, abs(low))


def test_the_least_norm_of_balanced_classes_is_its_closed_form(run, tmp_path):
    """K equal classes: Z = I - 1 1'/K, of nuclear norm K - 1, times root(1/K)."""
    path = tmp_path / "p.json"
    assert run("imbalance", "--counts", "7*5", "--loss", "cross-entropy", "--proof", path, "--quiet").code == 0
    proof = json.loads(path.read_text())
    k = sum(group["size"] for group in proof["question"]["classes"])
    exact = (k - 1) / math.sqrt(k)
    assert holds(proof)
    assert float(proof["claims"][1]["at_least"]) < exact < float(proof["claims"][0]["at_most"]) + 1e-12


@pytest.mark.slow
@pytest.mark.parametrize("case", ["smoothed", "decay", "margin"])
def test_one_digit_that_makes_a_claim_false_is_found(run, tmp_path, case):
    _, proof = written(run, tmp_path, *CASES[case])
    rng = random.Random(7)
    value, bound = only(proof, "value"), only(proof, "bound")
    least = cross_entropy(proof)

    def too_low(other):
        return cross_entropy(other) > float(other["claims"][0]["at_most"]) + 1e-13

    for within in (("claims",), ("point",)):
        assert all(map(rejected, made_false(value, within, too_low, rng))), within
    false = made_false(bound, ("claims",), lambda p: float(p["claims"][0]["at_least"]) > least + 1e-13, rng)
    assert all(map(rejected, false))

    def no_dual(other):
        """By the formulas of the module, in double precision."""
        n, m, v, T = program(other)
        low = float(other["claims"][0]["at_least"])
        if case == "margin":
            B = array(other["dual"]["prices"])
            scaled = (np.diag(B.sum(axis=1)) - B) / np.sqrt(n / n.sum())[:, None]
            return B.sum() - np.trace(B) < low - 1e-12 or np.linalg.norm(scaled, 2) > 1 + 1e-12
        Q = array(other["dual"]["chances"])
        if Q.sum(axis=1).min() <= 0:
            return False
        Q /= Q.sum(axis=1, keepdims=True)
        with np.errstate(divide="ignore", invalid="ignore"):
            entropy = np.where(Q > 0, -Q * np.log(Q), 0.0)
        least = m @ np.sum(entropy + (Q - T) * np.log(v), axis=1)
        D = m[:, None] * (Q - T)
        loss = other["question"]["loss"]
        if case == "decay":
            norm = np.linalg.norm(D / np.sqrt(n)[:, None], 2)
            return least < low - 1e-12 or norm > float(loss["weight"]) * (1 + 1e-11)
        radius = len(n) * math.sqrt(float(loss["features"]) * float(loss["classifiers"]))
        return least - radius * np.linalg.norm(D, 2) < low - 1e-12

    assert not no_dual(bound)
    assert all(map(rejected, made_false(bound, ("dual",), no_dual, rng)))


def question(**loss):
    classes = [{"size": 1, "weight": "3"}, {"size": 1, "weight": "1"}]
    return {"loss": {"name": "cross-entropy", **loss}, "classes": classes}


BUDGET = {"charge": "budget", "features": "1", "classifiers": "1"}
REFUSED = {
    "charge: wanted budget": question(charge="hope"),
    "margin takes": question(charge="margin", smoothing="0.1"),
    "budget takes": question(charge="budget", features="1"),
    "wanted numbers above 0": question(**{**BUDGET, "features": "-1"}),
    "anchors: plain or balanced": question(**BUDGET, anchors="heavy"),
    "smoothing: wanted 0 to 1": question(**BUDGET, smoothing="1"),
    "anchor: wanted of all": {
        **question(**BUDGET),
        "classes": [{"size": 1, "weight": "3", "anchor": "1"}, {"size": 1, "weight": "1"}],
    },
    "wanted the counts": {
        **question(charge="decay", weight="0.1"),
        "classes": [{"size": 1, "weight": "3/2"}, {"size": 1, "weight": "1"}],
    },
    "101 classes are too many": {**question(**BUDGET), "classes": [{"size": 101, "weight": "1"}]},
}


@pytest.mark.parametrize("said", REFUSED)
def test_what_is_no_such_question_is_refused(said):
    proof = {"format": verify_losses.LOSSES, "kind": "classifiers", "question": REFUSED[said]}
    claims = {"dual": {"chances": [["1", "0"], ["0", "1"]]}, "claims": [{"claim": "bound", "at_least": "0"}]}
    with pytest.raises(verify.NotAProofError, match=said):
        verify_losses.check_all(json.dumps({**proof, **claims}))


@pytest.mark.parametrize(
    ("dual", "said"),
    [
        ({"chances": [["1", "0"]]}, "wanted 2 rows"),
        ({"chances": [["1"], ["1"]]}, "as many columns"),
        ({"chances": [["-1", "2"], ["0", "1"]]}, "0 or more"),
        ({"chances": [["0", "0"], ["0", "1"]]}, "no row of zeros"),
        ({"prices": [["0", "1"], ["1", "0"]]}, "chances"),
    ],
)
def test_chances_that_are_none_are_refused(dual, said):
    proof = {"format": verify_losses.LOSSES, "kind": "classifiers", "question": question(**BUDGET), "dual": dual}
    with pytest.raises(verify.NotAProofError, match=said):
        verify_losses.check_all(json.dumps({**proof, "claims": [{"claim": "bound", "at_least": "0"}]}))
