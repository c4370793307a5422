"""Realizability: closed forms first, then independent routes, then every fix applied."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from geomsolve import Imbalance, InputError, Realizable, solve
from geomsolve.analyses.realizable import judged, target_of, weighting_of
from geomsolve.gram.embedding import procrustes
from geomsolve.questions.realizable import bend
from geomsolve.reading.labels import read_labels
from geomsolve.weightings.target import verdict_of

AGES = {"weighting": "yaware", "labels": [20, 25, 30], "sigma": 5}


def verdict(**fields):
    return judged(Realizable(**fields)).kind


def squared(points):
    return ((points[:, None] - points[None]) ** 2).sum(-1)


# ---------------------------------------------------------------- the loss itself, written out sample by sample


def brute(weights, similarities, tau, include, normalise):
    """Weighted InfoNCE of n samples by loops: mean over anchors, q uniform over the pairs that enter."""
    n = weights.shape[0]
    pairs = [[j for j in range(n) if include or j != i] for i in range(n)]
    sums = [sum(weights[i, j] for j in pairs[i]) for i in range(n)]
    total = floor = 0.0
    for i in range(n):
        p = {j: weights[i, j] / (sums[i] if normalise == "rows" else sums[j]) for j in pairs[i]}
        mass = sum(p.values())
        log_sum = np.log(np.mean([np.exp(similarities[i, j] / tau) for j in pairs[i]]))
        total += sum(-p[j] * (similarities[i, j] / tau - log_sum) for j in pairs[i]) / n
        floor -= sum(p[j] * np.log(p[j] / mass * len(pairs[i])) for j in pairs[i] if p[j] > 0) / n
    return total, floor


@pytest.mark.parametrize("include", [True, False])
@pytest.mark.parametrize("normalise", ["rows", "columns"])
@pytest.mark.parametrize("similarity", ["cosine", "euclidean"])
def test_the_objective_is_the_loss_written_out(include, normalise, similarity):
    random = np.random.default_rng(4)
    labels = np.array([0.0, 0.7, 0.7, 1.5, 1.5, 1.5])
    tau, sigma = 0.4, 0.8
    problem = Realizable(
        weighting="yaware",
        labels=labels,
        sigma=sigma,
        temperature=tau,
        similarity=similarity,
        normalise=normalise,
        self_pairs="include" if include else "exclude",
    )
    target = target_of(problem, weighting_of(problem))
    u = random.standard_normal((3, 4))
    if similarity == "cosine":
        u /= np.linalg.norm(u, axis=1, keepdims=True)
    z = u[[0, 1, 1, 2, 2, 2]]  # equal labels coincide
    similarities = z @ z.T if similarity == "cosine" else -squared(z) / 2
    weights = np.exp(-((labels[:, None] - labels) ** 2) / (2 * sigma**2))
    value, floor = brute(weights, similarities, tau, include, normalise)
    cosines = 1 - squared(u) / 2
    assert target.objective().value(cosines) == pytest.approx(value, abs=1e-12)
    assert target.floor == pytest.approx(floor, abs=1e-12)
    assert target.residual(cosines)[1] == pytest.approx(value - floor, abs=1e-12)


# ---------------------------------------------------------------- the table: one weighting a row, with its condition


def test_supcon_is_degenerate_and_balanced_classes_form_a_regular_simplex():
    report = solve(Realizable(weighting="supcon", labels="classes:4,4,4,4", temperature=0.5))
    assert report.verdict == "degenerate"
    assert report.structure.kind == "regular simplex"
    # within a class cosine 1, across -1/3: log(1/4 + 3/4 e^{-(4/3)/tau})
    assert report.optimum["value"] == pytest.approx(np.log(0.25 + 0.75 * np.exp(-4 / 3 / 0.5)), abs=1e-9)
    assert report.floor == pytest.approx(-np.log(4), abs=1e-12)


def test_supcon_weights_have_the_optimum_of_the_supcon_loss():
    """Collapse within classes is assumed by ``imbalance`` and a result here."""
    report = solve(Realizable(weighting="supcon", labels="classes:5,3,2", temperature=0.5))
    classes = solve(Imbalance(props=[0.5, 0.3, 0.2], loss={"name": "supcon", "temperature": 0.5}))
    assert report.verdict == "degenerate"
    assert report.optimum["value"] == pytest.approx(classes.value, abs=1e-9)
    assert np.diag(report.attained) == pytest.approx(1, abs=1e-6)
    np.testing.assert_allclose(report.attained - np.diag(np.diag(report.attained)), classes.gram - np.eye(3), atol=1e-5)


@pytest.mark.parametrize(("k", "tau"), [(2, 0.5), (3, 0.5), (5, 0.1), (4, 1.0)])
def test_soft_supcon_threshold(k, tau):
    epsilon = np.exp(-k / ((k - 1) * tau))
    labels = "classes:" + ",".join(str(a + 2) for a in range(k))
    common = {"weighting": "soft-supcon", "labels": labels, "temperature": tau}
    at = solve(Realizable(**common, epsilon=epsilon))
    assert at.verdict == "realizable"
    assert at.structure.kind == ("antipodal" if k == 2 else "regular simplex")
    assert verdict(**common, epsilon=epsilon * 1.001) == "realizable"
    assert verdict(**common, epsilon=epsilon * 0.999) == "inconsistent"


def test_soft_supcon_above_the_threshold_is_equiangular_whatever_the_sizes():
    report = solve(Realizable(weighting="soft-supcon", labels="classes:5,3,2", temperature=0.5, epsilon=0.2))
    off = report.attained[~np.eye(3, dtype=bool)]
    np.testing.assert_allclose(off, 1 + 0.5 * np.log(0.2), atol=1e-12)


def test_soft_supcon_below_the_threshold_is_bent_by_imbalance_only():
    common = {"weighting": "soft-supcon", "temperature": 0.5, "epsilon": 0.01}
    assert solve(Realizable(**common, labels="classes:4,4,4")).structure.kind == "regular simplex"
    bent = solve(Realizable(**common, labels="classes:8,3,1"))
    assert bent.verdict == "inconsistent"
    off = bent.attained[~np.eye(3, dtype=bool)]
    assert np.ptp(off) > 0.01
    loss = {"name": "soft-supcon", "temperature": 0.5, "epsilon": 0.01}
    assert bent.optimum["value"] == pytest.approx(solve(Imbalance(counts=[8, 3, 1], loss=loss)).value, abs=1e-9)


@pytest.mark.parametrize("radius", [0.5, 1.0, 2.0])
@pytest.mark.parametrize("sigma", [1.0, 3.0])
def test_yaware_on_a_circle_up_to_the_radius_sigma_over_root_tau(radius, sigma):
    limit = (sigma / radius) ** 2  # of the temperature
    common = {"weighting": "yaware", "labels": f"circle:7:{radius}", "sigma": sigma}
    assert verdict(**common, temperature=limit) == "realizable"
    assert verdict(**common, temperature=limit * (1 - 1e-6)) == "realizable"
    assert verdict(**common, temperature=limit * (1 + 1e-6)) == "inconsistent"


def test_yaware_target_and_least_dimension():
    """A smaller sphere than the unit one needs a dimension more than the labels' own."""
    small = solve(Realizable(weighting="yaware", labels="circle:8", temperature=0.5))
    equal = solve(Realizable(weighting="yaware", labels="circle:8", temperature=1.0))
    assert (small.least_dimension, equal.least_dimension) == (3, 2)
    assert small.target["radius"] == pytest.approx(np.sqrt(0.5))
    points = read_labels("circle:8").points
    np.testing.assert_allclose(small.attained, 1 - 0.5 * squared(points) / 2, atol=1e-12)
    assert small.unique
    assert small.optimum["residual"] < 1e-12
    assert small.points.shape == (8, 3)
    np.testing.assert_allclose(small.points @ small.points.T, small.attained, atol=1e-9)


@given(st.lists(st.integers(-1000, 1000), min_size=3, max_size=6, unique=True), st.sampled_from([0.01, 1.0, 1e4]))
@settings(max_examples=60)
def test_three_scalars_never_suit_yaware(labels, sigma):
    """However wide the kernel: a test on the scale of the cosines would say yes by rounding at sigma = 1e4 * spread."""
    assert verdict(weighting="yaware", labels=labels, sigma=sigma * np.ptp(labels)) == "inconsistent"


@pytest.mark.parametrize("tau", [0.1, 0.5])
def test_two_scalars_suit_yaware_up_to_two_sigma_over_root_tau(tau):
    limit = 2 * 5 / np.sqrt(tau)
    assert verdict(weighting="yaware", labels=[20, 20 + limit * 0.9999], sigma=5, temperature=tau) == "realizable"
    assert verdict(weighting="yaware", labels=[20, 20 + limit * 1.0001], sigma=5, temperature=tau) == "inconsistent"


def test_three_ages_miss_by_their_eigenvalue_not_by_their_loss():
    """Ages 20, 25, 30, sigma 5, temperature 0.1: the characteristic polynomial of the 3 x 3 target in closed form."""
    report = solve(Realizable(**AGES))
    a, b = 0.95, 0.8  # 1 - 0.1 * 25 / 50 and 1 - 0.1 * 100 / 50
    lowest = 1 + (b - np.sqrt(b**2 + 8 * a**2)) / 2
    assert report.target["min_eigenvalue"] == pytest.approx(lowest, abs=1e-13)
    assert report.verdict == "inconsistent"
    assert 0 < report.optimum["excess"] < 1e-4
    assert report.optimum["certified"]


def test_ages_without_self_pairs_are_realizable_for_an_interval_of_constants():
    report = solve(Realizable(**AGES, self_pairs="exclude"))
    assert report.verdict == "realizable"
    assert report.unique is False
    # with a = c - 0.05 (near pairs) and b = c - 0.2: psd iff 1 + b - 2 a^2 >= 0, |b| <= 1
    low, high = np.roots([-2, 1.2, 1 - 0.2 - 0.005])[::-1]
    low, high = min(low, high), max(low, high)
    assert report.constant["low"] == pytest.approx(low, abs=1e-12)
    assert report.constant["high"] == pytest.approx(high, abs=1e-12)
    assert report.least_dimension == 2
    assert report.optimum["residual"] < 1e-12


@pytest.mark.parametrize("labels", ["line:9", "grid:3x3", "circle:8", "sphere:12:3", "0,1", "classes:3,2,2"])
def test_the_euclidean_weighting_is_always_attained_by_the_labels(labels):
    sigma, tau = 2.0, 0.3
    report = solve(Realizable(weighting="euclidean", labels=labels, sigma=sigma, temperature=tau))
    points = read_labels(labels).points
    hull = np.linalg.matrix_rank(points - points.mean(axis=0), tol=1e-9)
    assert (report.verdict, report.unique, report.least_dimension) == ("realizable", True, hull)
    assert procrustes(report.points, np.sqrt(tau) / sigma * points, shift=True)[0] < 1e-7
    assert report.optimum["excess"] < 1e-12


@pytest.mark.parametrize("ratio", [0.3, 1.0, 1.5, 2.0])
def test_xclr_asks_for_a_mixture_with_the_matrix_of_ones(ratio):
    random = np.random.default_rng(5)
    labels = random.standard_normal((5, 5))
    unit = labels / np.linalg.norm(labels, axis=1, keepdims=True)
    wanted = ratio * unit @ unit.T + 1 - ratio
    report = solve(Realizable(weighting="xclr", labels=labels, temperature=0.2, target_temperature=0.2 / ratio))
    np.testing.assert_allclose(report.wanted, wanted, atol=1e-12)
    lowest = np.linalg.eigvalsh(wanted)[0]
    assert (report.verdict == "realizable") == (lowest >= 0)
    assert report.target["min_eigenvalue"] == pytest.approx(lowest, abs=1e-12)
    if ratio <= 1:
        assert report.verdict == "realizable"
    if ratio == 1:
        np.testing.assert_allclose(report.attained, unit @ unit.T, atol=1e-10)


def test_xclr_without_a_target_temperature_takes_that_of_the_latents():
    report = solve(Realizable(weighting="xclr", labels="sphere:9:3", temperature=0.37))
    assert report.verdict == "realizable"
    assert report.problem["target_temperature"] == 0.37
    assert report.least_dimension == 3


# ---------------------------------------------------------------- conventions


def test_columns_are_harmless_where_all_sums_are_equal_and_a_trap_elsewhere():
    common = {"weighting": "yaware", "sigma": 5, "normalise": "columns"}
    assert verdict(**common, labels="circle:8") == "realizable"
    assert verdict(**{**common, "sigma": 1}, labels="0,1,5;0,0,0") == "realizable"  # two labels, equal sums
    report = solve(Realizable(**common, labels="circle:8:1", dim=None))
    assert report.unique
    uneven = solve(Realizable(weighting="yaware", labels="0,0;0,1;1,0;1,1;1,1", sigma=5, normalise="columns"))
    assert uneven.verdict == "inconsistent"
    assert "themselves" in uneven.reason
    assert verdict(weighting="yaware", labels="0,0;0,1;1,0;1,1;1,1", sigma=5) == "realizable"


def test_a_kernel_that_vanishes_is_degenerate():
    for kernel in ("epanechnikov", "linear", "cosine"):
        common = {"weighting": "yaware", "labels": "0,0;0,1;1,0", "kernel": kernel}
        assert verdict(**common, sigma=1.0) == "degenerate"
        assert verdict(**common, sigma=1.5) != "degenerate"


@pytest.mark.parametrize(
    ("kernel", "weight"),
    [
        ("gaussian", lambda u: np.exp(-u * u / 2)),
        ("exponential", lambda u: np.exp(-u)),
        ("epanechnikov", lambda u: 1 - u * u),
        ("linear", lambda u: 1 - u),
        ("cosine", lambda u: np.cos(np.pi * u / 2)),
    ],
)
def test_kernels(kernel, weight):
    problem = Realizable(weighting="yaware", labels=[0, 1, 2.5], kernel=kernel, sigma=4)
    target = target_of(problem, weighting_of(problem))
    u = np.abs(np.subtract.outer([0, 1, 2.5], [0, 1, 2.5])) / 4
    np.testing.assert_allclose(np.exp(target.log_weights), weight(u), atol=1e-14)


def test_exponential_kernel_on_scalars_is_euclidean():
    """|y_i - y_j| is a squared Euclidean distance on a line (n points need n - 1 dimensions)."""
    report = solve(Realizable(weighting="euclidean", labels="line:5", kernel="exponential"))
    assert (report.verdict, report.least_dimension) == ("realizable", 4)


def test_weights_that_underflow_are_still_positive():
    """exp(-5e7) is 0 in floating point, but not in truth: inconsistent, not degenerate."""
    assert verdict(weighting="yaware", labels=[0, 1, 3], sigma=1e-4) == "inconsistent"
    assert verdict(weighting="euclidean", labels=[0, 1, 3], sigma=1e-4) == "realizable"


def test_supcon_with_euclidean_latents_has_no_best_embedding():
    report = solve(Realizable(weighting="supcon", labels="classes:3,2", similarity="euclidean"))
    assert report.verdict == "degenerate"
    assert report.optimum["attained"] is False
    assert report.points is None
    assert report.optimum["value"] == report.floor
    assert report.exit_code == 0


@pytest.mark.slow
def test_euclidean_optimum_between_its_bounds():
    """Epanechnikov weights with Euclidean latents: an independent descent never gets below the certified optimum."""
    report = solve(Realizable(weighting="euclidean", labels=[20, 25, 30, 38], kernel="epanechnikov", sigma=20))
    assert report.verdict == "inconsistent"
    assert report.optimum["certified"]
    target = target_of(*_bound(weighting="euclidean", labels=[20, 25, 30, 38], kernel="epanechnikov", sigma=20))

    def loss(x):
        return target.objective().value(1 - squared(x.reshape(4, 3)) / 2)

    random = np.random.default_rng(0)
    found = min(minimize(loss, 0.3 * random.standard_normal(12), tol=1e-12).fun for _ in range(6))
    assert found == pytest.approx(report.optimum["value"], abs=1e-7)
    assert found >= report.optimum["lower_bound"] - 1e-9


def _bound(**fields):
    problem = Realizable(**fields)
    return problem, weighting_of(problem)


@pytest.mark.parametrize("dim", [1, 2])
def test_dimension_below_the_least_is_inconsistent(dim):
    report = solve(Realizable(weighting="euclidean", labels="grid:2x2x2", dim=dim))
    assert report.verdict == "inconsistent"
    assert report.least_dimension == 3
    assert report.points.shape == (8, dim)
    assert report.optimum["value"] > report.optimum["lower_bound"]
    assert report.exit_code == 1
    assert [f.settings for f in report.fixes if f.change == "dim"] == [{"dim": 3}]
    assert verdict(weighting="euclidean", labels="grid:2x2x2", dim=3) == "realizable"


# ---------------------------------------------------------------- custom matrices and completions


def test_completion_range_of_one_missing_cosine():
    """cvxpy issue 1282: C01 = .6, C12 = -.3; in closed form -.18 +- .8 sqrt(.91)."""
    report = solve(Realizable(weighting="custom", target=[[1, 0.6, None], [0.6, 1, -0.3], [None, -0.3, 1]]))
    assert report.verdict == "realizable"
    (entry,) = report.completions
    assert (entry["row"], entry["column"]) == (1, 3)
    assert entry["low"] == pytest.approx(-0.18 - 0.8 * np.sqrt(0.91), abs=1e-6)
    assert entry["high"] == pytest.approx(-0.18 + 0.8 * np.sqrt(0.91), abs=1e-6)
    assert report.unique is False


@pytest.mark.parametrize(
    ("similarity", "target", "low", "high"),
    [
        ("cosine", "1,.8,;.8,1,.6;,.6,1", 0.0, 0.96),  # .48 +- .6 .8
        ("cosine", "1,.5,;.5,1,.5;,.5,1", -0.5, 1.0),
        ("cosine", "1,,0;,1,0;0,0,1", -1.0, 1.0),
        ("cosine", "1,1e-3,;1e-3,1,1;,1,1", 1e-3, 1e-3),  # small, and not 0
        ("euclidean", "0,100,;100,0,100;,100,0", 0.0, 400.0),
    ],
)
def test_ends_of_a_range_are_free_of_noise(similarity, target, low, high):
    (entry,) = solve(Realizable(weighting="custom", similarity=similarity, target=target)).completions
    for end, exact in (("low", low), ("high", high)):
        assert entry[end] == (exact if exact in (-1, 0, 1) else pytest.approx(exact, rel=1e-3))


@pytest.mark.parametrize(
    ("target", "low_attained"),
    [
        ("0,9,1;9,0,;1,,0", False),  # 1 is 9 + e from 2 and 1 + e from 3, so 2 and 3 never coincide
        ("0,4,4;4,0,;4,,0", True),  # they may
        ("0,1e3,999;1e3,0,;999,,0", False),
        ("0,9,1,2;9,0,,2;1,,0,2;2,2,2,0", False),
        ("0,9,,2;9,0,,2;,,0,7;2,2,7,0", None),  # of 1 3 and of 2 3; both share 4 alone: 2 against 7
    ],
)
def test_with_a_free_constant_two_points_come_as_close_as_one_likes(target, low_attained):
    """As e grows, (sqrt(9 + e) - sqrt(1 + e))^2 falls to 0: an infimum.  The squared distance grows without end."""
    report = solve(Realizable(weighting="custom", similarity="euclidean", self_pairs="exclude", target=target))
    assert report.verdict == "realizable"
    assert report.unique is False
    for entry in report.completions:
        assert (entry["low"], entry["low_attained"]) == (0.0, bool(low_attained))
        assert (entry["high"], entry["high_attained"]) == (None, False)


@pytest.mark.parametrize("gap", [1e-2, 1e-5, 1e-8])
def test_points_nearer_than_any_bound_do_what_is_asked(gap):
    """The case above by hand: 2 and 3 at squared distance ``gap``, 1 on their line, and D12 - D13 = 8 all the same."""
    apart = np.sqrt(gap)
    place = 4 / apart  # (place + apart/2)^2 - (place - apart/2)^2 = 2 place apart = 8
    one, two, three = np.array([place, 0.0]), np.array([-apart / 2, 0.0]), np.array([apart / 2, 0.0])
    differ = np.sum((one - two) ** 2) - np.sum((one - three) ** 2)
    assert differ == pytest.approx(9 - 1, rel=1e-6)


@pytest.mark.parametrize(
    ("similarity", "low", "high"), [("cosine", (-1.0, True), (1.0, True)), ("euclidean", (0.0, True), (None, False))]
)
@pytest.mark.parametrize("self_pairs", ["include", "exclude"])
def test_what_no_entry_connects_moves_freely(similarity, low, high, self_pairs):
    own = 1 if similarity == "cosine" else 0
    target = f"{own},.5,,;.5,{own},,;,,{own},.3;,,.3,{own}"
    report = solve(Realizable(weighting="custom", similarity=similarity, self_pairs=self_pairs, target=target))
    assert len(report.completions) == 4
    for entry in report.completions:
        assert (entry["low"], entry["low_attained"]) == low
        assert (entry["high"], entry["high_attained"]) == high


def test_each_group_of_samples_has_its_own_constant():
    """Samples 1, 2 and 3 that are never compared with 3: the weight of 3 with itself is nobody else's matter."""
    report = solve(Realizable(weighting="custom", weights="1,.5,;.5,1,;,,2"))
    assert report.verdict == "realizable"
    assert report.optimum["residual"] < 1e-6


def test_a_hopeless_completion():
    nan = float("nan")
    block = [[1, 0.9, -0.9, nan], [0.9, 1, 0.9, nan], [-0.9, 0.9, 1, 0], [nan, nan, 0, 1]]
    report = solve(Realizable(weighting="custom", target=block))
    assert report.verdict == "inconsistent"
    assert report.optimum["lower_bound"] > report.floor + 1e-4  # a second proof


def test_completion_of_distances():
    """Distances 3 and 4 from a corner: the third lies between 1 and 7."""
    report = solve(Realizable(weighting="custom", similarity="euclidean", target="0,9,16;9,0,;16,,0"))
    (entry,) = report.completions
    assert (entry["low"], entry["high"]) == (pytest.approx(1, abs=1e-4), pytest.approx(49, abs=1e-4))


def test_completion_without_self_pairs():
    """A path 1-2-3 with one free constant: anything can be completed."""
    report = solve(Realizable(weighting="custom", weights="1,.5,;.5,1,.01;,.01,1", self_pairs="exclude"))
    assert report.verdict == "realizable"
    assert report.optimum["residual"] < 1e-6


def test_custom_weights_and_target_agree():
    tau = 0.3
    cosines = np.array([[1, 0.2, -0.1], [0.2, 1, 0.5], [-0.1, 0.5, 1]])
    by_target = solve(Realizable(weighting="custom", target=cosines, temperature=tau))
    by_weights = solve(Realizable(weighting="custom", weights=np.exp(cosines / tau), temperature=tau))
    assert by_target.verdict == by_weights.verdict == "realizable"
    np.testing.assert_allclose(by_target.attained, cosines, atol=1e-10)
    np.testing.assert_allclose(by_weights.attained, cosines, atol=1e-10)


def test_unequal_self_weights():
    report = solve(Realizable(weighting="custom", weights=[[1, 0.5], [0.5, 2]]))
    assert report.verdict == "inconsistent"
    assert any(fix.change == "self_pairs" for fix in report.fixes)
    assert report.optimum["lower_bound"] > report.floor + 1e-3


# ---------------------------------------------------------------- fixes: each one applied flips the verdict

PROBLEMS = [
    AGES,
    {**AGES, "labels": [20, 52]},
    {"weighting": "yaware", "labels": "circle:8", "temperature": 1.2},
    {"weighting": "yaware", "labels": "circle:8", "temperature": 3.0, "kernel": "exponential"},
    {"weighting": "yaware", "labels": "circle:5:2", "kernel": "linear", "sigma": 5.0, "temperature": 3.0},
    {"weighting": "yaware", "labels": "circle:5:2", "kernel": "epanechnikov", "sigma": 2.0},
    {"weighting": "yaware", "labels": "grid:3x3"},
    {"weighting": "yaware", "labels": "sphere:10:3", "temperature": 1.5, "self_pairs": "exclude"},
    {"weighting": "yaware", "labels": "circle:6", "dim": 2},
    {"weighting": "yaware", "labels": "0,0;0,1;1,0;1,1;1,1", "sigma": 5, "normalise": "columns"},
    {"weighting": "supcon", "labels": "classes:5,3,2", "temperature": 0.5},
    {"weighting": "soft-supcon", "labels": "classes:5,3,2", "temperature": 0.5, "epsilon": 0.02},
    {
        "weighting": "soft-supcon",
        "labels": "classes:5,3,2",
        "temperature": 0.5,
        "epsilon": 0.01,
        "self_pairs": "exclude",
    },
    {"weighting": "xclr", "labels": "sphere:12:3", "temperature": 0.1, "target_temperature": 0.04},
    {"weighting": "euclidean", "labels": "line:4", "kernel": "cosine", "sigma": 5.0},
    {"weighting": "custom", "weights": "1,.1,.1;.1,1,.1;.1,.1,1", "temperature": 1.0},
]


@pytest.mark.parametrize("fields", PROBLEMS, ids=lambda p: f"{p['weighting']}-{p.get('labels', 'matrix')}")
@pytest.mark.slow
def test_every_fix_flips_the_verdict(fields):
    problem = Realizable(**fields)
    report = solve(problem)
    assert report.verdict != "realizable"
    assert report.fixes
    for fix in report.fixes:
        stated = problem.model_dump(exclude_none=True)
        given_values = {key: value for key, value in {**stated, **fix.settings}.items() if value is not None}
        assert verdict(**given_values) == "realizable", fix


@pytest.mark.parametrize(
    ("fields", "change", "wanted", "worse"),
    [
        ({"weighting": "yaware", "labels": "circle:8:2", "sigma": 3, "temperature": 4.0}, "temperature", 9 / 4, 1.001),
        ({"weighting": "yaware", "labels": "circle:8:2", "sigma": 3, "temperature": 4.0}, "sigma", 4.0, 0.999),
        (
            {"weighting": "soft-supcon", "labels": "classes:5,3,2", "temperature": 0.5, "epsilon": 0.02},
            "epsilon",
            np.exp(-3.0),
            0.999,
        ),
        (
            {"weighting": "soft-supcon", "labels": "classes:5,3,2", "temperature": 0.5, "epsilon": 0.02},
            "temperature",
            -1.5 / np.log(0.02),
            1.001,
        ),
        (  # S of the regular simplex: (1 + r/3) of four mutual cosines -r/3 + 1 - r = -1/3 at r = 1
            {"weighting": "xclr", "labels": "simplex:4", "temperature": 0.1, "target_temperature": 0.05},
            "target_temperature",
            0.1,
            0.999,
        ),
        ({**AGES, "labels": [20, 52]}, "temperature", (10 / 32) ** 2, 1.001),
        (AGES, "arc", 5 / np.sqrt(0.1), 1.001),
    ],
)
def test_fixes_are_the_limits_in_closed_form(fields, change, wanted, worse):
    report = solve(Realizable(**fields))
    (value,) = [fix.value for fix in report.fixes if fix.change == change]
    assert value == pytest.approx(wanted, rel=1e-8)
    assert verdict(**{**fields, change: value * worse}) == "inconsistent"


@pytest.mark.parametrize("temperature", [0.5, 2.0])
@pytest.mark.parametrize("self_pairs", ["include", "exclude"])
@pytest.mark.parametrize("labels", ["classes:2,2", "classes:1,2,3", "classes:5,1,1,1"])
def test_the_weight_that_supcon_needs_is_the_boundary(labels, self_pairs, temperature):
    """On a sphere exp(-K/((K-1) tau)), self pairs or not, as soon as one class has two samples; by distance none."""
    fields = {"labels": labels, "temperature": temperature, "self_pairs": self_pairs}
    k = labels.count(",") + 1
    least = np.exp(-k / ((k - 1) * temperature))
    for similarity in ("cosine", "euclidean"):
        report = solve(Realizable(weighting="supcon", similarity=similarity, **fields))
        (fix,) = [fix for fix in report.fixes if fix.change == "weighting"]
        soft = {"weighting": "soft-supcon", "similarity": similarity, **fields}
        assert verdict(**soft, epsilon=fix.settings["epsilon"]) == "realizable"
        if similarity == "cosine":
            assert fix.settings["epsilon"] == pytest.approx(least, rel=1e-9)
            assert verdict(**soft, epsilon=least * (1 - 1e-6)) == "inconsistent"
        else:
            assert "any positive weight" in fix.why
            assert verdict(**soft, epsilon=1e-12) == "realizable"


def test_a_kernel_that_need_only_not_vanish_has_no_smallest_width():
    """By distance and without self pairs any weights will do, so any sigma above the largest distance, 10, works."""
    fields = {**AGES, "sigma": 8, "kernel": "linear", "similarity": "euclidean", "self_pairs": "exclude"}
    (fix,) = [fix for fix in solve(Realizable(**fields)).fixes if fix.change == "sigma"]
    assert "above 10" in fix.why
    assert "smallest" not in fix.why
    assert verdict(**{**fields, "sigma": fix.value}) == "realizable"
    assert verdict(**{**fields, "sigma": 10 * (1 + 1e-9)}) == "realizable"
    assert verdict(**{**fields, "sigma": 10}) == "degenerate"


def test_scalar_labels_have_no_temperature_that_works():
    changes = {fix.change for fix in solve(Realizable(**AGES)).fixes}
    assert changes == {"similarity", "self_pairs", "arc"}


def test_bending_keeps_the_distance_along_the_arc_and_uses_half_a_circle_at_most():
    y = np.array([20.0, 25.0, 30.0])
    bent = bend(y, 10.0)
    np.testing.assert_allclose(np.linalg.norm(bent, axis=1), 10)
    angle = np.arctan2(bent[:, 1], bent[:, 0])
    np.testing.assert_allclose(np.diff(angle) * 10, [5, 5])
    wide = bend(100 * y, 10.0)
    np.testing.assert_allclose(np.linalg.norm(wide[0] - wide[-1]), 20)


# ---------------------------------------------------------------- an independent route to the verdict


def independent_excess(log_weights, tau, include, starts=3):
    """Excess over the floor by plain descent on unit vectors in n dimensions, from the loss written out."""
    n = log_weights.shape[0]
    mask = np.ones((n, n)) if include else 1 - np.eye(n)
    with np.errstate(divide="ignore"):
        logs = np.where(mask > 0, log_weights, -np.inf)
    p = np.exp(logs - logs.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    entropy = np.sum(np.where(p > 0, p * np.log(np.where(p > 0, p, 1)), 0)) / n

    def loss(x):
        z = x.reshape(n, n)
        length = np.linalg.norm(z, axis=1, keepdims=True)
        u = z / length
        s = np.where(mask > 0, u @ u.T / tau, -np.inf)
        top = s.max(axis=1, keepdims=True)
        e = np.exp(s - top)
        total = e.sum(axis=1, keepdims=True)
        value = (np.sum(np.log(total) + top) - np.sum(p * np.where(mask > 0, s, 0))) / n
        slope = (e / total - p) / (n * tau)
        pull = (slope + slope.T) @ u
        pull -= np.sum(pull * u, axis=1, keepdims=True) * u
        return value, (pull / length).ravel()

    random = np.random.default_rng(0)
    options = {"maxiter": 3000, "ftol": 1e-16, "gtol": 1e-11}
    best = np.inf
    for _ in range(starts):
        found = minimize(loss, random.standard_normal(n * n), jac=True, method="L-BFGS-B", options=options)
        best = min(best, found.fun + entropy)
    return best


GREY = 0.02
"""Targets whose smallest eigenvalue is below this in size, in units of the temperature, are not compared: their excess,
about its square, cannot be told from zero by a descent."""


@pytest.mark.slow
def test_verdicts_on_a_thousand_random_label_sets_agree_with_descent():
    random = np.random.default_rng(11)
    compared = {"realizable": 0, "inconsistent": 0}
    for _ in range(1000):
        n, dim = int(random.integers(2, 5)), int(random.integers(1, 4))
        labels = random.standard_normal((n, dim))
        if random.random() < 0.4:
            labels /= np.linalg.norm(labels, axis=1, keepdims=True)
        tau, sigma = float(np.exp(random.uniform(-1.5, 0.5))), float(np.exp(random.uniform(-0.7, 0.7)))
        include = bool(random.random() < 0.7)
        problem = Realizable(
            weighting="yaware",
            labels=labels,
            sigma=sigma,
            temperature=tau,
            self_pairs="include" if include else "exclude",
        )
        target = target_of(problem, weighting_of(problem))
        found = verdict_of(target, None, 1e-10)
        lowest = found.spectrum.min_eigenvalue
        if found.kind == "inconsistent" and abs(lowest) / tau < GREY:
            continue
        excess = independent_excess(-squared(labels) / (2 * sigma**2), tau, include)
        compared[found.kind] += 1
        if found.kind == "realizable":
            assert excess < 1e-8, (labels, tau, sigma, include)
        else:
            assert excess > 1e-8, (labels, tau, sigma, include)
    assert min(compared.values()) > 250
    assert sum(compared.values()) > 800


@pytest.mark.slow
@pytest.mark.parametrize("include", [True, False])
def test_the_certified_optimum_agrees_with_descent(include):
    random = np.random.default_rng(12)
    for _ in range(10):
        labels = random.standard_normal((5, 2))
        report = solve(
            Realizable(
                weighting="yaware", labels=labels, temperature=1.5, self_pairs="include" if include else "exclude"
            )
        )
        excess = independent_excess(-squared(labels) / 2, 1.5, include)
        assert report.optimum["certified"]
        assert report.optimum["excess"] == pytest.approx(max(excess, 0), abs=1e-7)


# ---------------------------------------------------------------- properties


@given(st.integers(0, 10**6))
@settings(max_examples=15)
def test_the_order_of_labels_does_not_matter(seed):
    random = np.random.default_rng(seed)
    labels = random.integers(0, 4, (5, 2)).astype(float)
    order = random.permutation(5)
    a = Realizable(weighting="yaware", labels=labels, temperature=0.7)
    b = Realizable(weighting="yaware", labels=labels[order], temperature=0.7)
    first, second = judged(a), judged(b)
    assert first.kind == second.kind
    np.testing.assert_allclose(first.spectrum.values, second.spectrum.values, atol=1e-10)


@pytest.mark.slow
def test_three_hundred_ages_are_certified():
    y = np.sort(np.random.default_rng(0).uniform(18, 90, 300))
    report = solve(Realizable(weighting="yaware", labels=y, sigma=5))
    assert report.verdict == "inconsistent"
    assert report.optimum["certified"]
    assert report.optimum["lower_bound"] > report.floor
    assert report.points.shape[0] == 300


# ---------------------------------------------------------------- few points

FEW = {
    "yaware": ["20,20", "20,20,20", "20,25", "20,20,25"],
    "euclidean": ["20,20", "20,25,25"],
    "supcon": ["20,20", "20,20,25"],
    "soft-supcon": ["20,20", "20,25"],
    "xclr": ["1,0;1,0", "2,0;1,0", "1,0;0,1"],
}


@pytest.mark.parametrize(("weighting", "labels"), [(w, labels) for w, sets in FEW.items() for labels in sets])
@pytest.mark.parametrize("similarity", ["cosine", "euclidean"])
@pytest.mark.parametrize("self_pairs", ["include", "exclude"])
@pytest.mark.parametrize("normalise", ["rows", "columns"])
def test_few_points_are_answered(weighting, labels, similarity, self_pairs, normalise):
    fields = {"labels": labels, "similarity": similarity, "self_pairs": self_pairs, "normalise": normalise}
    report = solve(Realizable(weighting=weighting, **fields))
    answer = report.to_dict()
    if len({tuple(row) for row in read_labels(labels).points}) == 1:  # one point attains any weights
        assert (answer["verdict"], answer["optimum"]["excess"]) == ("realizable", 0)
        assert answer["least_dimension"] == (1 if similarity == "cosine" else 0)
    if report.points is not None:
        assert report.points.shape[0] == len(read_labels(labels).points)


def test_samples_of_one_label_are_named_after_it():
    answer = solve(Realizable(weighting="yaware", labels="20,20")).to_dict()
    assert answer["structure"]["kind"] == "total collapse"
    assert answer["structure"]["groups"] == [["20", "20"]]


@pytest.mark.parametrize("dim", [1, 2])
def test_one_point_fits_into_one_dimension(dim):
    assert verdict(weighting="yaware", labels="20,20", dim=dim) == "realizable"


# ---------------------------------------------------------------- a changed question is a new one


def test_a_changed_question_keeps_nothing_that_was_worked_out():
    problem = Realizable(weighting="yaware", labels="circle:5", sigma=2)
    assert problem.points.shape == (5, 2)
    changed = problem.changed(labels="line:4")
    assert changed.points.shape == (4, 1)
    assert problem.points.shape == (5, 2)
    assert changed.sigma == 2
    drawn = Realizable(weighting="yaware", labels="line:40", sample=5, seed=1)
    assert not np.allclose(drawn.points, drawn.changed(seed=2).points)


def test_a_changed_question_is_checked_like_any_other():
    problem = Realizable(weighting="yaware", labels="circle:5")
    with pytest.raises(InputError):
        problem.changed(dim=0)
    with pytest.raises(InputError):
        problem.changed(arc=1.0)  # vectors cannot be bent


# ---------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("fields", "field", "words"),
    [
        ({"weighting": "yawar"}, "weighting", "yaware"),
        ({"weighting": "supcon", "labels": [1, 1, 2], "sigma": 2}, "sigma", "does not use"),
        ({"weighting": "yaware", "labels": [1, 2], "kernel": "gauss"}, "kernel", "gaussian"),
        ({"weighting": "custom"}, "weights", "exactly one"),
        ({"weighting": "custom", "weights": "1,2;2,1", "target": "1,0;0,1"}, "weights", "exactly one"),
        ({"weighting": "custom", "weights": "1,2;3,1"}, "weights", "symmetric"),
        ({"weighting": "custom", "weights": "1,-2;-2,1"}, "weights", "at least 0"),
        ({"weighting": "custom", "weights": "1,2;2,1", "labels": [1, 2]}, "labels", "leave"),
        ({"weighting": "custom", "weights": "0,1;1,0"}, "weights", "with itself"),
        ({"weighting": "custom", "target": "1,2;2,1"}, "target", "between -1 and 1"),
        ({"weighting": "custom", "target": "2,0;0,1"}, "target", "diagonal"),
        ({"weighting": "xclr", "labels": [1, 2, 3]}, "labels", "angle"),
        ({"weighting": "xclr", "labels": "grid:2x2"}, "labels", "zero vector"),
        ({"weighting": "supcon", "labels": [1, 2, 3], "self_pairs": "exclude"}, "self_pairs", "empty"),
        ({"weighting": "yaware", "labels": np.arange(2001)}, "labels", "2,000"),
        ({"weighting": "custom", "target": "1,.5,;.5,1,.2;,.2,1", "dim": 2}, "dim", "complete"),
    ],
)
def test_what_makes_no_sense_is_refused(fields, field, words):
    with pytest.raises(InputError) as error:
        solve(Realizable(**fields))
    assert error.value.field == field
    assert words in error.value.message


def test_sampling_is_only_done_when_asked_and_is_seeded():
    problem = Realizable(weighting="euclidean", labels=np.arange(3000.0), sample=5, seed=3)
    assert problem.points.shape == (5, 1)
    assert np.array_equal(problem.points, Realizable(**{**problem.model_dump(), "base": None}).points)


def test_optima_of_nearly_full_rank_are_solved_to_rounding_from_a_known_start():
    """X-CLR at twice the temperature of the labels asks for 2 S - 1, with one negative eigenvalue."""
    problem = Realizable(weighting="xclr", labels="sphere:40:40", temperature=0.1, target_temperature=0.05)
    found, other = solve(problem), solve(problem.changed(solver="manifold"))
    assert found.proof.gap < 1e-13
    assert found.effort.solver == "dual"
    assert "nearly full rank" in found.effort.reason
    assert found.value == pytest.approx(other.value, abs=1e-8)
    np.testing.assert_allclose(found.attained, other.attained, atol=1e-4)


@pytest.mark.slow
def test_a_search_that_runs_out_of_steps_begins_again_further_inside():
    """200 made-up ages with one decimal, rounded to years: 46 different ones, and an optimum of low rank."""
    ages = np.random.default_rng(0).normal(45, 12, 200).round(1).clip(18, 90)
    report = solve(Realizable("yaware", labels=ages, sigma=5, bin=1))
    assert report.optimum["certified"]
    assert report.optimum["value"] == pytest.approx(-0.855031355, abs=1e-8)  # as the conic solver has it
