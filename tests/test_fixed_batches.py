"""SupCon on batches that always hold the same classes: what never meets may merge."""

from __future__ import annotations

from math import exp, log

import numpy as np
import pytest
from helpers import random_gram

from geomsolve import Imbalance, InputError, Orbits, make_loss, solve

FOUR = (0.25, 0.25, 0.25, 0.25)


def answer(props=FOUR, batches=((1, 2, 3), (2, 3, 4)), temperature=0.5, *, batch_weights=None, **more):
    loss = {"name": "supcon", "temperature": temperature, "batches": batches}
    if batch_weights is not None:
        loss["batch_weights"] = batch_weights
    return solve(Imbalance(props=props, loss=loss, **more))


def test_classes_that_never_meet_merge():
    """Batches {1,2,3}, {2,3,4}, temperature .5: 1 and 4 at one point, a regular simplex of three; F .0949229564."""
    report = answer()
    assert report.certified
    assert report.unique is True
    assert report.value == pytest.approx(0.0949229564, abs=1e-10)
    assert report.value == pytest.approx(log(1 + 2 * exp(-3)), rel=1e-12)
    assert report.groups() == [["1", "4"]]
    assert report.gram[0, 3] == pytest.approx(1, abs=1e-9)
    assert report.gram[[0, 0, 1], [1, 2, 2]] == pytest.approx([-0.5] * 3, abs=1e-6)


def test_it_is_said_which_classes_never_meet(run):
    flags = ("imbalance", "--props", "1/4,1/4,1/4,1/4")
    assert "never in one batch, so not compared: classes 1 with 4" in run(*flags, "--batches", "1,2,3;2,3,4").stderr
    assert "never in one batch" not in run(*flags, "--batches", "1,2;3,4;1,3;1,4;2,3;2,4").stderr


@pytest.mark.slow
def test_descent_on_single_samples_agrees():
    pytest.importorskip("torch")
    from geomsolve import Check

    loss = {"name": "supcon", "temperature": 0.5, "batches": ((1, 2, 3), (2, 3, 4))}
    report = solve(Check(counts=[40, 30, 20, 10], loss=loss, device="cpu", steps=3000))
    assert report.verdict == "agrees"
    assert report.max_gram_error < 1e-4


def test_the_value_is_the_mean_over_batches(rng):
    p, gram, t = np.array([0.4, 0.3, 0.2, 0.1]), random_gram(rng, 4), 0.3
    batches = ((1, 2, 3), (2, 4))
    wanted = 0.0
    for batch in batches:
        inside = [a - 1 for a in batch]
        for a in inside:
            crowd = sum(p[b] / p[a] * exp((gram[a, b] - 1) / t) for b in inside if b != a)
            wanted += p[a] / p[inside].sum() * log(1 + crowd) / len(batches)
    objective = make_loss("supcon", {"temperature": t, "batches": batches}).objective(Orbits.trivial(p))
    assert objective.value(gram) == pytest.approx(wanted, rel=1e-12)
    slope = objective.gradient(gram)
    assert slope[0, 3] == slope[3, 0] == slope[2, 3] == slope[3, 2] == 0
    assert not objective.unique_minimiser


def test_batches_come_as_often_as_they_are_given():
    """Twice in the list, or twice as often by weight: the same loss, in the proof and in descent."""
    p, t = (0.4, 0.3, 0.2, 0.1), 0.3
    twice = answer(p, ((1, 2, 3), (2, 4), (1, 2, 3)), t)
    weighed = answer(p, ((1, 2, 3), (2, 4)), t, batch_weights=(4, 2))
    assert weighed.value == pytest.approx(twice.value, abs=1e-12)
    np.testing.assert_allclose(weighed.gram, twice.gram, atol=1e-6)
    torch = pytest.importorskip("torch")
    from geomsolve.descent.fixed_batches import FixedBatches
    from geomsolve.descent.population import Population

    people = Population.of(np.array(p), np.array([4, 3, 2, 1]))
    z = torch.nn.functional.normalize(torch.randn(10, 3, generator=torch.Generator().manual_seed(0)).double(), dim=1)
    one, other = (
        trial.anchor_losses(z @ z.T, *trial.frame(torch.arange(10)))
        for trial in (
            FixedBatches(people, t, [[0, 1, 2], [1, 3], [0, 1, 2]]),
            FixedBatches(people, t, [[0, 1, 2], [1, 3]], (4.0, 2.0)),
        )
    )
    np.testing.assert_allclose(one.numpy(), other.numpy(), atol=1e-12)


def test_one_batch_of_all_is_the_population_limit():
    p = (0.5, 0.3, 0.2)
    fixed = answer(p, ((1, 2, 3),))
    plain = solve(Imbalance(props=p, loss={"name": "supcon", "temperature": 0.5}))
    np.testing.assert_allclose(fixed.gram, plain.gram, atol=1e-9)
    assert fixed.value == pytest.approx(plain.value - sum(q * log(q) for q in p), abs=1e-12)


def test_solvers_agree():
    p, batches = (0.4, 0.3, 0.2, 0.1), ((1, 2, 3), (2, 3, 4))
    values = [answer(p, batches, solver=solver).value for solver in ("auto", "conic", "manifold")]
    assert values == pytest.approx([values[0]] * 3, abs=1e-7)


def test_names_numbers_and_files(tmp_path, run):
    flags = ("imbalance", "--props", "0.4,0.3,0.2,0.1", "-t", 0.5, "--names", "ant,bee,cat,4", "--json")
    by_name = run(*flags, "--batches", "ant,bee,cat;bee,cat,4").json
    assert by_name["problem"]["loss"]["batches"] == [[1, 2, 3], [2, 3, 4]]
    assert run(*flags, "--batches", "1,2,3;2,3,4").json["value"] == by_name["value"]
    (tmp_path / "b.txt").write_text("ant,bee,cat  # the first\nbee,cat,4\n")
    assert run(*flags, "--batches", f"@{tmp_path / 'b.txt'}").json["value"] == by_name["value"]
    file = tmp_path / "p.yaml"
    file.write_text(
        "kind: imbalance\nprops: [0.4, 0.3, 0.2, 0.1]\nloss: {temperature: 0.5, batches: [[1, 2, 3], [2, 3, 4]]}\n"
    )
    assert run("validate", file).code == 0
    assert run("solve", file, "--json").json["value"] == by_name["value"]
    warm = run("sweep", *flags[1:3], "--batches", "1,2,3;2,3,4", "--over", "temperature=0.1,1", "--json")
    assert warm.code == 0


@pytest.mark.parametrize(
    ("batches", "words"),
    [
        ("1,2;2,5", "unknown class '5'; give names of classes, or numbers from 1 to 4"),
        ("1,2;2,x", "unknown class 'x'"),
        ("1,2;2,3", "class '4' is in no batch"),
        ("1,2,3;4", "groups of two or more classes"),
        ("1,1,2;3,4", "names a class twice"),
        ("", "groups of two or more classes"),
    ],
)
def test_what_makes_no_sense_is_refused(batches, words, run):
    refused = run("imbalance", "--props", "0.4,0.3,0.2,0.1", "--batches", batches)
    assert refused.code == 2
    assert "--batches" in refused.stderr
    assert words in " ".join(refused.stderr.split())


def test_what_does_not_go_together_is_refused(run):
    flags = ("--props", "0.4,0.3,0.3", "--batches", "1,2;2,3")
    assert "--batch: fixed batches" in run("imbalance", *flags, "--batch", 8).stderr
    assert run("levels", *flags, "--batch", 8).code == 2
    refused = run("imbalance", *flags, "--batch-weights", "1,2,3").stderr
    assert refused == "Error: --batch-weights: 3 numbers for 2 batches; give one for each of --batches\n"
    assert "no fixed batches" in run("imbalance", *flags[:2], "--batch-weights", "1,2").stderr
    assert "positive numbers, one a batch" in run("imbalance", *flags, "--batch-weights", "1,-2").stderr
    with pytest.raises(InputError, match="compared as they stand"):
        make_loss("supcon", {"batches": ((1, 2),), "sampler": 0.5})
