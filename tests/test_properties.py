"""Properties that hold for every problem: symmetries, bounds and monotonicity."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import LOSSES
from hypothesis import given, settings
from hypothesis import strategies as st

from geomsolve import Imbalance, Orbits, make_loss, solve

# A few dozen solves a property; each takes milliseconds.
few = settings(max_examples=25)

counts_of_classes = st.lists(st.integers(1, 40), min_size=2, max_size=6).filter(lambda c: max(c) > 1 and sum(c) > 4)
smooth = st.sampled_from([case for case in LOSSES if case[0] != "triplet"])
strict = st.sampled_from([case for case in LOSSES if case[0] not in ("triplet", "dcl")])


def answer(counts, case, **options):
    name, parameters = case
    return solve(Imbalance(counts=[int(c) for c in counts], loss={"name": name, **parameters}, **options))


@few
@given(counts_of_classes, st.sampled_from(LOSSES))
@pytest.mark.slow
def test_every_problem_is_answered_with_a_proof(counts, case):
    report = answer(counts, case)
    assert report.certified
    assert report.lower_bound <= report.value
    assert report.gap == pytest.approx(report.value - report.lower_bound, abs=1e-12)
    gram = report.gram
    np.testing.assert_array_equal(np.diag(gram), 1.0)
    np.testing.assert_allclose(gram, gram.T, atol=1e-14)
    assert np.linalg.eigvalsh(gram)[0] >= -1e-12
    assert np.linalg.matrix_rank(gram, tol=1e-8) >= report.rank


@few
@given(counts_of_classes, strict, st.randoms(use_true_random=False))
@pytest.mark.slow
def test_permuting_the_classes_permutes_the_answer(counts, case, random):
    order = list(range(len(counts)))
    random.shuffle(order)
    report, shuffled = answer(counts, case), answer([counts[a] for a in order], case)
    assert shuffled.value == pytest.approx(report.value, abs=1e-9)
    np.testing.assert_allclose(shuffled.gram, report.gram[np.ix_(order, order)], atol=1e-4)


@pytest.mark.slow
@few
@given(
    counts_of_classes,
    smooth.filter(lambda case: not {"full_batch", "replacement"} & set(case[1])),
    st.integers(2, 1000),
)
def test_scaling_the_counts_changes_nothing(counts, case, factor):
    report, scaled = answer(counts, case), answer([factor * c for c in counts], case)
    assert scaled.value == pytest.approx(report.value, abs=1e-9)
    assert scaled.orbits.sizes.tolist() == report.orbits.sizes.tolist()


@few
@given(st.integers(2, 30), st.integers(1, 9), strict.filter(lambda case: not {"batch", "negatives"} & set(case[1])))
def test_balanced_classes_are_symmetric(n_classes, count, case):
    report = answer([count + 1] * n_classes, case)
    assert report.structure.kind in ("antipodal", "regular simplex", "orthogonal frame", "equiangular")


@few
@given(counts_of_classes, smooth, st.integers(0, 2**32 - 1))
@pytest.mark.slow
def test_no_random_embedding_is_better(counts, case, seed):
    name, parameters = case
    report = answer(counts, case)
    counts = np.array(counts)
    objective = make_loss(name, parameters).objective(Orbits.trivial(counts / counts.sum(), counts))
    rng = np.random.default_rng(seed)
    values, vectors = np.linalg.eigh(report.gram)
    best = vectors * np.sqrt(np.maximum(values, 0))
    for size in (1.0, 0.1, 0.01):
        near = best + size * rng.normal(size=best.shape)
        near /= np.linalg.norm(near, axis=1, keepdims=True)
        assert objective.value(near @ near.T) >= report.lower_bound - 1e-12


@few
@given(counts_of_classes, st.floats(0.02, 5.0))
@pytest.mark.slow
def test_soft_supcon_is_equiangular_exactly_when_epsilon_allows(counts, tau):
    """Realizable iff epsilon >= exp(-K / ((K - 1) tau)), whatever the proportions; then cosine 1 + tau log epsilon."""
    k = len(counts)
    wanted = 0.5 * (1 - 1 / (k - 1)) if k > 2 else 0.0  # some cosine above that of the simplex
    epsilon = float(np.exp((wanted - 1) / tau))
    report = answer(counts, ("soft-supcon", {"temperature": tau, "epsilon": epsilon}))
    np.testing.assert_allclose(report.gram[~np.eye(k, dtype=bool)], wanted, atol=1e-5)


@few
@given(st.lists(st.integers(1, 40), min_size=3, max_size=6), st.floats(0.05, 2.0))
def test_collapse_margin_decides_what_is_solved(counts, tau):
    """The candidate with all minorities at one point is optimal iff the solver finds no better value."""
    from geomsolve.proof.collapse import collapse_margin, has_majority

    orbits = Orbits.of(np.array(counts) / sum(counts))
    if not has_majority(orbits):
        return
    objective = make_loss("supcon", {"temperature": tau}).objective(orbits)
    sign = np.where(np.arange(orbits.n_orbits) == 0, 1.0, -1.0)
    at_collapse = objective.value(np.outer(sign, sign))
    best = answer(counts, ("supcon", {"temperature": tau})).value
    if collapse_margin(objective, orbits) >= 0:
        assert best == pytest.approx(at_collapse, abs=1e-9)
    else:
        assert best <= at_collapse + 1e-12
