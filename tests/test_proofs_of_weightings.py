"""Proofs about weightings whose wanted cosines are no fractions, against their definitions."""

from __future__ import annotations

import json
import math
import random

import numpy as np
import pytest
from test_proofs import expanded, made_false
from test_proofs_of_batches import holds, rejected

pytest.importorskip("flint")

from geomsolve import verify, verify_losses


def weights_of(proof):
    """w (m, m) between distinct labels, from what a proof says."""
    question = proof["question"]
    given = question["weighting"]
    if given["name"] == "custom":
        return np.array(given["weights"], dtype=float)
    y = np.array(question["labels"], dtype=float)
    if given["name"] == "soft-supcon":
        return np.where(np.eye(len(y)) > 0, 1.0, float(given["epsilon"]))
    if given["name"] == "jaccard":
        return np.array([[np.minimum(u, v).sum() / np.maximum(u, v).sum() for v in y] for u in y])
    if given["name"] == "xclr":
        u = y / np.linalg.norm(y, axis=1, keepdims=True)
        return np.exp((u @ u.T - 1) / float(given["target_temperature"]))
    u = np.linalg.norm(y[:, None] - y, axis=2) / float(given["sigma"])
    kernels = {
        "gaussian": np.exp(-u * u / 2),
        "exponential": np.exp(-u),
        "linear": 1 - u,
        "epanechnikov": 1 - u * u,
        "cosine": np.cos(math.pi * u / 2),
    }
    return kernels[given["kernel"]]


def loss_of(proof) -> float:
    """Weighted InfoNCE sample by sample, at the point of a proof."""
    question = proof["question"]
    label = np.repeat(np.arange(len(question["sizes"])), question["sizes"])
    w = weights_of(proof)[np.ix_(label, label)]
    P = w / w.sum(axis=1, keepdims=True)
    shown = {**proof, "question": {"classes": [{"size": n, "weight": "1"} for n in question["sizes"]]}}
    vectors = expanded(shown)[1]
    t = (vectors @ vectors.T - 1) / float(question["temperature"])
    if question.get("self_pairs") == "exclude":
        others = ~np.eye(len(w), dtype=bool)
        P = w * others / (w * others).sum(axis=1, keepdims=True)
        means = (np.exp(t) * others).sum(axis=1) / (len(w) - 1)
        return float(np.mean(np.log(means) - (P * t).sum(axis=1)))
    return float(np.mean(np.log(np.exp(t).mean(axis=1)) - (P * t).sum(axis=1)))


def wanted(proof):
    w = weights_of(proof)
    return 1 + float(proof["question"]["temperature"]) * np.log(w / w[0, 0])


CASES = [
    ("xclr", ("--labels", "sphere:12:3"), "realizable"),
    ("xclr", ("--labels", "sphere:12:3", "--target-temperature", 0.05), "not realizable"),
    ("soft-supcon", ("--labels", "classes:5,3,2", "--epsilon", 0.05), "realizable"),
    ("soft-supcon", ("--labels", "classes:5,3,2", "--epsilon", 1e-7), "not realizable"),
    ("custom", ("--weights", "1,.5,.2;.5,1,.5;.2,.5,1"), "realizable"),
    ("custom", ("--weights", "1,.5;.5,2"), None),
    ("yaware", ("--kernel", "exponential", "--labels", "20,25,25,30", "--sigma", 5), "realizable"),
    ("yaware", ("--kernel", "cosine", "--labels", "20,25,30", "--sigma", 50), "not realizable"),
    ("jaccard", ("--labels", "multilabel:a|b,b,b|c"), "realizable"),
]


@pytest.mark.parametrize(("name", "flags", "verdict"), CASES, ids=str)
def test_what_is_proven_is_the_weighting_by_its_definition(run, tmp_path, name, flags, verdict):
    path = tmp_path / "p.json"
    done = run("realizable", "--weighting", name, *flags, "--json", "--proof", path)
    assert done.code == 0, done.stderr
    proof = json.loads(path.read_text())
    assert holds(proof)
    claims = {claim["claim"]: claim for claim in proof["claims"]}
    assert [key for key in claims if "realizable" in key] == ([verdict] if verdict else [])
    low, high = float(claims["bound"]["at_least"]), float(claims["value"]["at_most"])
    assert low <= done.json["optimum"]["value"] <= high <= low + 1.1e-6
    assert loss_of(proof) == pytest.approx(high, abs=3e-12)
    if verdict == "not realizable":
        x = np.array(claims[verdict]["against"], dtype=float)
        assert x @ wanted(proof) @ x < 0
    elif verdict:
        assert np.linalg.eigvalsh(wanted(proof))[0] > -1e-12


@pytest.mark.parametrize(
    ("flags", "verdict"),
    [
        (("yaware", "--labels", "20,25,30", "--sigma", 5), True),
        (("yaware", "--labels", "20,25,30,30", "--sigma", 5, "--kernel", "exponential"), True),
        (("yaware", "--labels", "20,25,30,37,80,90", "--sigma", 5), False),
        (("custom", "--weights", "1,.5,.2;.5,3,.5;.2,.5,1"), True),
        (("soft-supcon", "--labels", "classes:5,3,2", "--epsilon", 0.01), True),
    ],
    ids=str,
)
def test_without_self_pairs_the_proof_is_of_sums_over_others(run, tmp_path, flags, verdict):
    path = tmp_path / "p.json"
    done = run("realizable", "--weighting", *flags, "--self-pairs", "exclude", "--json", "--proof", path)
    assert done.code == 0, done.stderr
    assert (done.json["verdict"] == "realizable") == verdict
    proof = json.loads(path.read_text())
    assert holds(proof)
    claims = {claim["claim"]: claim for claim in proof["claims"]}
    low, high = float(claims["bound"]["at_least"]), float(claims["value"]["at_most"])
    assert low <= done.json["optimum"]["value"] <= high <= low + 1.1e-6
    assert loss_of(proof) == pytest.approx(high, abs=3e-12)
    assert ("realizable with a constant" in claims) == verdict
    if verdict:
        question = proof["question"]
        label = np.repeat(np.arange(len(question["sizes"])), question["sizes"])
        c = float(claims["realizable with a constant"]["constant"])
        T = c + float(question["temperature"]) * np.log(weights_of(proof)[np.ix_(label, label)])
        np.fill_diagonal(T, 1.0)
        assert np.linalg.eigvalsh(T)[0] > 0
        claims["realizable with a constant"]["constant"] = "1.5"  # no cosines of 1.5 between unit vectors
        assert rejected({**proof, "claims": [claims["realizable with a constant"]]})


def kernel_of(u):
    return np.exp(-u * u / 2)


BY_NUMBERS = {
    "supcon": (("supcon", "--labels", "classes:5,3,2"), [0] * 5 + [1] * 3 + [2] * 2, lambda a, b: float(a == b)),
    "linear": (
        ("yaware", "--labels", "20,25,30,44", "--sigma", 8, "--kernel", "linear"),
        [20, 25, 30, 44],
        lambda a, b: max(0.0, 1 - abs(a - b) / 8),
    ),
    "columns": (
        ("yaware", "--labels", "20,25,30,30,44", "--sigma", 8, "--normalise", "columns"),
        [20, 25, 30, 30, 44],
        lambda a, b: kernel_of((a - b) / 8),
    ),
    "binned": (
        ("yaware", "--labels", "20,24,30,44", "--sigma", 8, "--bin", 10),
        [20, 20, 30, 40],
        lambda a, b: kernel_of((a - b) / 8),
    ),
}


@pytest.mark.parametrize("case", BY_NUMBERS)
def test_weightings_that_are_not_known_by_name_are_proven_as_numbers(run, tmp_path, case):
    """sum_ij (w_ij / Z) (log mean_k e^{t_ik} - t_ij) / N, Z of row i, or of column j."""
    flags, labels, weight = BY_NUMBERS[case]
    path = tmp_path / "p.json"
    done = run("realizable", "--weighting", *flags, "--json", "--proof", path)
    assert done.code == 0, done.stderr
    proof = json.loads(path.read_text())
    assert holds(proof)
    assert flags[0] in proof["assuming"]
    question = proof["question"]
    shown = {**proof, "question": {"classes": [{"size": n, "weight": "1"} for n in question["sizes"]]}}
    vectors = expanded(shown)[1]
    t = (vectors @ vectors.T - 1) / float(question["temperature"])
    w = np.array([[weight(a, b) for b in labels] for a in labels])
    P = w / w.sum(axis=0 if case == "columns" else 1).reshape((1, -1) if case == "columns" else (-1, 1))
    loss = float(np.mean((P * (np.log(np.exp(t).mean(axis=1))[:, None] - t)).sum(axis=1)))
    claims = {claim["claim"]: claim for claim in proof["claims"]}
    low, high = float(claims["bound"]["at_least"]), float(claims["value"]["at_most"])
    assert low <= done.json["optimum"]["value"] + 1e-12
    assert done.json["optimum"]["value"] <= high <= low + 1.1e-6
    assert loss == pytest.approx(high, abs=3e-12)


def test_no_verdict_is_claimed_where_weights_are_0(run, tmp_path):
    path = tmp_path / "p.json"
    run("realizable", "--weighting", "supcon", "--labels", "classes:2,2", "--proof", path)
    proof = json.loads(path.read_text())
    with pytest.raises(verify.NotAProofError, match="some weights are 0"):
        verify_losses.check_all(json.dumps({**proof, "claims": [{"claim": "realizable"}]}))


def test_a_verdict_is_of_the_self_pairs_that_the_question_has(run, tmp_path):
    path = tmp_path / "p.json"
    flags = ("--labels", "20,25,30", "--kernel", "exponential", "--sigma", 5)
    for pairs, other in (("exclude", {"claim": "realizable"}), ("include", {"claim": "realizable with a constant"})):
        run("realizable", "--weighting", "yaware", *flags, "--self-pairs", pairs, "--proof", path)
        constant = {} if pairs == "exclude" else {"constant": "0"}
        proof = {**json.loads(path.read_text()), "claims": [{**other, **constant}]}
        with pytest.raises(verify.NotAProofError, match="self_pairs say otherwise"):
            verify_losses.check_all(json.dumps(proof))


@pytest.mark.slow
def test_one_digit_that_makes_a_claim_false_is_found(run, tmp_path):
    def written(*flags):
        run("realizable", "--weighting", *flags, "--proof", tmp_path / "p.json")
        return json.loads((tmp_path / "p.json").read_text())

    rng = random.Random(3)
    bad = written("xclr", "--labels", "sphere:6:3", "--target-temperature", "0.05")

    def only(proof, *claims):
        return {**proof, "claims": [claim for claim in proof["claims"] if claim["claim"] in claims]}

    def not_shown(other):
        x = np.array(other["claims"][0]["against"], dtype=float)
        return x @ wanted(other) @ x > 1e-12

    shown = only(bad, "not realizable")
    assert not not_shown(shown)
    assert all(map(rejected, made_false(shown, ("claims",), not_shown, rng)))
    good = only(written("soft-supcon", "--labels", "classes:5,3,2", "--epsilon", "0.05"), "realizable")

    def indefinite(other):
        try:
            return np.linalg.eigvalsh(wanted(other))[0] < -1e-9
        except (ValueError, ZeroDivisionError):
            return True

    assert all(map(rejected, made_false(good, ("question", "temperature"), indefinite, rng)))
    value = only(bad, "value")
    for within in (("claims",), ("point",)):
        false = made_false(value, within, lambda p: loss_of(p) > float(p["claims"][0]["at_most"]) + 1e-13, rng)
        assert all(map(rejected, false)), within
    bound = only(bad, "bound")
    least = float(only(bad, "value")["claims"][0]["at_most"])
    false = made_false(bound, ("claims",), lambda p: float(p["claims"][0]["at_least"]) > least, rng)
    assert all(map(rejected, false))


XCLR = {"name": "xclr", "target_temperature": "0.1"}
REFUSED = {
    "target_temperature: wanted above 0": ({**XCLR, "target_temperature": "-1"}, [["1", "0"], ["0", "1"]]),
    "no label of zeros": (XCLR, [["1", "0"], ["0", "0"]]),
    "xclr takes target_temperature": ({**XCLR, "sigma": "1"}, [["1", "0"], ["0", "1"]]),
    "wanted distinct ones": (XCLR, [["1", "0"], ["1", "0"]]),
    "epsilon: wanted a number above 0, up to 1": ({"name": "soft-supcon", "epsilon": "2"}, [["0"], ["1"]]),
    "some weights are 0": ({"name": "yaware", "sigma": "1", "kernel": "linear"}, [["0"], ["2"]]),
    "kernel: wanted one of": ({"name": "yaware", "sigma": "1", "kernel": "box"}, [["0"], ["2"]]),
    "share none": ({"name": "jaccard"}, [["1", "0"], ["0", "1"]]),
    "a matrix takes none": ({"name": "custom", "weights": [["1", "1"], ["1", "1"]]}, [["0"], ["1"]]),
    "wanted a symmetric matrix": ({"name": "custom", "weights": [["1", ".5"], [".4", "1"]]}, None),
    "wanted numbers of 0 or more": ({"name": "custom", "weights": [["1", "-1"], ["-1", "1"]]}, None),
    "a sample has none above 0": ({"name": "custom", "weights": [["1", "0"], ["0", "0"]]}, None),
    "those of samples with themselves differ": ({"name": "custom", "weights": [["1", "0.5"], ["0.5", "2"]]}, None),
    "hope takes": ({"name": "hope"}, [["0"], ["1"]]),
}


@pytest.mark.parametrize("said", REFUSED)
def test_what_is_no_such_weighting_is_refused(said):
    weighting, labels = REFUSED[said]
    question = {"weighting": weighting, "sizes": [1, 1], "temperature": "1"}
    if labels is not None:
        question["labels"] = labels
    proof = {"format": verify_losses.LOSSES, "kind": "weighting", "question": question}
    if said == "wanted a symmetric matrix":
        weighting["weights"][0][1], weighting["weights"][1][0] = "0.5", "0.4"
    with pytest.raises(verify.NotAProofError, match=said):
        verify_losses.check_all(json.dumps({**proof, "claims": [{"claim": "realizable"}]}))


@pytest.mark.parametrize("sizes", [None, [1], [1, 0], ["x", 1]])
def test_a_verdict_with_sizes_that_make_no_sense_is_refused(sizes):
    question = {"weighting": {"name": "soft-supcon", "epsilon": "0.5"}, "labels": [["0"], ["1"]], "temperature": "1"}
    proof = {"format": verify_losses.LOSSES, "kind": "weighting", "claims": [{"claim": "realizable"}]}
    assert holds({**proof, "question": {**question, "sizes": [1, 2]}})
    with pytest.raises(verify.NotAProofError, match="size"):
        verify_losses.check_all(json.dumps({**proof, "question": {**question} | ({"sizes": sizes} if sizes else {})}))
