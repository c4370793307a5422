"""What a bend of the simplex is worth, said where it is headlined; and nothing headlined that is not proven."""

from __future__ import annotations

import json
from math import exp, log

import numpy as np
import pytest
from helpers import define

from geomsolve import Imbalance, Sweep, solve
from geomsolve.words import nats, stakes

THREE = ("imbalance", "--props", "0.7,0.2,0.1")


def simplex_value(props, temperature):
    """Supcon at the regular simplex, by its definition."""
    x = exp(-len(props) / (len(props) - 1) / temperature)
    return sum(p * log(p + (1 - p) * x) for p in props)


def one_line(done):
    return " ".join(done.stdout.split())


def test_words():
    assert stakes(5.7e-8) == "but only by 6e-08 nats: training will not see it"
    assert stakes(0.0617) == "which is worth 0.062 nats"
    assert nats(1e-4) == "0.0001 nats"


@pytest.mark.parametrize(
    ("temperature", "words"),
    [(0.1, "but only by 6e-08 nats: training will not see it"), (1, "which is worth 0.023 nats")],
)
def test_the_sentence_carries_what_the_simplex_would_lose(run, temperature, words):
    props = [0.7, 0.2, 0.1]
    best = define("supcon", {"temperature": temperature}, props).solve()[0] if temperature == 1 else None
    if best is not None:
        assert simplex_value(props, 1) - best == pytest.approx(0.023, abs=5e-4)
    assert f"everywhere, {words}." in one_line(run(*THREE, "-t", temperature, "--quiet"))


def test_geometries_that_are_no_bent_simplex_say_it_in_a_sentence(run):
    said = one_line(run("imbalance", "--props", "0.95,0.025,0.025", "-t", 1, "--quiet"))
    collapsed = 0.95 * log(0.95 + 0.05 * exp(-2)) + 0.05 * log(0.05 + 0.95 * exp(-2))
    lost = simplex_value([0.95, 0.025, 0.025], 1) - collapsed
    assert said.endswith(f"opposite class 1. A regular simplex would lose {lost:.2g} nats.")


def test_a_bend_that_no_number_can_tell_is_not_headlined_bare(run):
    said = one_line(run(*THREE, "-t", 0.01, "--quiet"))
    assert said.endswith("everywhere, but by less than floating-point numbers can tell: training will not see it.")
    assert simplex_value([0.7, 0.2, 0.1], 0.01) == pytest.approx(
        run(*THREE, "-t", 0.01, "--json").json["value"], abs=1e-14
    )


@pytest.mark.parametrize("props", ["4*0.25", "0.9,0.1"])
def test_where_the_simplex_is_the_answer_nothing_is_at_stake(run, props):
    said = one_line(run("imbalance", "--props", props))
    assert "lose" not in said
    assert "worth" not in said


def test_reports_and_batches_headline_it(run, tmp_path):
    file = tmp_path / "p.yaml"
    file.write_text("kind: imbalance\nprops: [0.7, 0.2, 0.1]\ngrid: {loss.temperature: [0.1, 1.0]}\n")
    run("batch", file, "--jobs", 1, "--out", tmp_path / "rows.jsonl", "--quiet")
    rows = [json.loads(line) for line in (tmp_path / "rows.jsonl").read_text().splitlines()]
    said = [row["headline"] for row in rows]
    assert any(text == "general, worth 6e-08 nats: unseen" for text in said)
    assert any(text == "general, worth 0.023 nats" for text in said)


def test_a_sweep_has_a_column_and_a_sentence(run):
    over = ("sweep", "--props", "0.7,0.2,0.1", "--over", "temperature=0.1,1")
    rows = run(*over, "--json").json["rows"]
    for row in rows:
        assert row["simplex_excess"] == pytest.approx(
            simplex_value([0.7, 0.2, 0.1], row["temperature"]) - row["value"], abs=1e-12
        )
    assert rows[0]["simplex_excess"] == pytest.approx(5.7e-8, rel=0.02)
    said = one_line(run(*over))
    assert "A regular simplex loses 5.7e-08 to 0.023 nats." in said
    assert "simplex loses" in said
    low = one_line(run("sweep", "--props", "0.7,0.2,0.1", "--over", "temperature=0.05,0.1", "--quiet"))
    assert low.endswith("A regular simplex loses at most 6e-08 nats: training will not see it.")
    assert "lose" not in one_line(run("sweep", "--classes", 3, "--over", "temperature=0.1,1", "--quiet"))


def test_in_few_dimensions_no_simplex_stands_beside_it():
    report = solve(Sweep(classes=4, over={"dim": [2, 3]}, loss={"name": "supcon", "temperature": 0.5}))
    assert [row["simplex_excess"] is None for row in report.rows] == [True, False]


@pytest.mark.slow
def test_a_default_is_not_yours(run):
    assert "would collapse into one point (now the default, 0.1)." in one_line(run(*THREE))
    assert "would collapse into one point (yours is 0.1)." in one_line(run(*THREE, "-t", 0.1))
    assert "The default, temperature 0.1, is not" in one_line(run("threshold", "--props", "0.7,0.2,0.1"))
    share = one_line(run("threshold", "--props", "0.7,0.2,0.1", "-t", 1, "--over", "majority"))
    assert "Yours, majority share 0.7, is not collapsed" in share
    batch = one_line(run("threshold", "--props", "0.9,0.06,0.04", "-t", 1, "--over", "batch"))
    assert "The default, the limit of many samples" in batch


def test_a_default_is_never_called_yours_in_an_answer_about_negatives(run):
    said = one_line(run("negatives", "--props", "0.7,0.2,0.1", "--negatives", "4"))
    assert "the temperature nearest to 0.1 at which" in said
    assert "yours" not in said


def test_how_the_value_relates_to_a_training_log(run):
    """Of N embeddings in a batch the denominator has N terms; at N large it is N times the mean."""
    said = one_line(run(*THREE, "-t", 0.5))
    value = run(*THREE, "-t", 0.5, "--json").json["value"]
    assert f"adds the log of the number of embeddings in a batch: about {value + log(256):.4g} for 256." in said
    levels = run("levels", "--props", "0.7,0.2,0.1", "-t", 0.5, "--batch", 128, "--views", 2, "--json").json
    assert levels["optimum_random_batches"] == pytest.approx(value + log(256), abs=0.02)
    assert "log of the number of negatives" in one_line(run(*THREE, "--loss", "infonce"))
    for exact in (("--loss", "infonce", "--form", "mean"), ("--loss", "infonce", "--negatives", 8), ("--batch", 64)):
        assert "training log" not in one_line(run(*THREE, *exact))


def test_weighted_denominators_are_not_said_to_be_sums_over_a_batch(run):
    assert "adds the log of" in one_line(run(*THREE, "--sampler", "sqrt"))
    for weighted in (("--denominator", "balanced"), ("--denominator", "0.5,0.3,0.2"), ("--logit-adjust", 1)):
        done = run(*THREE, *weighted)
        assert done.code == 0
        assert "training log" not in one_line(done)


@pytest.mark.slow
def test_forces_that_nearly_vanish_are_weighed_all_the_same(run):
    """Warnings are errors here: products of forces at temperature 0.003 are no numbers above 0."""
    assert run("negatives", "--props", "0.7,0.2,0.1", "-t", 0.003, "--negatives", "4").code == 0


@pytest.mark.parametrize("solver", ["auto", "manifold"])
def test_open_angles_have_no_name_and_nothing_to_expect(solver):
    loss = {"name": "supcon", "temperature": 0.001}
    report = solve(Imbalance(props=[0.7, 0.2, 0.1], loss=loss, solver=solver))
    assert report.headline == "angles not determined"
    assert report.structure.kind == "undetermined"
    assert report.asked["structure"] == "undetermined"
    assert not {"min_cosine", "max_cosine", "groups"} & set(report.asked)
    assert "smallest angle, degrees" not in report.figures


def test_expecting_a_geometry_where_the_angles_are_open_is_not_met(run, tmp_path):
    file = tmp_path / "p.yaml"
    head = "kind: imbalance\nprops: [0.7, 0.2, 0.1]\nloss: {temperature: 0.001}\n"
    file.write_text(f"{head}expect: {{structure: general, max_cosine: -0.5}}\n")
    done = run("solve", file)
    assert done.code == 1
    assert "expected structure general, got undetermined" in " ".join((done.stdout + done.stderr).split())
    file.write_text(f"{head}expect: {{structure: undetermined}}\n")
    assert run("solve", file).code == 0


def test_open_angles_are_not_shown_in_tables(run):
    rows = run("sweep", "--props", "0.7,0.2,0.1", "--over", "temperature=0.001,0.1")
    line = next(line for line in rows.stdout.splitlines() if line.split()[:1] == ["0.001"])
    assert line.split()[1:3] == ["open", "open"]
    alone = one_line(run("sweep", "--props", "0.7,0.2,0.1", "--over", "temperature=0.001", "--quiet"))
    assert alone == "At temperature 0.001 the geometry of supcon is undetermined."


@pytest.mark.parametrize("solver", ["auto", "manifold", "conic"])
def test_a_simplex_whose_centre_is_the_origin_is_determined(solver):
    """Forces cancel in it whatever rounding leaves of the centre, which has no direction."""
    report = solve(Imbalance(props=[0.25] * 4, solver=solver))
    assert report.resolved
    assert report.structure.kind == "regular simplex"
    np.testing.assert_allclose(report.gram[0, 1], -1 / 3, atol=1e-6)
