"""Which weights make a geometry optimal: closed forms, proofs recomputed here, weights fed back, and the command."""

from __future__ import annotations

import json
import re
import shlex

import numpy as np
import pytest

from geomsolve import Design, Imbalance, InputError, Orbits, make_loss, plots, solve
from geomsolve.proof.equal_masses import unequal_masses
from geomsolve.proof.farkas import refutation
from geomsolve.solvers.inverse import each_anchor

THREE = (0.45, 0.35, 0.2)
FOUR = (0.4, 0.3, 0.2, 0.1)
CHANGES = ("anchors", "denominators", "both", "margins", "batches")


def supcon(temperature=0.5, **more):
    return {"name": "supcon", "temperature": temperature, **more}


def designed(props, temperature=0.5, **how):
    return solve(Design(props=props, loss=supcon(temperature), **how))


def fed_back(report, props, temperature):
    return solve(Imbalance(props=props, loss=supcon(temperature, **report.parameters))).gram


def forces(gram, temperature, w, v, margins=0.0):
    """(dF/dG_ab + dF/dG_ba) / 2 of sum_a w_a log sum_b v_b e^{(G_ab - 1 + m_ab)/t}, written out."""
    terms = v * np.exp((gram - 1 + margins) / temperature)
    one_way = w[:, None] * terms / terms.sum(axis=1, keepdims=True) / temperature
    return (one_way + one_way.T) / 2


def batch_forces(gram, temperature, p, group):
    """The same of one batch, of the classes of ``group``, from 1."""
    inside, found = np.array(group) - 1, np.zeros_like(gram)
    q = p[inside] / p[inside].sum()
    found[np.ix_(inside, inside)] = forces(gram[np.ix_(inside, inside)], temperature, q, q)
    return found


def simplex(n):
    return (n * np.eye(n) - 1) / (n - 1)


def test_published_weights_of_three_classes(run):
    words = "design --props 0.45,0.35,0.2 -t 0.5 --target simplex --change anchors --json"
    done = run(*words.split())
    assert done.code == 0
    answer = done.json
    assert answer["feasible"] is True
    assert answer["weights"] == pytest.approx([0.2376096443, 0.4440667604, 0.3183235954], abs=1e-9)
    assert answer["proof"]["kind"] == "optimal"
    assert 0 <= answer["proof"]["residual"] < 1e-12
    assert answer["nearest"] is None


@pytest.mark.parametrize("props", [THREE, (0.49, 0.3, 0.21), (0.34, 0.33, 0.33), (0.42, 0.38, 0.2)])
@pytest.mark.parametrize("temperature", [0.05, 0.2, 1.0, 5.0])
def test_three_classes_have_a_closed_form(props, temperature):
    p, x = np.array(props), np.exp(-1.5 / temperature)
    w = p * (1 - 2 * p) * (p + x * (1 - p))
    report = designed(props, temperature)
    assert report.verdict == "feasible"
    assert report.weights == pytest.approx(w / w.sum(), abs=1e-8)


def test_a_class_that_holds_half_is_no_anchor_and_one_that_holds_more_is_too_many():
    half = designed((0.5, 0.3, 0.2))
    assert half.feasible
    assert half.weights[0] == 0
    assert np.abs(fed_back(half, (0.5, 0.3, 0.2), 0.5) - simplex(3)).max() < 1e-6
    assert designed((0.501, 0.3, 0.199)).verdict == "none"


@pytest.mark.parametrize(
    ("props", "verdict"),
    [((0.31, 0.23, 0.23, 0.23), "feasible"), ((0.19, 0.27, 0.27, 0.27), "feasible"), ((0.3, 0.3, 0.2, 0.2), "none")],
)
def test_four_classes_of_which_at_most_one_differs(props, verdict):
    assert designed(props).verdict == verdict


@pytest.mark.slow
def test_four_sizes_have_no_weights_and_the_multipliers_prove_it(run):
    done = run(*["design", "--props", "0.4,0.3,0.2,0.1", "-t", "0.5", "--json"])
    assert done.code == 0
    answer = done.json
    assert answer["feasible"] is False
    assert answer["weights"] is None
    proof = answer["proof"]
    assert proof["kind"] == "farkas"
    assert proof["residual"] == 0
    multipliers, p = np.array(proof["multipliers"]), np.array(FOUR)
    assert np.diag(multipliers).tolist() == [0] * 4
    assert np.array_equal(multipliers, multipliers.T)
    assert multipliers.sum() < 0  # N' Lambda N for N = 1/2
    for w in np.eye(4):  # every w is a mixture of these
        assert np.sum(multipliers * forces(simplex(4), 0.5, w, p)) > 1e-3
    # what is shown instead is found by solving, and is as far off as it says
    near = answer["nearest"]
    again = solve(Imbalance(props=FOUR, loss=supcon(anchor_weights=(np.array(near["weights"]) / p).tolist())))
    assert np.abs(again.gram - np.array(near["gram"])).max() < 1e-6
    assert near["max_gram_error"] == pytest.approx(np.abs(again.gram - simplex(4)).max(), abs=1e-6)
    plain = solve(Imbalance(props=FOUR, loss=supcon()))
    assert near["max_gram_error"] < np.abs(plain.gram - simplex(4)).max()


@pytest.mark.slow
def test_another_search_finds_nothing_nearer():
    optimize = pytest.importorskip("scipy.optimize")
    p = np.array((0.4, 0.35, 0.25))
    target = np.array([[1, -0.8, 0.1], [-0.8, 1, -0.6], [0.1, -0.6, 1.0]])
    near = designed(tuple(p), target=target).nearest

    def off(logs):
        weights = tuple((np.exp(logs) / p).tolist())
        return np.abs(solve(Imbalance(props=tuple(p), loss=supcon(anchor_weights=weights))).gram - target).max()

    for start in (np.log(p), np.array([0.0, -3, 0])):
        best = optimize.minimize(off, start, method="Nelder-Mead", options={"maxfev": 400, "xatol": 1e-5})
        assert near.max_gram_error <= best.fun + 1e-3


def test_multipliers_that_prove_nothing_are_found_out():
    rates = forces(simplex(4), 0.5, np.ones(4), np.full(4, 0.25))
    np.fill_diagonal(rates, 0)
    rates = each_anchor(rates)
    basis = np.full((4, 1), 0.5)
    ones = np.ones((4, 4)) - np.eye(4)
    assert not refutation(ones, basis, rates).holds  # gains, but so do forces that cancel
    assert not refutation(-ones, basis, rates).holds
    assert refutation(ones, basis, rates).residual == pytest.approx(3)
    assert not refutation(0 * ones, basis, rates).holds
    assert refutation(ones, basis[:, :0], rates).holds  # nothing cancels where no dimension is left out


@pytest.mark.parametrize("change", ["both", "margins"])
@pytest.mark.parametrize("props", [THREE, FOUR, (0.9, 0.06, 0.04)])
def test_what_always_makes_a_simplex(change, props):
    report = designed(props, change=change)
    assert report.verdict == "feasible"
    n, p = len(props), np.array(props)
    assert np.abs(fed_back(report, props, 0.5) - simplex(n)).max() < 1e-6
    if change == "both":
        for weights in report.weights.values():
            assert weights == pytest.approx(np.full(n, 1 / n), abs=1e-9)
        return
    margins = report.weights
    assert np.array_equal(margins, margins.T)
    assert margins.sum() == pytest.approx(0, abs=1e-12)
    pushes = forces(simplex(n), 0.5, p, p, margins)[np.triu_indices(n, 1)]
    assert np.ptp(pushes) < 1e-9 * pushes.max()


@pytest.mark.parametrize("temperature", [0.01, 0.1, 0.5, 20])
def test_denominators_of_three_classes(temperature):
    """As t -> 0 the forces are in the ratio of p_a v_b / v_a + p_b v_a / v_b."""
    report = designed(THREE, temperature, change="denominators")
    assert report.verdict == "feasible"
    pushes = forces(simplex(3), temperature, np.array(THREE), report.weights)[np.triu_indices(3, 1)]
    assert np.ptp(pushes) < 1e-8 * pushes.max()
    assert np.abs(fed_back(report, THREE, temperature) - simplex(3)).max() < 1e-6
    if temperature == 0.01:
        ratios = np.array(THREE)[:, None] * report.weights / report.weights[:, None]
        assert np.ptp((ratios + ratios.T)[np.triu_indices(3, 1)]) < 1e-7


def attainable(rng, change):
    """Proportions, a temperature and a geometry that some weights of the kind attain."""
    n = int(rng.integers(3, 7))
    p = rng.dirichlet(np.full(n, 2.0)) + 0.02
    props, temperature = tuple((p / p.sum()).tolist()), float(np.exp(rng.uniform(np.log(0.07), np.log(2))))
    given = {}
    if change in ("anchors", "both"):
        given["anchor_weights"] = rng.uniform(0.3, 3, n).tolist()
    if change in ("denominators", "both"):
        given["denominator"] = rng.uniform(0.3, 3, n).tolist()
    if change == "batches":  # all pairs meet
        given["batches"] = ((1, 2, 3), tuple(range(1, n + 1)), (1, n), (2, n))
        given["batch_weights"] = rng.uniform(0.3, 3, 4).tolist()
    if change == "margins":
        half = rng.normal(scale=0.1, size=(n, n))
        given["pair_margin"] = (np.triu(half, 1) + np.triu(half, 1).T).tolist()
    return props, temperature, solve(Imbalance(props=props, loss=supcon(temperature, **given))).gram


@pytest.mark.parametrize("change", CHANGES)
def test_weights_fed_back_give_the_target(change, rng):
    for _ in range(3):
        props, temperature, target = attainable(rng, change)
        report = designed(props, temperature, target=target, change=change)
        assert report.verdict == "feasible", (props, temperature)
        assert np.abs(fed_back(report, props, temperature) - target).max() < 1e-6


@pytest.mark.slow
@pytest.mark.parametrize("change", CHANGES)
def test_weights_fed_back_give_the_target_on_many(change):
    rng = np.random.default_rng(7)
    for _ in range(25):
        props, temperature, target = attainable(rng, change)
        report = designed(props, temperature, target=target, change=change)
        assert report.verdict == "feasible", (props, temperature)
        assert np.abs(fed_back(report, props, temperature) - target).max() < 1e-6


@pytest.mark.parametrize("temperature", [pytest.param(0.1, marks=pytest.mark.slow), 0.5])
@pytest.mark.parametrize("change", CHANGES)
def test_classes_can_be_made_to_share_a_point(change, temperature):
    v = np.array([1.0, -1, -1])
    report = designed((0.9, 0.06, 0.04), temperature, target=np.outer(v, v), change=change)
    assert report.verdict == "feasible"
    assert np.abs(fed_back(report, (0.9, 0.06, 0.04), temperature) - np.outer(v, v)).max() < 1e-6


@pytest.mark.slow
@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("target", [np.eye(3), np.ones((3, 3))], ids=["orthogonal", "one point"])
def test_what_a_loss_that_only_pushes_never_wants(change, target):
    report = designed((0.4, 0.3, 0.3), target=target, change=change)
    assert report.verdict == "none"
    assert report.exit_code == 0
    multipliers = report.refutation.multipliers
    if change == "batches":
        assert np.sum(multipliers) > 0
    elif change == "anchors" and target[0, 1]:
        w = np.array([0.2, 0.3, 0.5])
        assert np.sum(multipliers * forces(target, 0.5, w, np.array([0.4, 0.3, 0.3]))) > 0
    else:
        assert multipliers[np.triu_indices(3, 1)].min() > 0
    assert report.refutation.residual == 0


@pytest.mark.parametrize(
    ("props", "verdict"),
    [(FOUR, "none"), ((0.31, 0.23, 0.23, 0.23), "none"), ((0.19, 0.27, 0.27, 0.27), "feasible")],
)
def test_denominators_of_four_classes_of_which_more_than_one_differs(props, verdict):
    report = designed(props, change="denominators")
    assert report.verdict == verdict
    if verdict == "feasible":
        assert np.abs(fed_back(report, props, 0.5) - simplex(4)).max() < 1e-6
        return
    if props != FOUR:  # the quadratic, on a grid
        e, ratio, r = np.exp(-8 / 3), 31 / 23, np.linspace(0, 2, 10**5)
        excess = ((2 - r) * (r + 3 * e) - ratio * (1 + e * (2 + r))).max()
        assert excess < 0
        assert report.proof["largest_excess"] == pytest.approx(excess, abs=1e-8)
        return
    # without the largest they run from .1 to .3, without the smallest from .2 to .4
    assert report.proof["kind"] == "unequal masses"
    assert report.proof["least_difference"] == pytest.approx(0.2 / 0.4)
    assert designed(props, change="denominators", target=np.eye(4)).proof["kind"] == "farkas"


@pytest.mark.slow
def test_masses_that_are_equal_but_for_one_prove_nothing():
    assert not unequal_masses(np.array([0.3, 0.1, 0.3, 0.3]), 0.1).holds
    assert not unequal_masses(np.array([0.3, 0.3 + 1e-12, 0.4, 0.3]), 0.9).holds
    assert unequal_masses(np.array([0.3, 0.3, 0.7, 0.3]), 0.9).holds  # more than twice the others is too much
    assert unequal_masses(np.array([0.2, 0.2, 0.3, 0.3]), 0.1).difference == pytest.approx(1 / 3)
    margin = np.zeros((4, 4)) + 0.1 * (1 - np.eye(4))
    margin[0, 1] = margin[1, 0] = 0.3  # which tells pairs apart, so that the argument does not hold
    report = solve(Design(props=FOUR, loss=supcon(pair_margin=margin.tolist()), change="denominators"))
    assert report.verdict == "not found"


@pytest.mark.parametrize("ratio", [0.2, 0.9, 1.3, 2.1])
def test_whether_denominators_do_is_decided_where_one_mass_differs(ratio):
    props = np.array([ratio, 1, 1, 1]) / (3 + ratio)
    report = designed(tuple(props.tolist()), 1.0, change="denominators")
    assert report.verdict == ("none" if unequal_masses(props, np.exp(-4 / 3)).holds else "feasible")


@pytest.mark.parametrize(
    ("target", "off"), [(np.eye(3), 0.5), (np.array([[1, -0.7, -0.6], [-0.7, 1, -0.1], [-0.6, -0.1, 1]]), 0.0141)]
)
def test_the_nearest_that_margins_reach(target, off):
    """Forces that cancel have u'Gu = 0 for some u > 0, so that a cosine is -1/2 or less: none is nearer to a frame."""
    report = designed((0.7, 0.2, 0.1), target=target, change="margins")
    assert report.verdict == "none"
    near = report.nearest
    assert near.max_gram_error == pytest.approx(off, abs=2e-3 * off + 1e-4)
    if target[0, 1]:  # what class weights and denominators together reach is a search of its own
        both = designed((0.7, 0.2, 0.1), target=target, change="both").nearest
        assert near.max_gram_error == pytest.approx(both.max_gram_error, rel=2e-2)
    margins = tuple(map(tuple, near.weights["margins"].tolist()))
    again = solve(Imbalance(props=(0.7, 0.2, 0.1), loss=supcon(pair_margin=margins)))
    assert np.abs(again.gram - near.gram).max() < 1e-6


def test_batches_that_make_any_sizes_a_simplex():
    for props in (THREE, FOUR, (0.9, 0.06, 0.04)):
        report = designed(props, change="batches")
        assert report.verdict == "feasible"
        n, p = len(props), np.array(props)
        groups, often = report.weights["batches"], report.weights["batch_weights"]
        assert sum(often) == pytest.approx(1, abs=1e-12)
        pushes = sum(c * batch_forces(simplex(n), 0.5, p, group) for group, c in zip(groups, often, strict=True))
        assert np.ptp(pushes[np.triu_indices(n, 1)]) < 1e-9 * pushes.max()
        assert len(groups) <= n * (n - 1) // 2  # a vertex: no more batches than pairs
        assert np.abs(fed_back(report, props, 0.5) - simplex(n)).max() < 1e-6


def test_batches_to_choose_from():
    """Of {1,2,3} and {2,3,4} none, as 1 and 4 never meet.  In a batch of m equal classes, x the term of a pair, the
    force of each is x / (m (1 + (m-1) x)) / t, so that {1,2,3} comes 3 (1+2x) / (2 (1+x)) times as often as {1,4}."""
    two = ((1, 2, 3), (2, 3, 4))
    none = solve(Design(props=FOUR, loss=supcon(batches=two), change="batches"))
    assert none.verdict == "none"
    multipliers = none.refutation.multipliers
    assert multipliers.sum() < 0  # N' Lambda N for N = 1/2
    for group in two:
        assert np.sum(multipliers * batch_forces(simplex(4), 0.5, np.array(FOUR), group)) > 1e-3
    assert none.nearest.gram[0, 3] > 0.99
    star = ((1, 2, 3), (1, 4), (2, 4), (3, 4))
    even = solve(Design(props=(0.25,) * 4, loss=supcon(batches=star), change="batches"))
    assert even.verdict == "feasible"
    x = np.exp(-8 / 3)
    ratio = 3 * (1 + 2 * x) / (2 * (1 + x))
    assert even.weights["batches"] == star
    assert even.weights["batch_weights"] == pytest.approx(np.array([ratio, 1, 1, 1]) / (3 + ratio), abs=1e-9)
    missing = solve(Design(props=(0.25,) * 4, loss=supcon(batches=(*two, (1, 4))), change="batches"))
    assert missing.verdict == "none"  # 2 and 3 meet more often than 1 and 2, and 2 and 4, together


@pytest.mark.slow
def test_batches_as_a_person_reads_them(run):
    done = run("design", "--props", "0.4,0.3,0.2,0.1", "-t", 0.5, "--change", "batches", "--batches", "1,2,3;2,3,4")
    said = " ".join(done.stdout.split())
    assert said.startswith("No batches among those given make a regular simplex of these 4 classes the optimum of sup")
    assert "the forces of every batch sum to more than 0" in said
    assert "without --batches every group of classes is one to choose from" in said
    assert plots.draw(designed(FOUR, change="batches").to_dict()).axes[0].get_xlabel() == "classes in the batch"


@pytest.mark.slow
def test_not_found_is_not_none(run, tmp_path):
    gram = solve(Imbalance(props=FOUR, loss=supcon(anchor_weights=(3, 1, 1, 1)))).gram
    np.save(tmp_path / "g.npy", gram)
    words = ["design", "--props", "0.4,0.3,0.2,0.1", "-t", "0.5", "--change", "denominators"]
    words += ["--target", f"@{tmp_path / 'g.npy'}"]
    done = run(*words)
    assert done.code == 1
    said = " ".join(done.stdout.split())
    assert said.startswith("No denominators were found that make this geometry of these 4 classes")
    assert "That there are none is not proven." in said
    assert "Proven" not in said
    assert "that no others come nearer is not" in said
    answer = run(*words, "--json").json
    assert answer["verdict"] == "not found"
    assert answer["feasible"] is None
    assert answer["proof"] is None
    assert answer["weights"] is None
    plain = solve(Imbalance(props=FOUR, loss=supcon())).gram
    assert 1e-3 < answer["nearest"]["max_gram_error"] < np.abs(plain - gram).max()


@pytest.mark.parametrize("loss", [{"batch": 16}, {"sampler": 0.5}, {"denominator": "balanced"}, {"logit_adjust": -0.5}])
def test_class_weights_beside_other_changes(loss):
    report = solve(Design(props=THREE, loss=supcon(**loss)))
    assert report.verdict == "feasible"
    again = solve(Imbalance(props=THREE, loss=supcon(**loss, **report.parameters)))
    assert again.structure.kind == "regular simplex"
    assert np.abs(again.gram - simplex(3)).max() < 1e-6


def test_a_hundred_classes():
    p = 1 / np.arange(1.0, 101)
    report = designed(tuple((p / p.sum()).tolist()), 0.2)
    assert report.verdict == "none"
    assert report.nearest is None


@pytest.mark.parametrize("change", CHANGES)
def test_what_is_printed_can_be_used(change, run, tmp_path):
    done = run("design", "--props", "0.45,0.35,0.2", "-t", "0.5", "--change", change)
    assert done.code == 0
    assert "supcon wants a regular simplex: all 3 classes at 120.0° from each other." in " ".join(done.stdout.split())
    assert "Proven: loss value" in done.stdout
    assert "It is the only optimum." in done.stdout
    command = done.stdout[done.stdout.index("To verify:\n") :].splitlines()[1].strip()
    name, *words = shlex.split(command)
    assert name == "geomsolve"
    answer = run(*words, "--json").json
    assert answer["structure"]["kind"] == "regular simplex"
    assert np.abs(np.array(answer["gram"]) - simplex(3)).max() < 1e-6
    yaml = re.search(r"in a problem file:\n((?:  .*\n)+)", done.stdout)[1]
    (tmp_path / "p.yaml").write_text("kind: imbalance\nprops: [0.45, 0.35, 0.2]\n" + re.sub("(?m)^  ", "", yaml))
    assert run("solve", tmp_path / "p.yaml", "--json").json["gram"] == answer["gram"]


def test_torch_lines_hold_factors_of_each_sample(run):
    both = run(*["design", "--props", "0.45,0.35,0.2", "-t", "0.5", "--change", "both"]).stdout
    for name in ("class_weight", "denominator_weight"):  # balanced: in inverse proportion to the share
        numbers = json.loads(re.search(rf"{name} = torch\.tensor\((.*?)\)", both)[1])
        assert numbers == pytest.approx([1 / 3 / p for p in THREE], abs=1e-9)
    listed = re.search(r"anchors: (\S+)", both)[1]
    assert [float(x) for x in listed.split(",")] == pytest.approx([1 / 3] * 3, abs=1e-9)


def test_a_target_from_a_file_and_a_problem_file(run, tmp_path):
    weights = (2.0, 1.0, 0.5)
    gram = solve(Imbalance(props=THREE, loss=supcon(anchor_weights=weights))).gram
    np.save(tmp_path / "g.npy", gram)
    answer = run("design", "--props", "0.45,0.35,0.2", "-t", 0.5, "--target", f"@{tmp_path / 'g.npy'}", "--json").json
    wanted = np.array(weights) * THREE
    assert answer["weights"] == pytest.approx(wanted / wanted.sum(), abs=1e-7)
    file = tmp_path / "p.yaml"
    file.write_text(
        "kind: design\nprops: [0.45, 0.35, 0.2]\ntarget: '@g.npy'\nloss: {temperature: 0.5}\n"
        "expect: {verdict: feasible, structure: general}\n"
    )
    assert run("validate", file).code == 0
    solved = run("solve", file, "--json")
    assert solved.code == 0
    assert solved.json["weights"] == answer["weights"]
    file.write_text("kind: design\nprops: [0.45, 0.35, 0.2]\nexpect: {verdict: none}\n")
    assert run("solve", file).code == 1
    file.write_text("kind: design\nprops: [0.45, 0.35, 0.2]\nexpect: {verdict: nope}\n")
    assert "known: feasible, none, not found" in run("validate", file).stderr


def test_an_answer_can_be_asked_again():
    first = solve(Design(props=THREE, loss=supcon(), target=[[1, -0.5, -0.5], [-0.5, 1, -0.5], [-0.5, -0.5, 1]]))
    again = solve(Design(**json.loads(json.dumps(first.to_dict()["problem"]))))
    assert again.to_dict()["problem"] == first.to_dict()["problem"]
    assert again.weights == pytest.approx(first.weights, abs=1e-12)


@pytest.mark.parametrize(
    ("how", "field", "words"),
    [
        ({"target": "simple"}, "target", "wanted simplex, a matrix of cosines"),
        ({"target": np.eye(2)}, "target", "2 x 2, but there are 3 classes"),
        ({"target": np.diag([1, 1, 0.9])}, "target", "entry 3 of it is 0.9"),
        ({"target": [[1, 0, 0.2], [0, 1, 0], [0.1, 0, 1]]}, "target", "row 1, column 3 is 0.2, row 3, column 1 is 0.1"),
        ({"target": 1.9 * np.eye(3) - 0.9}, "target", "the smallest eigenvalue of the target is -0.8"),
        ({"change": "sampler"}, "change", "both, margins or batches"),
        (
            {"loss": {"name": "soft-supcon"}},
            "loss.name",
            "soft-supcon takes no anchor weights; anchors are designed for dcl, infonce and supcon",
        ),
        ({"loss": {"name": "infonce", "form": "mean"}}, "loss.name", "weighs classes otherwise in this form"),
        ({"loss": supcon(anchor_weights="balanced")}, "loss.anchor_weights", "this is what is designed"),
        ({"loss": supcon(logit_adjust=1), "change": "both"}, "loss.logit_adjust", "it changes what is designed"),
        ({"loss": supcon(batch=8), "change": "margins"}, "loss.batch", "in the population limit only"),
        ({"loss": supcon(full_batch=True)}, "loss.anchor_weights", "leave out the full batch"),
        ({"loss": supcon(0.002)}, "loss.temperature", "take a higher temperature"),
        ({"change": "batches", "loss": supcon(sampler=0.5)}, "loss.sampler", "compared as they stand"),
        (
            {"change": "batches", "loss": supcon(batches=((1, 2, 3),), batch_weights=(1,))},
            "loss.batch_weights",
            "what is designed",
        ),
        ({"change": "batches", "props": (1 / 21,) * 21}, "change", "21 classes; batches are designed for at most 20"),
        ({"props": (0.005,) * 200}, "props", "200 classes; weights are designed for at most 100"),
    ],
)
def test_what_makes_no_sense_is_refused(how, field, words):
    with pytest.raises(InputError, match=re.escape(words)) as refused:
        solve(Design(**{"props": THREE, **how}))
    assert refused.value.field == field


def test_a_rounded_target_is_taken_as_the_cosines_of_points(run):
    target = "1,-0.4999999,-0.5;-0.4999999,1,-0.5;-0.5,-0.5,1"
    done = run("design", "--props", "0.45,0.35,0.2", "-t", 0.5, "--target", target)
    assert done.code == 0
    assert re.search(r"The target was moved by at most [0-9]e-0[78] to be the cosines of points\.", done.stdout)


def test_a_target_rounded_too_much_is_told_so(run):
    target = ";".join(",".join("1" if a == b else "-0.3333" for b in range(4)) for a in range(4))
    done = run("design", "--props", "4*0.25", "-t", 0.5, "--target", target)
    said = " ".join(done.stdout.split())
    assert "No weights, denominators, margins or batches make this geometry the optimum of supcon." in said
    assert "If the target is rounded, give more digits: its smallest eigenvalue is 0.0001." in said


def test_a_class_may_weigh_nothing(run):
    base = ["imbalance", "--props", "0.4,0.3,0.2,0.1", "-t", "0.5", "--json", "--anchor-weights"]
    one = run(*base, "0,1,1,1")
    assert one.code == 0
    assert one.json["unique"] is True
    assert run(*base, "0,0,1,1").json["certified"]
    for weights, strict in (((0, 1, 1, 1), True), ((0, 0, 1, 1), False)):  # the cosine of the first two does not enter
        loss = make_loss("supcon", {"anchor_weights": weights})
        assert loss.objective(Orbits.trivial(FOUR)).unique_minimiser is strict
    none = run(*base, "0,0,0,0")
    assert none.code == 2
    assert "some of which may be 0" in none.stderr
    assert run(*base[:-1], "--denominator", "0,1,1,1").code == 2


@pytest.mark.slow
def test_pictures():
    bars = plots.draw(designed(FOUR).to_dict()).axes[0]
    assert [label.get_text() for label in bars.get_legend().get_texts()] == ["share", "anchor mass"]
    assert [patch.get_height() for patch in bars.patches][:4] == pytest.approx(FOUR)
    matrix = plots.draw(designed(FOUR, change="margins").to_dict()).axes[0]
    assert matrix.images[0].get_array().shape == (4, 4)
    both = plots.draw(designed(FOUR, change="both").to_dict()).axes[0]
    assert [patch.get_height() for patch in both.patches][4:] == pytest.approx([0.25] * 8)
    nearest = plots.draw(designed(THREE, target=np.eye(3), change="margins").to_dict()).axes[0]
    assert nearest.images[0].get_array().shape == (3, 3)
