"""Minority collapse: closed forms and the table of critical majority shares, against the certificate and the solver."""

from __future__ import annotations

import itertools
import math
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import binom

from geomsolve import Imbalance, Orbits, make_loss, solve
from geomsolve.analyses.imbalance import collapse_temperature
from geomsolve.analyses.merging import best_geometry, groups_within, optimal_merger, parts
from geomsolve.proof.certificate import dual_blocks
from geomsolve.proof.collapse import collapse_margin, dual_rank, has_majority, held_together, judge
from geomsolve.proof.crossings import changes, nearest

NEGATIVES = (1, 2, 4, 8, 16, 64, 256)
TABLE = {
    ("iid", "sum"): (0.80749, 0.84024, 0.869292, 0.890378, 0.904665, 0.918546, 0.922608),
    ("iid", "mean"): (0.80749, 0.857468, 0.879842, 0.890264, 0.895292, 0.898985, 0.899897),
    ("supervised", "sum"): (0.69154, 0.6933, 0.695095, 0.695617, 0.693841, 0.687692, 0.684526),
    ("supervised", "mean"): (0.69154, 0.719663, 0.735003, 0.742966, 0.747004, 0.750051, 0.750815),
}
"""Critical majority share at temperature 1, three classes, by number of negatives."""


def one_majority(share: float, minorities: int = 2) -> Orbits:
    return Orbits.of([share, *[(1 - share) / minorities] * minorities])


def critical_share(name, minorities=2, **parameters) -> float:
    loss = make_loss(name, {"temperature": 1.0, **parameters})

    def margin(share: float) -> float:
        orbits = one_majority(share, minorities)
        return collapse_margin(loss.objective(orbits), orbits)

    return brentq(margin, 0.55, 0.999, xtol=1e-12)


@pytest.mark.parametrize(("sampling", "form"), TABLE, ids="-".join)
def test_critical_majority_shares(sampling, form):
    found = [critical_share("infonce", negatives=k, sampling=sampling, form=form) for k in NEGATIVES]
    np.testing.assert_allclose(found, TABLE[sampling, form], atol=2e-6)


def slope_of_one(cosine_t: float, chance_far: float, k: int, base: float, factor: float, tau: float) -> float:
    """E psi_1(t, T): derivative of log(base + factor sum e^t) in the first of k negatives, the others random.

    The others are at t = -2/tau with probability ``chance_far``, at 0 otherwise.
    """
    far = np.arange(k)
    rest = (k - 1 - far) + far * math.exp(-2 / tau)
    own = math.exp(cosine_t)
    return float(binom.pmf(far, k - 1, chance_far) @ (factor * own / (base + factor * (rest + own))))


@pytest.mark.parametrize("tau", [0.5, 1.0, 3.0])
@pytest.mark.parametrize("k", [1, 2, 7])
@pytest.mark.parametrize("form", ["sum", "mean"])
def test_condition_for_iid_negatives(tau, k, form):
    """Collapse iff P (A_maj + A_min) >= 2 (1 - P) B, independent of how many minorities share 1 - P."""
    factor = 1 / k if form == "mean" else 1.0
    loss = make_loss("infonce", {"temperature": tau, "negatives": k, "form": form})
    for share, minorities in itertools.product((0.6, 0.75, 0.85, 0.95), (2, 5)):
        q = 1 - share
        a_maj, a_min, b = (
            slope_of_one(t, far, k, 1.0, factor, tau) for t, far in ((-2 / tau, q), (-2 / tau, share), (0.0, share))
        )
        condition = share * (a_maj + a_min) - 2 * q * b
        orbits = one_majority(share, minorities)
        margin = collapse_margin(loss.objective(orbits), orbits)
        assert abs(condition) > 1e-6
        assert (margin >= 0) == (condition >= 0)


@pytest.mark.parametrize("tau", [0.5, 1.0, 3.0])
@pytest.mark.parametrize("k", [1, 2, 7])
def test_condition_for_supervised_negatives(tau, k):
    """P [A1 (1 - l)/(1 - P) + A] >= 2 (1 - P) B with c equal minorities of l = (1 - P)/c."""
    loss = make_loss("infonce", {"temperature": tau, "negatives": k, "sampling": "supervised"})
    for share, c in itertools.product((0.5, 0.65, 0.75, 0.9), (2, 5)):
        small = (1 - share) / c
        far = share / (1 - small)
        a1 = slope_of_one(-2 / tau, 1.0, k, 1.0, 1.0, tau)
        a, b = (slope_of_one(t, far, k, 1.0, 1.0, tau) for t in (-2 / tau, 0.0))
        condition = share * (a1 * (1 - small) / (1 - share) + a) - 2 * (1 - share) * b
        orbits = one_majority(share, c)
        margin = collapse_margin(loss.objective(orbits), orbits)
        assert abs(condition) > 1e-6
        assert (margin >= 0) == (condition >= 0)


def supcon_condition(share: float, tau: float) -> float:
    """Positive iff collapsed: (P x / 2) [ (P x + q)/(P + q x) + 1 ] - q, with x = e^{-2/tau}, q = 1 - P."""
    x, q = math.exp(-2 / tau), 1 - share
    return share * x / 2 * ((share * x + q) / (share + q * x) + 1) - q


@pytest.mark.parametrize("tau", [0.3, 1.0, 4.0])
def test_supcon_condition(tau):
    wanted = brentq(supcon_condition, 0.5, 1 - 1e-9, args=(tau,), xtol=1e-13)
    loss = make_loss("supcon", {"temperature": tau})
    for split in ([0.5, 0.5], [0.9, 0.1], [0.4, 0.3, 0.2, 0.1]):
        for side in (-1, 1):
            share = wanted + side * 1e-6 * (1 - wanted)
            orbits = Orbits.of([share, *((1 - share) * np.array(split))])
            assert (collapse_margin(loss.objective(orbits), orbits) >= 0) == (side > 0)


@pytest.mark.parametrize("share", [0.8, 0.9, 0.95, 0.99])
def test_nearest_temperature_of_supcon_is_the_root_of_its_condition(share):
    wanted = brentq(lambda tau: supcon_condition(share, tau), 0.05, 150)
    found = collapse_temperature(make_loss("supcon", {"temperature": 0.7}), one_majority(share))
    assert found == pytest.approx(wanted, rel=1e-8)


def collapsed(report) -> bool:
    return report.structure.kind == "minority collapse" and sum(map(len, report.structure.groups)) == (
        report.orbits.n_classes - 1
    )


@pytest.mark.parametrize(
    ("loss", "props"),
    [
        ({"name": "supcon"}, (0.9, 0.06, 0.04)),
        ({"name": "supcon", "batch": 6}, (0.88, 0.04, 0.04, 0.04)),
        ({"name": "infonce", "negatives": 4}, (0.85, 0.1, 0.05)),
        ({"name": "infonce", "form": "mean", "sampling": "supervised"}, (0.8, 0.1, 0.1)),
        ({"name": "dcl"}, (0.9, 0.05, 0.05)),
        ({"name": "sigmoid", "bias": 1.0}, (0.8, 0.1, 0.1)),
    ],
    ids=str,
)
def test_the_nearest_temperature_brackets_the_solved_structure(loss, props):
    """2 % above the threshold the minorities are one point, 2 % below they are not."""
    report = solve(Imbalance(props=props, loss={**loss, "temperature": 1.0}))
    assert report.nearest_threshold is not None
    threshold = report.nearest_threshold["value"]
    above, below = (solve(Imbalance(props=props, loss={**loss, "temperature": t * threshold})) for t in (1.02, 0.98))
    assert above.certified
    assert below.certified
    assert collapsed(above)
    assert not collapsed(below)


def test_a_hinge_does_not_collapse_and_has_no_threshold():
    report = solve(Imbalance(props=[0.999, 0.0005, 0.0005], loss="triplet"))
    assert report.nearest_threshold is None
    assert not collapsed(report)


@pytest.mark.parametrize("counts", [(5, 5, 1), (3, 1), (2, 2, 2)])
def test_without_one_majority_and_two_others_there_is_nothing_to_collapse(counts):
    orbits = Orbits.of(np.array(counts) / sum(counts))
    assert not has_majority(orbits)
    assert collapse_temperature(make_loss("supcon", {}), orbits) is None


def test_no_threshold_where_no_temperature_makes_a_difference():
    """P < 1/2: even a linear loss keeps the minorities apart; decoupled with one negative never changes with tau."""
    assert collapse_temperature(make_loss("supcon", {}), one_majority(0.4)) is None
    for share in (0.4, 0.9):
        assert collapse_temperature(make_loss("dcl", {"negatives": 1}), one_majority(share)) is None


def test_crossings_are_found_whatever_the_margin_says():
    """A margin only says where to look first: wrong ones, or none, lead to the same places."""
    scan = np.geomspace(0.01, 100, 17).tolist()

    def inside(x: float) -> bool:
        return 0.1 < x < 3.0

    margins = [None, lambda x: (x - 0.1) * (3 - x), lambda x: math.sin(x), lambda x: math.nan, lambda x: 1.0]
    for margin in margins:
        found = changes(inside, scan, margin=margin)
        np.testing.assert_allclose([change.at for change in found], [0.1, 3.0], rtol=1e-9)
        assert changes(lambda x: True, scan, margin=margin) == []
        for place, wanted in ((0.001, 0.1), (0.5, 0.1), (0.6, 3.0), (1000.0, 3.0)):
            assert nearest(inside, scan, place, margin=margin).at == pytest.approx(wanted, rel=1e-9)


def test_a_margin_saves_most_of_the_looks():
    """Bisection to 1e-10 takes 33 looks between two points of a scan; the nearest change needs no scan of the rest."""
    looks: list[float] = []

    def state(x: float) -> bool:
        looks.append(x)
        return x**3 > 5

    found = nearest(state, np.geomspace(0.01, 100, 17).tolist(), 1.0, margin=lambda x: x**3 - 5)
    assert found.at == pytest.approx(5 ** (1 / 3), rel=1e-10)
    assert len(looks) <= 9


@pytest.mark.parametrize("classes", [4, 130])
def test_nearest_temperature_solves_the_condition(classes):
    """Classes of few and of many distinct sizes (where the margin comes from inverse iteration): the closed form."""
    share = 0.97
    weights = 1 + np.arange(classes - 1) / 50
    orbits = Orbits.of([share, *((1 - share) * weights / weights.sum())])
    wanted = brentq(lambda t: supcon_condition(share, t), 0.1, 10, xtol=1e-14)
    assert collapse_temperature(make_loss("supcon", {}), orbits) == pytest.approx(wanted, rel=1e-9)


# --- groups and dimensions by the certificate ----------------------------------------------------------------------

SOFT = {"name": "soft-supcon", "epsilon": 0.01}


def posed(counts, loss):
    n = np.array(counts, dtype=float)
    orbits = Orbits.of(n / n.sum(), n)
    name, *_ = (loss["name"],)
    return make_loss(name, {k: v for k, v in loss.items() if k != "name"}).objective(orbits), orbits


def test_a_near_class_of_another_size_does_not_join_a_point():
    report = solve(Imbalance(counts=[292, 23, 23, 26, 6, 17], loss={**SOFT, "temperature": 2.5}))
    assert report.groups() == [["2", "3"]]
    # measured independently: 1 - cos(2, 4) = 4.9e-7
    assert 1 - report.gram[1, 3] == pytest.approx(4.9e-7, rel=0.01)
    assert 1 - report.gram[1, 2] < 1e-12


@pytest.mark.parametrize(("temperature", "groups", "rank"), [(1.142546, [], 2), (1.142547, [["2", "3"]], 1)])
@pytest.mark.parametrize("solver", ["auto", "manifold"])
def test_groups_and_dimensions_change_at_the_threshold_and_not_near_it(temperature, groups, rank, solver):
    """The root of the supcon condition is 1.14254611."""
    assert brentq(lambda tau: supcon_condition(0.9, tau), 1, 2) == pytest.approx(1.14254611, abs=1e-8)
    loss = {"name": "supcon", "temperature": temperature}
    report = solve(Imbalance(props=[0.9, 0.06, 0.04], loss=loss, solver=solver))
    assert report.groups() == groups
    assert report.rank == rank
    assert report.gram[1, 2] > 1 - 1e-6  # which is no reason


@pytest.mark.parametrize(("temperature", "optimal"), [(2.35, False), (2.36, True), (2.6, True)])
def test_the_dual_contrast_decides_for_equal_classes(temperature, optimal):
    """Independent of orbits: the quadratic form of the full S on e_2 - e_3, and all eigenvalues of S."""
    objective, orbits = posed([100, 10, 10, 12, 3], {**SOFT, "temperature": temperature})
    pair = int(orbits.index[1])
    cosines = best_geometry(objective, orbits, ((pair,),))
    verdict = judge(objective, orbits, ((pair,),), cosines)
    assert verdict.optimal is optimal
    single = orbits.single()
    plain = posed([100, 10, 10, 12, 3], {**SOFT, "temperature": temperature})[0]
    gram = orbits.lift(cosines)
    blocks = dual_blocks(orbits, cosines, plain.gradient(cosines))
    diagonal, off = orbits.entries(blocks)
    full = off[np.ix_(orbits.index, orbits.index)]
    np.fill_diagonal(full, diagonal[orbits.index])
    assert single.n_classes == 5
    assert np.abs(full @ gram).max() < 1e-9 * np.abs(full).max()
    contrast = np.zeros(5)
    contrast[[1, 2]] = 1, -1
    assert (contrast @ full @ contrast > 0) is np.bool_(optimal)
    assert (np.linalg.eigvalsh(full)[0] > -1e-9 * np.abs(full).max()) is np.bool_(optimal)


def test_a_class_of_another_size_is_guilty_by_its_force():
    objective, orbits = posed([292, 23, 23, 26, 6, 17], {**SOFT, "temperature": 2.5})
    pair, near = int(orbits.index[1]), int(orbits.index[3])
    merger = (tuple(sorted((pair, near))),)
    verdict = judge(objective, orbits, merger, best_geometry(objective, orbits, merger))
    assert verdict.guilty == merger
    assert not verdict.optimal


def test_two_points_of_different_sizes_are_found_at_once():
    """Negatives from other classes only, above .2823 (docs/how-to/threshold.md): 3 = 4 and 5 = 6, 2 apart."""
    loss = {"name": "infonce", "sampling": "supervised", "temperature": 0.4}
    objective, orbits = posed([100, 20, 5, 5, 1, 1], loss)
    assert optimal_merger(objective, orbits) == ((2,), (3,))
    objective, orbits = posed([100, 20, 5, 5, 1, 1], {**loss, "temperature": 0.2})
    assert optimal_merger(objective, orbits) == ((3,),)


def test_the_multipliers_alone_decide_for_many_sizes():
    loss = {"name": "infonce", "sampling": "supervised", "temperature": 0.4}
    report = solve(Imbalance(counts=[100, 20, 5, 5, 1, 1], loss=loss))
    objective, orbits = posed([100, 20, 5, 5, 1, 1], loss)
    assert held_together(objective, orbits, report.orbit_cosines) == ((2,), (3,))
    apart = solve(Imbalance(counts=[100, 20, 5, 5, 1, 1], loss={**loss, "temperature": 0.1}))
    assert (
        held_together(posed([100, 20, 5, 5, 1, 1], {**loss, "temperature": 0.1})[0], orbits, apart.orbit_cosines) == ()
    )


def test_groups_fall_apart_from_far_to_near():
    orbits = Orbits.of(np.array([8, 4, 4, 3, 2]) / 21)
    born = np.array([[0, 2, 2, 2], [2, 1e-14, 5e-7, 1e-5], [2, 5e-7, 0, 1e-5], [2, 1e-5, 1e-5, 0]])
    assert groups_within(orbits, born, range(4), 1e-3) == ((1, 2, 3),)
    assert parts(orbits, born, (1, 2, 3)) == ((1, 2),)
    assert parts(orbits, born, (1, 2)) == ((1,),)
    assert parts(orbits, born, (1,)) == ()


def test_a_short_direction_counts_where_no_force_holds_it_back():
    """Just below the threshold G has an eigenvalue far below 1e-6, along which S has none; at a collapse S has one."""
    for temperature, rank in ((1.142546, 2), (1.15, 1)):
        loss = {"name": "supcon", "temperature": temperature}
        objective, orbits = posed([90, 6, 4], loss)
        cosines = solve(Imbalance(counts=[90, 6, 4], loss=loss)).orbit_cosines
        assert dual_rank(objective, orbits, cosines, 1e-3) == rank
        assert orbits.rank(cosines, 1e-6) == 1


def test_forces_along_directions_that_are_hardly_in_use_count():
    """Two classes at one point, pulled apart only across the line on which all but stand: no optimum has them there.

    Sides repel each other by D; classes 1 and 2 stand 5e-4 to either side of the point opposite 3 and 4.  The pull
    on 3 against 4 is sum_h (D_3h - D_4h) x_h less its part along x_3, which is (2 + 1) sin 5e-4 sideways.
    """
    orbits = Orbits.trivial(np.array([0.4, 0.3, 0.2, 0.1]))
    slope = np.array([[0.0, 0, 4, 1], [0, 0, 2, 3], [4, 2, 0, 0], [1, 3, 0, 0]])
    angles = np.array([np.pi + 5e-4, np.pi - 5e-4, 0, 0])
    points = np.column_stack([np.cos(angles), np.sin(angles)])
    flat = SimpleNamespace(gradient=lambda cosines: slope)
    verdict = judge(flat, orbits, ((2, 3),), points @ points.T)
    assert not verdict.optimal
    line = np.sign(points[:, 0])
    assert judge(flat, orbits, ((2, 3),), np.outer(line, line)).margin > 0.4
