"""Where classes collapse: closed forms and published values first, then solving on both sides, then the command."""

from __future__ import annotations

import re
from math import comb, exp, log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq

from geomsolve import InputError, solve
from geomsolve.proof.crossings import changes
from geomsolve.questions.imbalance import Imbalance
from geomsolve.questions.threshold import Threshold

KS = (1, 2, 4, 8, 16, 64, 256)
TABLE = {
    ("iid", "sum"): (0.80749, 0.84024, 0.869292, 0.890378, 0.904665, 0.918546, 0.922608),
    ("iid", "mean"): (0.80749, 0.857468, 0.879842, 0.890264, 0.895292, 0.898985, 0.899897),
    ("supervised", "sum"): (0.69154, 0.6933, 0.695095, 0.695617, 0.693841, 0.687692, 0.684526),
    ("supervised", "mean"): (0.69154, 0.719663, 0.735003, 0.742966, 0.747004, 0.750051, 0.750815),
}
"""Critical majority shares at temperature 1, three classes (docs/sources.md)."""


def ask(props, over, **loss):
    return solve(Threshold(props=props, over=over, loss={"name": "infonce", **loss}))


def expectation(first, chance, k, form, temperature=1.0):
    """E of the slope of log(1 + sum e^t) (or of the mean form) in its first argument, by enumeration.

    The other k - 1 arguments are -2/tau with probability ``chance`` and 0 otherwise.
    """
    x, b = exp(-2 / temperature), 1 if form == "sum" else 1 / k
    total = 0.0
    for far in range(k):
        probability = comb(k - 1, far) * chance**far * (1 - chance) ** (k - 1 - far)
        e = exp(first)
        total += probability * b * e / (1 + b * (e + far * x + (k - 1 - far)))
    return total


def closed_form(sampling, form, k, minorities=2, temperature=1.0):
    far = -2 / temperature

    def margin(p):
        if sampling == "iid":
            a = expectation(far, 1 - p, k, form, temperature) + expectation(far, p, k, form, temperature)
            return p * a - 2 * (1 - p) * expectation(0, p, k, form, temperature)
        share = (1 - p) / minorities
        chance = p / (1 - share)
        # every negative of a majority anchor is a minority, hence far away
        first = expectation(far, 1.0, k, form, temperature)
        second = expectation(far, chance, k, form, temperature)
        return p * (first * (1 - share) / (1 - p) + second) - 2 * (1 - p) * expectation(0, chance, k, form, temperature)

    return brentq(margin, 0.51, 1 - 1e-9, xtol=1e-13)


@pytest.mark.parametrize(("sampling", "form"), TABLE)
@pytest.mark.slow
def test_critical_shares_of_the_table(sampling, form):
    for k, share in zip(KS, TABLE[sampling, form], strict=True):
        report = ask([0.9, 0.05, 0.05], "majority", temperature=1, negatives=k, sampling=sampling, form=form)
        assert report.threshold["value"] == pytest.approx(share, abs=2e-6)
        assert report.collapsed_above is True


@pytest.mark.parametrize(("sampling", "form"), TABLE)
@pytest.mark.parametrize("temperature", [0.7, 1.5])
@pytest.mark.slow
def test_closed_form_by_enumeration(sampling, form, temperature):
    for k in (1, 3, 6):
        loss = {"temperature": temperature, "negatives": k, "sampling": sampling, "form": form}
        for minorities in (2, 4):
            props = [0.9, *[0.1 / minorities] * minorities]
            want = closed_form(sampling, form, k, minorities, temperature)
            assert ask(props, "majority", **loss).threshold["value"] == pytest.approx(want, abs=1e-9)


@given(st.lists(st.floats(0.05, 1.0), min_size=2, max_size=4), st.floats(0.3, 3.0))
@settings(max_examples=8)
@pytest.mark.slow
def test_iid_share_depends_neither_on_number_nor_on_sizes_of_minorities(rest, temperature):
    largest = 1.1 * max(rest)
    total = largest + sum(rest)
    report = solve(
        Threshold(
            props=[largest / total, *(r / total for r in rest)],
            over="majority",
            loss={"name": "supcon", "temperature": temperature},
        )
    )
    # supcon, population limit: q <= (P x / 2) [(P x + q) / (P + q x) + 1] with x = e^{-2/tau}, q = 1 - P
    x = exp(-2 / temperature)
    p = brentq(lambda p: p * x / 2 * ((p * x + 1 - p) / (p + (1 - p) * x) + 1) - (1 - p), 1e-6, 1 - 1e-12, xtol=1e-14)
    assert p > 0.5
    assert report.threshold["value"] == pytest.approx(p, abs=1e-8)


@pytest.mark.parametrize(
    ("over", "props", "loss"),
    [
        ("temperature", [0.8, 0.12, 0.08], {"name": "supcon"}),
        ("temperature", [0.6, 0.2, 0.1, 0.1], {"name": "infonce", "negatives": 3, "sampling": "supervised"}),
        ("temperature", [0.7, 0.2, 0.1], {"name": "sigmoid", "bias": 2}),
        ("majority", [0.5, 0.3, 0.2], {"name": "supcon", "temperature": 1.0, "batch": 8}),
        ("majority", [0.5, 0.3, 0.2], {"name": "triplet", "margin": 2}),
        ("majority", [0.5, 0.3, 0.2], {"name": "align-uniform"}),
        ("majority", [0.5, 0.3, 0.2], {"name": "soft-supcon", "epsilon": 0.01, "temperature": 0.6}),
    ],
)
@pytest.mark.slow
def test_solving_on_both_sides(over, props, loss):
    report = solve(Threshold(props=props, over=over, loss=loss))
    value = report.threshold["value"]
    for factor, collapsed in ((0.98, not report.collapsed_above), (1.02, report.collapsed_above)):
        if over == "majority":
            odds = factor * value / (1 - value)
            share = odds / (1 + odds)
            problem = Imbalance(props=[share, *((1 - share) * p / (1 - props[0]) for p in props[1:])], loss=loss)
        else:
            problem = Imbalance(props=props, loss={**loss, over: factor * value})
        answer = solve(problem)
        everyone = tuple(range(1, len(props)))
        assert answer.certified
        assert (everyone in answer.structure.groups) is collapsed


def test_majority_of_counts_in_a_full_batch():
    loss = {"name": "supcon", "temperature": 1.0, "full_batch": True}
    report = solve(Threshold(counts=[600, 40, 20], over="majority", loss=loss))
    share = report.threshold["value"]
    for factor, collapsed in ((0.97, False), (1.03, True)):
        majority = round(60 * factor * share / (1 - share))
        answer = solve(Imbalance(counts=[majority, 40, 20], loss=loss))
        assert ((1, 2) in answer.structure.groups) is collapsed


@pytest.mark.slow
def test_whole_numbers_are_the_first_of_the_new_state():
    loss = {"temperature": 1, "sampling": "supervised"}
    report = ask([0.695, 0.1525, 0.1525], "negatives", **loss)
    states = {k: closed_form("supervised", "sum", k) <= 0.695 for k in range(1, 40)}
    want = [{"value": k, "collapsed_above": states[k]} for k in range(2, 40) if states[k] != states[k - 1]]
    assert [c["value"] for c in want] == [4, 12]  # not monotone: collapsed up to 3 negatives and again from 12 on
    assert report.changes == want
    report = solve(Threshold(props=[0.87, 0.08, 0.05], over="batch", loss={"name": "supcon", "temperature": 1}))
    value = report.threshold["value"]
    assert report.collapsed_above is False
    for batch, collapsed in ((value - 1, True), (value, False)):
        answer = solve(Imbalance(props=[0.87, 0.08, 0.05], loss={"name": "supcon", "temperature": 1, "batch": batch}))
        assert ((1, 2) in answer.structure.groups) is collapsed


def test_batch_of_a_problem_with_views():
    loss = {"name": "supcon", "temperature": 2.6, "batch": 64, "views": 4}
    report = solve(Threshold(props=[0.7, 0.2, 0.1], over="batch", loss=loss))
    assert report.current == 64
    value = report.threshold["value"]
    for batch, collapsed in ((value - 1, not report.collapsed_above), (value, report.collapsed_above)):
        answer = solve(Imbalance(props=[0.7, 0.2, 0.1], loss={**loss, "batch": batch}))
        assert ((1, 2) in answer.structure.groups) is collapsed


def test_collapsed_all_along(run):
    arguments = ["threshold", "--props", "0.7,0.2,0.1", "-t", "3", "--batch", "64", "--over", "batch"]
    said = " ".join(run(*arguments).stdout.split())
    assert re.match(r"No change was found: collapse is optimal at all \d+ batch sizes looked at, from 2 to inf\.", said)
    answer = run(*arguments, "--json").json
    assert answer["threshold"] is None
    assert answer["collapsed"] is True
    assert answer["merging"] == [["2", "3"]]


def test_never_and_why():
    two = solve(Threshold(props=[0.9, 0.1]))
    hinge = solve(Threshold(props=[0.8, 0.15, 0.05], over="majority", loss={"name": "triplet", "margin": 1.9}))
    tied = solve(Threshold(props=[0.4, 0.4, 0.2]))
    spectral = solve(Threshold(props=[0.8, 0.1, 0.1], over="majority", loss="spectral"))
    for report, word in ((two, "two classes"), (hinge, "move apart"), (tied, "equal shares"), (spectral, "looked at")):
        assert report.threshold is None
        assert report.collapsed_above is None
        assert word in report.reason
    apart = solve(Imbalance(props=[0.998, 0.001, 0.001], loss={"name": "triplet", "margin": 1.9}))
    assert apart.certified
    assert apart.structure.max_cosine < 1 - 1e-3


@pytest.mark.slow
@pytest.mark.parametrize(
    ("props", "loss", "merging"),
    [
        (
            [100, 20, 5, 5, 1, 1],
            {"name": "infonce", "sampling": "supervised"},
            [["5", "6"], ["3", "4"], ["2", "3", "4", "5", "6"]],
        ),
        ([100, 1, 1, 0.1, 0.1], {"name": "soft-supcon", "epsilon": 0.01}, [["2", "3"], ["2", "3", "4", "5"]]),
    ],
)
def test_partial_merging_by_solving_on_both_sides(props, loss, merging):
    props = [p / sum(props) for p in props]
    report = solve(Threshold(props=props, loss=loss))
    assert report.merging == merging
    for before, after in zip(report.path, report.path[1:], strict=False):
        for factor, stage in ((0.99, before), (1.01, after)):
            answer = solve(Imbalance(props=props, loss={**loss, "temperature": factor * after["from"]}))
            assert answer.certified
            assert answer.groups() == stage["groups"]


SOFT = {"name": "soft-supcon", "epsilon": 0.01}
NEIGHBOURS = {
    "100,10,10,12,3": (SOFT, 2.35473, ["2", "3"]),
    "100,10,10,9,1": (SOFT, None, ["2", "3"]),
    "258,29,29,29,1,19": (SOFT, None, ["2", "3", "4"]),
    "300,25,25,26,5": (SOFT, None, ["2", "3"]),
    "292,23,23,26,6,17": (SOFT, None, ["2", "3"]),
    "205,21,21,26,26,14": ({"name": "sigmoid", "bias": -3, "sampling": "supervised"}, None, ["2", "3"]),
}
"""Counts in which classes of another size lie near equal ones: loss, where known the temperature from which the equal
ones are at one point (found independently), and their names."""


@pytest.mark.slow
@pytest.mark.parametrize("counts", NEIGHBOURS)
def test_equal_classes_merge_by_themselves_with_others_near(counts):
    loss, known, group = NEIGHBOURS[counts]
    counts = [int(n) for n in counts.split(",")]
    report = solve(Threshold(counts=counts, loss=loss))
    first = report.path[1]
    assert first["groups"] == [group]
    if known is not None:
        assert first["from"] == pytest.approx(known, abs=1e-5)
    # they stay together on the way into collapse, and no stage is empty again
    assert report.path[0]["groups"] == []
    assert report.path[-1]["groups"] == [[str(a) for a in range(2, len(counts) + 1)]]
    for stage in report.path[1:]:
        assert any(set(group) <= set(other) for other in stage["groups"])
    assert report.merging[0] == group
    # the solved distance, which no dual matrix is asked for, falls to rounding exactly there
    a, b = int(group[0]) - 1, int(group[1]) - 1
    for factor, together in ((0.999, False), (1.0005, True)):
        answer = solve(
            Imbalance(counts=counts, solver="manifold", loss={**loss, "temperature": factor * first["from"]})
        )
        distance = 1 - answer.gram[a, b]
        assert distance < 1e-10 if together else distance > 1e-5


@pytest.mark.slow
def test_partial_merging_in_the_command(run):
    arguments = ["threshold", "--counts", "100,10,10,12,3", "--loss", "soft-supcon", "--epsilon", "0.01"]
    steps = run(*arguments, "--json").json["path"]
    # (temperature by an independent computation)
    assert [s["from"] for s in steps if s["groups"] == [["2", "3"]]] == [pytest.approx(2.35473, abs=1e-5)]
    text = " ".join(run(*arguments).stdout.split())
    assert "(start) none found 2.35473 2 and 3 2.640086389 2, 3, 4 and 5" in text


@pytest.mark.parametrize(
    ("counts", "loss", "words"),
    [
        ("34,33,33", ["--loss", "spectral", "--over", "majority"], "No full collapse was found: .* looked at"),
        (
            "8,1,1",
            ["--loss", "triplet", "--margin", "1.9", "--over", "majority"],
            "No full collapse can occur: triplet",
        ),
        ("4,4,2", [], "No full collapse can occur: the largest classes have equal shares"),
    ],
)
def test_not_found_is_not_none(run, counts, loss, words):
    assert re.match(words, " ".join(run("threshold", "--counts", counts, *loss).stdout.split()))


@pytest.mark.slow
def test_two_equal_largest_classes_still_let_smaller_ones_merge():
    loss = {"name": "infonce", "sampling": "supervised"}
    report = solve(Threshold(props=[5, 5, 1, 1], loss=loss))
    assert report.threshold is None
    assert report.merging == [["3", "4"]]
    value = report.path[1]["from"]
    for factor, groups in ((0.99, []), (1.01, [["3", "4"]])):
        assert solve(Imbalance(props=[5, 5, 1, 1], loss={**loss, "temperature": factor * value})).groups() == groups


def test_changes_are_found_where_they_are():
    found = changes(lambda x: 3 <= x < 50, [1.0, 10.0, 100.0])
    assert [(c.before, c.after) for c in found] == [(False, True), (True, False)]
    assert [c.at for c in found] == pytest.approx([3, 50], rel=1e-9)
    found = changes(lambda x: x < 7 or x == np.inf, [1.0, 100.0, np.inf], whole=True)
    assert [c.at for c in found] == [7, np.inf]


def test_errors_name_the_flag():
    with pytest.raises(InputError, match="has no temperature") as error:
        solve(Threshold(props=[0.8, 0.1, 0.1], over="temperature", loss="spectral"))
    assert error.value.field == "over"
    with pytest.raises(InputError, match="one size"):
        solve(Threshold(counts=[8, 1, 1], over="batch", loss={"name": "supcon", "full_batch": True}))
    with pytest.raises(InputError) as error:
        Threshold(props=[0.8, 0.1, 0.1], over="epochs")
    assert error.value.field == "over"


def test_command_says_it_in_words_and_json(run):
    arguments = ["threshold", "--props", "0.9,0.06,0.04", "--over", "temperature"]
    text = run(*arguments).stdout
    assert text.startswith("Above temperature 1.14255, supcon puts both smaller classes at one point")
    assert "The default, temperature 0.1, is not collapsed" in text
    assert "Yours, temperature 0.1, is not collapsed" in run(*arguments, "-t", 0.1).stdout
    answer = run(*arguments, "--json").json
    assert answer["schema"] == "geomsolve/1"
    assert answer["command"] == "threshold"
    assert answer["threshold"]["over"] == "temperature"
    # the formula for supcon in the population limit, solved for the temperature
    x = brentq(lambda x: 0.9 * x / 2 * ((0.9 * x + 0.1) / (0.9 + 0.1 * x) + 1) - 0.1, 1e-6, 1, xtol=1e-15)
    assert answer["threshold"]["value"] == pytest.approx(-2 / log(x), rel=1e-9)
    assert answer["merging"] == [["2", "3"]]


@pytest.mark.slow
def test_digits_that_are_printed_are_sure(run):
    """Full collapse is a root of an eigenvalue, to ten digits; mergers before it are decided on solved geometries."""
    asked = ("threshold", "--counts", "100,20,5,5,1,1", "--loss", "infonce", "--sampling", "supervised")
    shown = run(*asked).stdout
    answer = run(*asked, "--json").json
    partial, full = answer["path"][1:-1], answer["threshold"]["value"]
    assert re.search(rf"^ +{full:.10g} +2, 3, 4, 5 and 6", shown, re.MULTILINE)
    assert all(re.search(rf"^ +{stage['from']:.6g} +\w+", shown, re.MULTILINE) for stage in partial)
