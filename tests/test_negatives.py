"""Finite negatives against the limit: bounds, closed forms, enumeration, the least sufficient number, the command."""

from __future__ import annotations

import itertools
import json
from math import comb, exp, inf, log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from geomsolve import InputError, Negatives, Orbits, make_loss, solve
from geomsolve.analyses.negatives import least_by_bound, least_sufficient, lower_bound, upper_bound
from geomsolve.objectives.joint import JointExpectation, joint_objective
from geomsolve.objectives.sampling import negative_distribution

KS = (1, 2, 3, 8, 64, 1000, 10**6)


def random_joint(rng: np.random.Generator, n: int) -> np.ndarray:
    joint = rng.random((n, n)) + 2 * np.diag(rng.random(n))
    return joint / joint.sum()


def random_gram(rng: np.random.Generator, n: int) -> np.ndarray:
    x = rng.normal(size=(n, n))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    return x @ x.T


def bind(joint: np.ndarray, k: float, temperature: float, *, decoupled: bool, sampling: str = "iid"):
    orbits = Orbits.trivial(joint.sum(axis=1))
    return joint_objective(joint, orbits, decoupled=decoupled, negatives=k, temperature=temperature, sampling=sampling)


def enumerated(joint: np.ndarray, gram: np.ndarray, k: int, temperature: float, *, decoupled: bool, sampling: str):
    """E log of the ratio, over every anchor, positive and tuple of negatives."""
    p = joint.sum(axis=1)
    e = np.exp(gram / temperature)
    total = 0.0
    for a, b in itertools.product(range(len(p)), repeat=2):
        r = p.copy()
        if sampling == "supervised":
            r[a] = 0
            r /= r.sum()
        for drawn in itertools.product(range(len(p)), repeat=k):
            tail = e[a, list(drawn)].sum()
            total += joint[a, b] * np.prod(r[list(drawn)]) * log((tail + (0 if decoupled else e[a, b])) / e[a, b])
    return total


@pytest.mark.parametrize("sampling", ["iid", "supervised"])
@pytest.mark.parametrize("decoupled", [False, True])
@pytest.mark.parametrize("k", [1, 2, 4])
def test_integral_is_the_enumeration(rng, k, decoupled, sampling):
    joint, gram = random_joint(rng, 3), random_gram(rng, 3)
    value = bind(joint, k, 0.4, decoupled=decoupled, sampling=sampling).value(gram)
    expected = enumerated(joint, gram, k, 0.4, decoupled=decoupled, sampling=sampling)
    assert value == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("decoupled", [False, True])
@pytest.mark.parametrize("k", [1, 2, 50])
def test_derivatives_are_those_of_the_value(rng, k, decoupled):
    objective, gram = bind(random_joint(rng, 4), k, 0.5, decoupled=decoupled), random_gram(rng, 4)
    change = rng.normal(size=(4, 4))
    np.fill_diagonal(change, 0)
    h = 1e-5
    slope = (objective.value(gram + h * change) - objective.value(gram - h * change)) / (2 * h)
    assert np.sum(objective.gradient(gram) * change) == pytest.approx(slope, rel=1e-7)
    bend = (objective.gradient(gram + h * change) - objective.gradient(gram - h * change)) / (2 * h)
    np.testing.assert_allclose(objective.curvature(gram)(change), bend, atol=1e-7)


@pytest.mark.parametrize("loss", ["infonce", "dcl"])
@pytest.mark.parametrize("k", [1, 5, 300, inf])
def test_positives_of_the_own_class_give_the_loss_of_classes(rng, loss, k):
    p, gram = np.array([0.5, 0.3, 0.2]), random_gram(rng, 3)
    of_classes = make_loss(loss, {"temperature": 0.3, "negatives": k}).objective(Orbits.trivial(p))
    of_points = bind(np.diag(p), k, 0.3, decoupled=loss == "dcl")
    assert of_points.value(gram) == pytest.approx(of_classes.value(gram), abs=1e-12)
    np.testing.assert_allclose(of_points.gradient(gram), of_classes.gradient(gram), atol=1e-12)


@settings(max_examples=40)
@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(2, 5),
    temperature=st.floats(0.15, 3),
    decoupled=st.booleans(),
    sampling=st.sampled_from(["iid", "supervised"]),
)
def test_bounds_hold_for_every_geometry_and_every_k(seed, n, temperature, decoupled, sampling):
    rng = np.random.default_rng(seed)
    joint, gram = random_joint(rng, n), random_gram(rng, n)
    limit = bind(joint, inf, temperature, decoupled=decoupled, sampling=sampling).value(gram)
    for k in KS:
        risk = bind(joint, k, temperature, decoupled=decoupled, sampling=sampling).value(gram) - log(k)
        below, above = lower_bound(k, temperature, decoupled=decoupled), upper_bound(k, temperature)
        assert below - 1e-10 <= limit - risk <= above + 1e-10


def test_bounds_are_attained_in_the_worst_case():
    """The lower bound: positives at one point, all else opposite.  So no better bound holds for all geometries."""
    rare = 1e-9
    joint = np.diag([rare, 1 - rare])
    only_rare = JointExpectation(
        np.zeros((2, 2)),
        *negative_distribution(Orbits.trivial([rare, 1 - rare]), "iid"),
        np.array([1.0, 0.0]),
        decoupled=False,
        negatives=4,
        scale=1.0,
    )
    gram = np.array([[1.0, -1.0], [-1.0, 1.0]])
    limit = log(rare + (1 - rare) * exp(-2))
    difference = limit - (only_rare.value(gram) - log(4))
    assert joint.sum() == pytest.approx(1)
    assert difference == pytest.approx(lower_bound(4, 1.0, decoupled=False), abs=1e-7)


@settings(max_examples=25)
@given(seed=st.integers(0, 2**32 - 1), n=st.integers(2, 4), temperature=st.floats(0.2, 3))
def test_the_two_parts_of_the_difference_are_monotone_in_k(seed, n, temperature):
    rng = np.random.default_rng(seed)
    joint, gram = random_joint(rng, n), random_gram(rng, n)
    ks = (1, 2, 3, 4, 6, 10, 100, 1000)
    decoupled = [bind(joint, k, temperature, decoupled=True).value(gram) - log(k) for k in ks]
    whole = [bind(joint, k, temperature, decoupled=False).value(gram) - log(k) for k in ks]
    added = np.subtract(whole, decoupled)
    assert np.all(np.diff(decoupled) >= -1e-11)
    assert np.all(np.diff(added) <= 1e-11)


def antipodal(k: int, temperature: float, *, decoupled: bool) -> float:
    """R(k) for two equal classes, whose best geometry is antipodal: a binomial sum."""
    far, first = exp(-2 / temperature), 0 if decoupled else 1
    terms = (comb(k, j) / 2**k * log(first + j + (k - j) * far) for j in range(k + 1))
    return sum(terms) - log(k)


@pytest.mark.parametrize("loss", ["infonce", "dcl"])
def test_two_equal_classes_are_a_binomial_sum(loss):
    t = 0.5
    report = solve(Negatives(props=[0.5, 0.5], negatives=[1, 2, 7, 40], loss={"name": loss, "temperature": t}))
    limit = log((1 + exp(-2 / t)) / 2)
    assert report.limit == pytest.approx(limit, abs=1e-9)
    for row in report.rows:
        expected = antipodal(row.negatives, t, decoupled=loss == "dcl")
        assert row.risk == pytest.approx(expected, abs=1e-9)
        assert row.lower <= row.difference <= row.upper
        assert row.min_cosine == pytest.approx(-1, abs=1e-6)
    misses = [abs(limit - antipodal(k, t, decoupled=loss == "dcl")) > 0.01 for k in range(1, 400)]
    assert report.least_negatives.exact == max(k for k, miss in enumerate(misses, 1) if miss) + 1
    always = report.least_negatives.always

    def proven(k: int) -> float:
        """How far the limit may be off for every k' >= k, by the two monotone parts and by the general bounds."""
        rises = limit - antipodal(k, t, decoupled=True)
        added = 0.0 if loss == "dcl" else antipodal(k, t, decoupled=False) - antipodal(k, t, decoupled=True)
        return min(max(rises, added), max(upper_bound(k, t), -lower_bound(k, t, decoupled=loss == "dcl")))

    assert proven(always) <= 0.01 < proven(always - 1)
    assert not any(misses[always - 1 :])


@pytest.mark.slow
def test_a_realizable_density_ratio_gives_one_geometry_for_every_k():
    """InfoNCE's best critic is the log density ratio, whatever k: cosine 1 + tau log(odds), here odds 1/4."""
    t, joint = 0.5, ((0.4, 0.1), (0.1, 0.4))
    report = solve(Negatives(joint=joint, negatives=[1, 3, 100], loss={"temperature": t}))
    for row in report.rows:
        assert row.max_cosine == pytest.approx(1 + t * log(0.25), abs=1e-6)
    assert report.limit == pytest.approx(-(0.8 * log(0.8 / 0.5) + 0.2 * log(0.2 / 0.5)), abs=1e-9)
    assert report.certified


@pytest.mark.slow
def test_thresholds_are_the_published_critical_shares():
    """Majority shares at which collapse sets in at temperature 1, iid sampling, sum form, by k."""
    for k, share in ((1, 0.80749), (2, 0.84024), (8, 0.890378), (64, 0.918546)):
        rest = (1 - share) / 2
        report = solve(Negatives(props=[share, rest, rest], negatives=[k], loss={"temperature": 0.9}))
        assert report.rows[0].threshold == pytest.approx(1, abs=1e-4)


@pytest.mark.slow
def test_an_optimum_beats_the_optimum_of_the_limit(rng):
    joint = random_joint(rng, 5)
    report = solve(Negatives(joint=joint.tolist(), negatives=[2, 30], loss={"temperature": 0.4}))
    assert report.certified
    assert report.exit_code == 0
    for row in report.rows:
        for _ in range(20):
            other = bind(joint, row.negatives, 0.4, decoupled=False).value(random_gram(rng, 5)) - log(row.negatives)
            assert row.risk <= other + 1e-9
        assert row.lower <= row.difference <= row.upper


def test_least_by_bound_is_the_first_k_whose_bounds_are_within_the_accuracy():
    for t, accuracy, decoupled in ((2.0, 0.01, False), (0.7, 0.2, False), (0.7, 0.2, True), (50.0, 0.001, False)):
        least = least_by_bound(accuracy, t, decoupled=decoupled)
        for k, enough in ((least, True), (least - 1, False)):
            if k >= 1:
                assert enough == (max(upper_bound(k, t), -lower_bound(k, t, decoupled=decoupled)) <= accuracy)
    assert least_by_bound(0.01, 0.005, decoupled=True) == inf


@settings(max_examples=100)
@given(a=st.floats(0.01, 1e3), b=st.floats(0.01, 1e3), accuracy=st.floats(1e-3, 1))
def test_search_ends_at_a_number_that_suffices_where_one_less_does_not(a, b, accuracy):
    def off_by(k: int) -> float:
        return abs(a / k - np.log1p(b / k))

    exact, always = least_sufficient(off_by, lambda k: max(a / k, np.log1p(b / k)), accuracy)
    assert off_by(exact) <= accuracy
    assert exact == 1 or off_by(exact - 1) > accuracy
    assert max(a / always, np.log1p(b / always)) <= accuracy
    assert always == 1 or max(a / (always - 1), np.log1p(b / (always - 1))) > accuracy
    assert exact <= always


@pytest.mark.parametrize("loss", ["infonce", "dcl"])
@pytest.mark.parametrize(("temperature", "accuracy"), [(10, 0.3), (3, 0.5), (1, 0.1), (0.5, 0.3)])
def test_what_is_proven_is_never_worse_than_what_the_bounds_promise(run, loss, temperature, accuracy):
    flags = ("--props", "0.7,0.2,0.1", "--loss", loss, "-t", temperature, "--accuracy", accuracy)
    least = run("negatives", *flags, "--json").json["least_negatives"]
    assert 1 <= least["exact"] <= least["always"] <= least["bound"]


@pytest.mark.parametrize(
    ("temperature", "accuracy", "words"),
    [
        (10, 0.3, "4 negatives come within 0.3 of the limit (3 do not), and so does, provably, every larger number"),
        (3, 0.5, "2 negatives come within 0.5 of the limit (1 does not), and so does, provably,"),
        (10, 1, "1 negative comes within 1 of the limit, and so does, provably, every larger number"),
    ],
)
def test_the_sentence_about_enough_negatives_agrees_with_the_bounds(run, temperature, accuracy, words):
    done = run("negatives", "--props", "0.7,0.2,0.1", "-t", temperature, "--accuracy", accuracy)
    assert words in " ".join(done.stdout.split())
    assert "from 64 on" not in done.stdout


def test_search_gives_up_beyond_a_billion():
    assert least_sufficient(lambda k: 1.0, lambda k: 1.0, 1e-6) == (None, None)


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({"props": [0.5, 0.5], "negatives": [0]}, "from 1 to"),
        ({"props": [0.5, 0.5], "negatives": "inf"}, "always shown"),
        ({"props": [0.5, 0.5], "negatives": []}, "empty"),
        ({"props": [0.5, 0.5], "negatives": [1.5]}, "1.5"),
        ({"props": [0.5, 0.5], "loss": "supcon"}, "cross-entropy"),
        ({"props": [0.5, 0.5], "loss": {"name": "infonce", "form": "mean"}}, "'form'"),
        ({"props": [0.5, 0.5], "accuracy": 0}, "accuracy"),
        ({"props": [0.5, 0.5], "joint": [[1.0]]}, "1 x 1"),
        ({"joint": [[0.5, 0.5], [0.1, 0.1]]}, "1.2"),
        ({"joint": [[1.1, -0.1], [0, 0]]}, "negative"),
        ({"joint": [[0.5, 0.5], [0, 0]]}, "never an anchor"),
        ({"joint": [[0.5, 0.5], [0]]}, "equal length"),
        ({"joint": [[0.5, float("nan")], [0, 0.5]]}, "row 1, column 2"),
        ({"joint": [[0.5, 0], [0, 0.5]], "props": [0.5, 0.5]}, "found props and joint"),
        ({"joint": [[0.5, 0], [0, 0.5]], "names": "a,b,c"}, "3 names"),
        ({}, "exactly one"),
    ],
)
def test_bad_problems_say_what_is_wrong(bad, message):
    with pytest.raises(InputError, match=message):
        Negatives(**bad)


def test_the_command_answers_in_words(run):
    done = run("negatives", "--props", "0.7,0.2,0.1", "-t", 0.5, "--negatives", "1,8,64")
    assert done.code == 0
    first = done.stdout.splitlines()[0]
    assert first.startswith("With 64 negatives infonce stays")
    for word in ("collapse at t", "Proven", "at least", "at most", "192 do not", "35,910"):
        assert word in done.stdout


def test_the_command_gives_json(run):
    answer = run("negatives", "--props", "0.7,0.2,0.1", "-t", 0.5, "--negatives", "1,8,64", "--json").json
    assert answer["schema"] == "geomsolve/1"
    assert answer["command"] == "negatives"
    assert [row["negatives"] for row in answer["rows"]] == [1, 8, 64]
    for row in answer["rows"]:
        assert row["difference"] == pytest.approx(answer["limit"] - row["risk"], abs=1e-12)
        assert row["lower"] <= row["difference"] <= row["upper"]
        assert row["threshold"] > 0
    assert {"exact", "bound", "always", "accuracy"} == set(answer["least_negatives"])
    assert answer["problem"]["loss"] == {
        "name": "infonce",
        "temperature": 0.5,
        "sampling": "iid",
    }


@pytest.mark.slow
def test_the_command_reads_a_joint_distribution_from_files(run, tmp_path):
    (tmp_path / "joint.txt").write_text("0.4 0.1  # first point\n0.1, 0.4\n")
    np.save(tmp_path / "joint.npy", np.array([[0.4, 0.1], [0.1, 0.4]]))
    answers = [
        run("negatives", "--joint", given, "-t", 0.5, "--negatives", 4, "--json").json
        for given in (f"@{tmp_path}/joint.txt", f"@{tmp_path}/joint.npy", "0.4,0.1;0.1,0.4")
    ]
    assert answers[0]["rows"] == answers[1]["rows"] == answers[2]["rows"]
    assert answers[0]["rows"][0]["threshold"] is None
    assert json.dumps(answers[0]["problem"]["joint"])


@pytest.mark.parametrize(
    "flags",
    [
        ("--joint", "@/no/such/file"),
        ("--joint", "0.4,x;0.1,0.4"),
        ("--props", "0.5,0.5", "--loss", "triplet"),
        ("--props", "0.5,0.5", "--negatives", "few"),
        ("--props", "0.5,0.5", "-t", "0"),
        ("--props", "0.5,0.5", "--accuracy", "-1"),
        ("--props", "0.5,0.3,0.2", "-t", "0.001"),
        (),
    ],
)
def test_the_command_refuses_bad_flags(run, flags):
    done = run("negatives", *flags)
    assert (done.code, done.stdout) == (2, "")
    assert done.stderr.startswith("Error: ")


@pytest.mark.slow
def test_the_picture_shows_the_curve_between_its_bounds(run, tmp_path):
    pytest.importorskip("matplotlib")
    from geomsolve.plots import draw

    flags = ("--props", "0.5,0.5", "-t", 0.05, "--negatives", "1,20", "--json", "--plot", tmp_path / "n.svg")
    answer = run("negatives", *flags).json
    assert (tmp_path / "n.svg").read_text().startswith("<?xml")
    curve, below, above = draw(answer).axes[0].lines[:3]
    room = 100 * max(1.0, *(abs(row["difference"]) for row in answer["rows"]))  # a bound beyond is at the edge
    for key, line in (("difference", curve), ("lower", below), ("upper", above)):
        wanted = [min(float(row[key]), room) for row in answer["rows"]]
        np.testing.assert_allclose(line.get_ydata(), wanted)
