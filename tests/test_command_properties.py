"""What holds of every answer, against embeddings drawn at random and the loss written a second time."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from geomsolve import Imbalance, InputError, SolverError, solve

few = settings(max_examples=40)

masses = st.lists(st.floats(-12, 0), min_size=2, max_size=8).map(lambda logs: np.exp(np.log(10) * np.array(logs)))
temperatures = st.floats(np.log(0.005), np.log(100)).map(lambda x: float(np.exp(x)))


def supcon(p: np.ndarray, gram: np.ndarray, temperature: float) -> float:
    """sum_a p_a log sum_b p_b e^{(G_ab - 1)/tau}, by its definition."""
    logs = (gram - 1) / temperature + np.log(p)
    top = logs.max(axis=1)
    return float(p @ (top + np.log(np.exp(logs - top[:, None]).sum(axis=1))))


def answer(p: np.ndarray, temperature: float):
    try:
        return solve(Imbalance(props=p.tolist(), loss={"name": "supcon", "temperature": temperature}))
    except (InputError, SolverError):
        return None


@few
@pytest.mark.slow
@given(masses, temperatures, st.integers(0, 2**32 - 1))
def test_no_embedding_undercuts_the_bound(p, temperature, seed):
    p = p / p.sum()
    report = answer(p, temperature)
    if report is None:
        return
    rng = np.random.default_rng(seed)
    own = supcon(p, report.gram, temperature)
    assert own == pytest.approx(report.value, abs=1e-9 * max(1, abs(own)))
    for spread in (0.0, 1e-3, 0.1, 1.0, 10.0):
        eigenvalues, vectors = np.linalg.eigh(report.gram)
        z = vectors * np.sqrt(np.maximum(eigenvalues, 0)) + spread * rng.standard_normal(report.gram.shape)
        z /= np.linalg.norm(z, axis=1, keepdims=True)
        assert supcon(p, z @ z.T, temperature) >= report.lower_bound - 1e-12 * max(1, abs(own))


@few
@pytest.mark.slow
@given(masses, temperatures, st.randoms(use_true_random=False))
def test_a_permutation_of_classes_permutes_the_answer(p, temperature, random):
    p = p / p.sum()
    order = list(range(p.size))
    random.shuffle(order)
    one, other = answer(p, temperature), answer(p[order], temperature)
    assert (one is None) == (other is None)
    if one is None:
        return
    assert other.certified == one.certified
    assert other.value == pytest.approx(one.value, abs=1e-6 * max(1, abs(one.value)))


@few
@pytest.mark.slow
@given(masses, temperatures)
def test_classes_that_are_equal_may_be_told_apart_or_not(p, temperature):
    """Two equal classes in an orbit, or with shares that differ in the last digits: the same value."""
    p = np.concatenate([p, p[:1]])
    p = p / p.sum()
    apart = p.copy()
    apart[-1] *= 1 + 1e-9
    one, other = answer(p, temperature), answer(apart / apart.sum(), temperature)
    if one is None or other is None:
        return
    slack = one.gap + other.gap + 1e-7 * max(1, abs(one.value))
    assert other.value == pytest.approx(one.value, abs=slack)
