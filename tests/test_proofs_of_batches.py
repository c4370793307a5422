"""Proofs about losses of batches, soft maxima and distances, against the definitions: every draw is listed here."""

from __future__ import annotations

import copy
import itertools
import json
import math
import random
from fractions import Fraction

import numpy as np
import pytest
from test_proofs import expanded, made_false

pytest.importorskip("flint")

from geomsolve import verify, verify_further, verify_losses


def written(run, tmp_path, *args):
    """A proof, and the loss that is printed beside it."""
    path = tmp_path / "proof.json"
    done = run("imbalance", *args, "--json", "--proof", path)
    assert done.code == 0, done.stderr
    return json.loads(path.read_text()), done.json["value"]


def holds(proof) -> bool:
    return all(outcome[1] for outcome in verify_losses.check_all(json.dumps(proof)))


def rejected(proof) -> bool:
    try:
        return not holds(proof)
    except (verify.NotAProofError, ArithmeticError, ValueError):
        return True


def draws(p, size, counts=None):
    """Every sequence of ``size`` classes with its chance; ``counts``: drawn without replacement from these."""
    for some in itertools.product(range(len(p)), repeat=size):
        chance, left = 1.0, None if counts is None else list(counts)
        for c in some:
            if left is None:
                chance *= p[c]
            else:
                chance *= left[c] / sum(left)
                left[c] -= 1
        if chance:
            yield chance, some


def numbers_of(some, k):
    return [some.count(c) for c in range(k)]


def nt_xent(p, G, t, size, views, counts=None):
    """The mean over the positive pairs of a batch, one after the other."""
    value = 0.0
    for chance, some in draws(p, size, counts):
        label = [c for c in some for _ in range(views)]
        pairs = [(i, j) for i in range(len(label)) for j in range(len(label)) if i != j and label[i] == label[j]]
        cost = 0.0
        for i, j in pairs:
            others = sum(math.exp(G[label[i], c] / t) for c in label if c != label[i])
            own = math.exp(G[label[i], label[j]] / t)
            cost -= math.log(own / (own + others)) / len(pairs)
        value += chance * cost
    return value


def supcon_batch(p, G, t, size, views, counts=None):
    """The mean over anchors of minus the mean over positives, 0 without any, less what does not depend on the batch."""
    value = 0.0
    for chance, some in draws(p, size, counts):
        label = [c for c in some for _ in range(views)]
        cost = 0.0
        for i, a in enumerate(label):
            rest = label[:i] + label[i + 1 :]
            if a in rest:
                cost += math.log(sum(math.exp((G[a, c] - 1) / t) for c in rest))
        value += chance * cost / len(label)
    return value


def bcl_batch(p, G, t, size):
    value = 0.0
    for a, own in enumerate(p):
        for chance, some in draws(p, size - 1):
            value += own * chance * math.log(1 + sum(math.exp((G[a, b] - 1) / t) for b in {*some} - {a}))
    return value


def multi_similarity(p, G, t, base, k):
    value = 0.0
    for a, own in enumerate(p):
        for chance, some in draws(p, k):
            value += own * chance * t * math.log(1 + sum(math.exp((G[a, b] - base) / t) for b in some if b != a))
    return value


def n_pair(p, G, t, k):
    """An anchor against k other classes, each choice of them equally likely."""
    value = 0.0
    for a in range(len(p)):
        choices = list(itertools.combinations([b for b in range(len(p)) if b != a], k))
        for some in choices:
            cost = math.log(1 + sum(math.exp((G[a, b] - 1) / t) for b in some))
            value += cost / len(choices) / len(p)
    return value


def fixed(p, G, t, batches):
    value = 0.0
    for batch in batches:
        q = {a: p[a] / sum(p[b] for b in batch) for a in batch}
        for a in batch:
            total = 1 + sum(q[b] / q[a] * math.exp((G[a, b] - 1) / t) for b in batch if b != a)
            value += q[a] * math.log(total) / len(batches)
    return value


def distances(p, G, cost, chance):
    return sum(p[a] * cost(a, chance(a)) for a in range(len(p)))


def others(p):
    return lambda a: [x / (1 - p[a]) if b != a else 0.0 for b, x in enumerate(p)]


def lifted(p, G, far, k):
    def cost(a, r):
        total = sum(2 * k * x * math.exp(far - math.sqrt(2 - 2 * G[a, b])) for b, x in enumerate(r) if b != a)
        return max(math.log(total), 0) ** 2 / 2

    return distances(p, G, cost, others(p))


def hinge(p, G, far, power):
    def cost(a, r):
        return sum(x * max(far - math.sqrt(2 - 2 * G[a, b]), 0) ** power for b, x in enumerate(r) if b != a)

    return distances(p, G, cost, others(p))


def effective(p, G, t, counts, beta):
    w = np.array([n * (1 - beta) / (1 - beta**n) for n in counts])
    w /= w.sum()
    return float(w @ np.log(np.exp((G - 1) / t) @ p))


THREE = (6, 3, 2)
FORMS = {
    "nt-xent": (("--loss", "nt-xent", "--batch", 4, "-t", 0.5), lambda p, G: nt_xent(p, G, 0.5, 4, 2)),
    "nt-xent, one view": (
        ("--loss", "nt-xent", "--batch", 4, "--views", 1, "-t", 1),
        lambda p, G: nt_xent(p, G, 1, 4, 1),
    ),
    "nt-xent, no replacement": (
        ("--loss", "nt-xent", "--batch", 4, "--replacement", "no", "-t", 0.5),
        lambda p, G: nt_xent(p, G, 0.5, 4, 2, THREE),
    ),
    "one view": (("--batch", 5, "--views", 1, "-t", 0.5), lambda p, G: supcon_batch(p, G, 0.5, 5, 1)),
    "no replacement": (
        ("--batch", 4, "--replacement", "no", "-t", 0.5),
        lambda p, G: supcon_batch(p, G, 0.5, 4, 2, THREE),
    ),
    "one view, no replacement": (
        ("--batch", 4, "--views", 1, "--replacement", "no", "-t", 2),
        lambda p, G: supcon_batch(p, G, 2, 4, 1, THREE),
    ),
    "bcl": (("--loss", "bcl", "--batch", 5, "-t", 0.5), lambda p, G: bcl_batch(p, G, 0.5, 5)),
    "multi-similarity": (
        ("--loss", "multi-similarity", "--negatives", 4, "-t", 0.5, "--base", 0.3, "--sampling", "iid"),
        lambda p, G: multi_similarity(p, G, 0.5, 0.3, 4),
    ),
    "n-pair": (("--loss", "n-pair", "--negatives", 1, "-t", 0.5), lambda p, G: n_pair(p, G, 0.5, 1)),
    "fixed": (("--batches", "1,2;2,3;1,2,3", "-t", 0.5), lambda p, G: fixed(p, G, 0.5, [(0, 1), (1, 2), (0, 1, 2)])),
    "lifted": (("--loss", "lifted-structure", "--negatives", 5), lambda p, G: lifted(p, G, 1, 5)),
    "hinge": (("--loss", "contrastive-distance", "--neg-distance", 1.9), lambda p, G: hinge(p, G, 1.9, 1)),
    "hinge out of reach": (
        ("--loss", "contrastive-distance", "--neg-distance", 2.2),
        lambda p, G: hinge(p, G, 2.2, 1),
    ),
    "squared": (
        ("--loss", "contrastive-distance", "--neg-distance", 1.9, "--squared"),
        lambda p, G: hinge(p, G, 1.9, 2),
    ),
    "effective": (
        ("--anchor-weights", "effective:0.9", "-t", 0.5),
        lambda p, G: effective(p, G, 0.5, THREE, 0.9),
    ),
}


@pytest.mark.parametrize("name", FORMS)
def test_what_is_proven_is_the_loss_by_its_definition(run, tmp_path, name):
    args, definition = FORMS[name]
    proof, value = written(run, tmp_path, "--counts", ",".join(map(str, THREE)), *args)
    assert proof["format"] == verify_losses.LOSSES
    assert holds(proof)
    p, vectors, _ = expanded(proof)
    low, high = float(proof["claims"][1]["at_least"]), float(proof["claims"][0]["at_most"])
    assert low <= value + 1e-12
    assert value <= high
    assert high - low < 1e-9 or name == "hinge"  # whose kinks leave the gap that is printed
    assert definition(p, vectors @ vectors.T) == pytest.approx(high, abs=3e-12)


@pytest.mark.parametrize(
    "args",
    [
        ("--counts", "90,5,5,5", "--loss", "nt-xent", "--batch", 256, "-t", 4),
        ("--counts", "90,5,5,5", "--batch", 8, "--replacement", "no", "-t", 3),
        ("--counts", "90,5,5,5", "--loss", "multi-similarity", "-t", 3),
    ],
    ids=lambda args: " ".join(map(str, args)),
)
def test_collapse_and_its_rank_are_proven_of_batches(run, tmp_path, args):
    proof, _ = written(run, tmp_path, *args)
    assert holds(proof)
    assert {"claim": "collapsed"} in proof["claims"]
    assert proof["further"][-1]["rank"] == 1


@pytest.mark.slow
@pytest.mark.parametrize("name", ["nt-xent, no replacement", "multi-similarity", "lifted"])
def test_one_digit_that_makes_a_claim_false_is_found(run, tmp_path, name):
    """Of a listed batch, a mean over draws and a distance: of value, point, bound and dual."""
    args, definition = FORMS[name]
    proof, value = written(run, tmp_path, "--counts", ",".join(map(str, THREE)), *args)
    proof["claims"] = proof["claims"][:2]
    proof.pop("further", None)
    rng = random.Random(7)

    def value_is_false(other):
        try:
            p, vectors, _ = expanded(other)
            return definition(p, vectors @ vectors.T) > float(other["claims"][0]["at_most"]) + 1e-13
        except (ValueError, ZeroDivisionError):
            return True

    def bound_is_false(other):
        return float(other["claims"][1]["at_least"]) > value + 1e-12

    for within, is_false in (
        (("claims", 0), value_is_false),
        (("point",), value_is_false),
        (("claims", 1), bound_is_false),
    ):
        assert not is_false(proof)
        assert all(map(rejected, made_false(proof, within, is_false, rng))), within


def test_one_view_tells_classes_at_one_point_apart(run, tmp_path):
    """An anchor needs a second sample of its own class, so that two classes at one point are not as good as one."""
    proof, _ = written(run, tmp_path, "--counts", "90,5,5,5", "--batch", 8, "--views", 1, "-t", 3)
    assert holds(proof)
    merged = {**proof, "further": [{"claim": "groups", "groups": [[0, 1]]}]}
    assert not holds(merged)


LOSS = {"name": "nt-xent", "temperature": "0.5", "batch": "4", "views": "2", "expectation": "exact"}
REFUSED = {
    "batch: larger than all samples": {**LOSS, "batch": "20", "replacement": "no"},
    "batch: 501,501 ways": {**LOSS, "batch": "1000"},
    "expectation must be": {**LOSS, "expectation": "mean"},
    "a ratio is of draws with replacement": {**LOSS, "expectation": "ratio", "replacement": "no"},
    "views: wanted a whole number above 0": {**LOSS, "views": "0.5"},
    "batch: wanted two samples or more": {**LOSS, "expectation": "ratio", "batch": "1"},
    "replacement must be": {**LOSS, "replacement": "maybe"},
    "takes temperature, batch": {**LOSS, "sampler": "0.5"},
    "whole counts are wanted": {"name": "supcon", "temperature": "1", "anchors": "effective:0.9"},
    "wanted effective:BETA between 0 and 1": {"name": "supcon", "temperature": "1", "anchors": "effective:1.5"},
    "anchors must be": {"name": "supcon", "temperature": "1", "anchors": "hope"},
    "nothing else is taken": {"name": "supcon", "temperature": "1", "batches": [[1, 2]], "sampler": "0.5"},
    "wanted lists of different classes": {"name": "supcon", "temperature": "1", "batches": [[1, 1]]},
    "wanted one above 0 for each": {"name": "supcon", "temperature": "1", "batches": [[1, 2]], "batch_weights": ["0"]},
    "batches: wanted some": {"name": "supcon", "temperature": "1", "batches": []},
    "squared: wanted true or false": {"name": "contrastive-distance", "squared": "yes"},
    "negatives: wanted a number above 0": {"name": "lifted-structure", "negatives": "-1"},
    "negatives: wanted a whole number above 0": {"name": "multi-similarity", "temperature": "1", "negatives": "0"},
    "unknown loss": {"name": "tsc", "temperature": "1"},
}


@pytest.mark.parametrize("said", REFUSED)
def test_what_would_not_be_convex_or_not_end_is_refused(said):
    whole = "whole" not in said or "counts" not in said
    classes = [{"size": 1, "weight": w} for w in (("6", "3", "2") if whole else ("0.6", "0.3", "0.1"))]
    proof = {
        "format": verify_losses.LOSSES,
        "kind": "optimum",
        "question": {"loss": REFUSED[said], "classes": classes},
        "point": {"centroids": [["1", "0"], ["0", "1"], ["-1", "0"]], "spread": ["0"] * 3},
        "dual": {"mu": ["1"] * 3},
        "claims": [{"claim": "value", "at_most": "99"}],
    }
    with pytest.raises(verify.NotAProofError, match=said):
        verify_losses.check_all(json.dumps(proof))
    with pytest.raises(verify.NotAProofError):
        verify_further.check_all(json.dumps(proof))


@pytest.mark.parametrize(
    "args",
    [
        ("--loss", "nt-xent", "--batch", 256),
        ("--loss", "nt-xent", "--batch", 4),
        ("--loss", "nt-xent", "--batch", 4, "--digits", 20),
        ("--batch", 8, "--replacement", "no"),
        ("--batch", 8, "--replacement", "no", "-t", 0.8, "--over", "batch"),
    ],
    ids=lambda args: " ".join(map(str, args)),
)
def test_thresholds_of_batches_are_enclosed(run, tmp_path, args):
    """A proof says which mean over batches it is about: beyond 20,000 batches that of pairs, not of batches."""
    path = tmp_path / "p.json"
    done = run("threshold", "--counts", "90,5,5", *args, "--json", "--proof", path)
    assert done.code == 0, done.stderr
    proof = json.loads(path.read_text())
    assert holds(proof)
    claim = proof["claims"][0]
    if "--over" in args:
        assert (claim["low"], claim["high"], claim["collapsed"]) == ("4", "5", "below")
    else:
        value = done.json["threshold"]["value"]
        assert float(claim["low"]) - 1e-12 <= value <= float(claim["high"]) + 1e-12


def test_a_threshold_over_too_many_batches_has_no_proof(run, tmp_path):
    done = run(
        *("threshold", "--counts", "900,50,40,30,20,20,5", "--batch", 16, "--replacement", "no"),
        *("--proof", tmp_path / "p.json"),
    )
    assert (done.code, done.stdout) == (2, "")
    assert "too many batches to list" in done.stderr


def test_two_samples_of_one_view_say_nothing_of_the_geometry():
    """An anchor with its one positive has no negative: F is 0 everywhere, and no optimum is the only one."""
    classes = [{"size": 1, "weight": w} for w in ("6", "3", "2")]
    loss = {"name": "bcl", "temperature": "1", "batch": "2", "views": "1"}
    proof = {
        "format": verify_losses.LOSSES,
        "kind": "optimum",
        "question": {"loss": loss, "classes": classes},
        "point": {"centroids": [["1", "0"], ["0", "1"], ["-1", "0"]], "spread": ["0"] * 3},
        "dual": {"mu": ["1"] * 3},
        "claims": [{"claim": "unique"}],
    }
    assert not holds(proof)
    proof["question"]["loss"] = {**loss, "batch": "1000000000"}
    assert holds(proof)


def test_too_many_batches_are_said_when_the_proof_is_asked_for(run, tmp_path):
    done = run(
        *("imbalance", "--counts", "50,40,30,20,10,5", "--batch", 64, "--replacement", "no"),
        *("--proof", tmp_path / "p.json"),
    )
    assert (done.code, done.stdout) == (2, "")
    assert "too many batches to list" in done.stderr
    assert not (tmp_path / "p.json").exists()


def test_what_is_taken_for_granted_stands_beside_the_claims(run, tmp_path):
    proof, _ = written(run, tmp_path, "--counts", "6,3,2", "--loss", "multi-similarity")
    assert "one encoder" in proof["assuming"]
    shown = [said for said, _, _ in verify_losses.check_all(json.dumps(proof))]
    assert [("assuming" in said) for said in shown] == [False] + [True] * (len(shown) - 1)
    hidden = copy.deepcopy(proof) | {"assuming": "\x1b[2J"}
    assert not any("\x1b" in said for said, _, _ in verify_losses.check_all(json.dumps(hidden)))
    assert Fraction(proof["question"]["loss"]["base"]) == Fraction(1, 2)
