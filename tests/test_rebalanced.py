"""Rebalanced SupCon: samplers, class weights, denominators, margins.  Numbers: derived and solved independently."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from helpers import random_gram

from geomsolve import Imbalance, InputError, solve
from geomsolve.losses import make_loss

PROPS = (0.7, 0.2, 0.1)
FIVE = (0.5, 0.3, 0.1, 0.06, 0.04)


def answer(props=PROPS, temperature=0.5, **how):
    return solve(Imbalance(props=props, loss={"name": "supcon", "temperature": temperature, **how}))


@pytest.mark.parametrize(
    ("how", "cosines", "value"),
    [
        ({}, (-0.687214, -0.578277, -0.195271), -0.7208670871),
        ({"denominator": "balanced"}, (-0.6483852, -0.6110178, -0.2064929), -1.0107646070),
        ({"anchor_weights": "balanced"}, (-0.5096129, -0.6747351, -0.2911759), -1.2420227882),
        ({"sampler": "sqrt"}, (-0.591969, -0.532250, -0.367240), -0.9242968849),
        ({"sampler": "balanced"}, (-0.5, -0.5, -0.5), -1.0036893322),
        ({"denominator": "balanced", "anchor_weights": "balanced"}, (-0.5, -0.5, -0.5), -1.0036893322),
    ],
)
def test_published_geometries(how, cosines, value):
    report = answer(**how)
    assert report.certified
    assert report.value == pytest.approx(value, abs=1e-9)
    assert report.gram[[0, 0, 1], [1, 2, 2]] == pytest.approx(cosines, abs=1e-6)


@pytest.mark.parametrize(
    ("how", "cosines"),
    [
        ({"denominator": "balanced"}, (-0.9914, -0.9895, 0.9621)),
        ({"anchor_weights": "balanced"}, (-0.9239, -0.9085, 0.6794)),
        ({"sampler": "sqrt"}, (-0.8662, -0.7312, 0.2925)),
        ({"sampler": "balanced"}, (-0.5, -0.5, -0.5)),
    ],
)
def test_published_geometries_where_plain_supcon_collapses(how, cosines):
    assert answer(temperature=4).structure.kind == "minority collapse"
    assert answer(temperature=4, **how).gram[[0, 0, 1], [1, 2, 2]] == pytest.approx(cosines, abs=1e-4)


@pytest.mark.parametrize(
    ("how", "largest"),
    [
        ({}, 0.464519),
        ({"denominator": "balanced"}, 0.991476),
        ({"anchor_weights": "balanced"}, 0.986676),
        ({"sampler": "sqrt"}, 0.103119),
    ],
)
def test_some_remedies_make_it_worse(how, largest):
    assert answer(FIVE, 2, **how).structure.max_cosine == pytest.approx(largest, abs=2e-6)


def test_a_sampler_is_a_change_of_the_shares():
    q = np.sqrt(PROPS) / np.sqrt(PROPS).sum()
    drawn, changed = answer(sampler=0.5), answer(tuple(q.tolist()))
    assert drawn.value == pytest.approx(changed.value, abs=1e-12)
    assert np.abs(drawn.gram - changed.gram).max() < 1e-9
    batches = {"batch": 16, "views": 2}
    assert answer(sampler=0.5, **batches).value == pytest.approx(answer(tuple(q.tolist()), **batches).value, abs=1e-12)


def test_lists_spell_out_the_rules():
    by_rule, by_list = answer(anchor_weights="balanced"), answer(anchor_weights=[1 / p for p in PROPS])
    assert by_rule.value == pytest.approx(by_list.value, abs=1e-12)
    by_rule, by_list = answer(denominator="balanced"), answer(denominator=[2, 2, 2])
    assert by_rule.value == pytest.approx(by_list.value, abs=1e-12)
    adjusted, by_list = answer(logit_adjust=1), answer(denominator=[p**2 for p in PROPS])
    assert adjusted.value == pytest.approx(by_list.value, abs=1e-12)


def test_the_effective_number_of_samples():
    """beta -> 1 weighs a class by 1 / n, beta -> 0 not at all."""
    counts = [70, 20, 10]

    def effective(beta):
        loss = {"name": "supcon", "temperature": 0.5, "anchor_weights": f"effective:{beta}"}
        return solve(Imbalance(counts=counts, loss=loss)).value

    assert effective(1 - 1e-9) == pytest.approx(answer(anchor_weights="balanced").value, abs=1e-6)
    assert effective(1e-9) == pytest.approx(answer().value, abs=1e-6)


def test_equal_classes_are_told_apart_by_what_is_given_for_each():
    same = answer((0.4, 0.3, 0.3))
    assert same.orbits.n_orbits == 2
    told = answer((0.4, 0.3, 0.3), anchor_weights=[1, 1, 5])
    assert told.orbits.n_orbits == 3
    assert abs(told.gram[0, 1] - told.gram[0, 2]) > 1e-3
    alike = answer((0.4, 0.3, 0.3), anchor_weights=[1, 2, 2])
    assert alike.orbits.n_orbits == 2


def test_a_margin_on_all_pairs_is_a_factor_and_one_pair_is_pushed_apart():
    """The same margin m everywhere makes every denominator v_a + e^{m/t} sum v_b e^{t_ab}."""
    even = answer(pair_margin=[[0, 0.1, 0.1], [0.1, 0, 0.1], [0.1, 0.1, 0]])
    gram, p = even.gram, np.array(PROPS)
    terms = p * np.exp((gram - 1) / 0.5 + 0.1 / 0.5 * (1 - np.eye(3)))
    assert even.value == pytest.approx(float(p @ np.log(terms.sum(axis=1))), abs=1e-12)
    pushed = answer(pair_margin=[[0, 0, 0], [0, 0, 0.3], [0, 0.3, 0]])
    assert pushed.gram[1, 2] < answer().gram[1, 2] - 0.05


def test_rare_classes_keep_apart_to_a_higher_temperature(run):
    plain = run("threshold", "--props", "0.9,0.06,0.04", "--json").json["threshold"]["value"]
    drawn = run("threshold", "--props", "0.9,0.06,0.04", "--sampler", "sqrt", "--json").json["threshold"]["value"]
    assert drawn > 1.5 * plain


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ({"sampler": 3}, "from 0 to 2, or balanced or sqrt"),
        ({"denominator": [1, 2]}, "2 numbers for 3 classes"),
        ({"denominator": [1, -1, 1]}, "positive numbers"),
        ({"anchor_weights": "nope"}, "effective:BETA"),
        ({"anchor_weights": "effective:2"}, "effective:BETA"),
        ({"anchor_weights": "effective:0.9"}, "give the classes by counts"),
        ({"pair_margin": [[0, 1], [1, 0]]}, "2 rows for 3 classes"),
        ({"pair_margin": [[0, 9, 0], [0, 0, 0], [0, 0, 0]]}, "from -4 to 4"),
        ({"denominator": "balanced", "batch": 8, "replacement": "no"}, "drawn with replacement"),
        ({"sampler": 0.5, "batch": 8, "views": 1}, "two or more views"),
    ],
)
def test_what_makes_no_sense_is_refused(how, words):
    with pytest.raises(InputError, match=words):
        answer(**how)


MARGINS = ((0, 0.1, 0.2), (0.1, 0, -0.3), (0.2, 0.1, 0))


@pytest.mark.parametrize(
    ("how", "alpha", "anchors", "compared"),
    [
        ({"denominator": "balanced"}, 1, (0.7, 0.2, 0.1), (1, 1, 1)),
        ({"denominator": (3, 2, 1), "sampler": 0.5}, 0.5, None, (3, 2, 1)),
        ({"logit_adjust": 1.0, "anchor_weights": "balanced"}, 1, (1, 1, 1), (0.49, 0.04, 0.01)),
        ({"pair_margin": MARGINS, "anchor_weights": (1, 2, 0)}, 1, (0.7, 0.4, 0), (0.7, 0.2, 0.1)),
    ],
)
@pytest.mark.parametrize("views", [2, 3])
def test_in_batches_every_embedding_counts_by_its_class(how, alpha, anchors, compared, views, rng):
    """The expectation over every composition of four samples, by the definition; and the cone form is the same."""
    tau, gram = 0.5, random_gram(rng, 3)
    q = np.array(PROPS) ** alpha / np.sum(np.array(PROPS) ** alpha)
    w = q if anchors is None else np.array(anchors) / np.sum(anchors)
    v = np.array(compared) / np.sum(compared)
    shift = np.array(how.get("pair_margin", np.zeros((3, 3))))
    wanted = 0.0
    for drawn in itertools.product(range(3), repeat=3):
        for a in range(3):
            others = sum(v[c] / q[c] * math.exp((gram[a, c] - 1 + (c != a) * shift[a, c]) / tau) for c in drawn)
            wanted += w[a] * np.prod(q[list(drawn)]) * math.log((views - 1) * v[a] / q[a] + views * others)
    loss = make_loss("supcon", {"temperature": tau, "batch": 4, "views": views, **how})
    objective = loss.objective(loss.orbits(PROPS))
    assert objective.value(gram) == pytest.approx(wanted, rel=1e-12)
    assert objective.cone_form().value(gram) == pytest.approx(wanted, rel=1e-12)
    change, step = rng.normal(size=(3, 3)), 1e-5
    slope = (objective.value(gram + step * change) - objective.value(gram - step * change)) / (2 * step)
    assert float(np.sum(objective.gradient(gram) * change)) == pytest.approx(slope, rel=1e-7)


def test_large_batches_tend_to_the_population_limit():
    limit = answer(denominator="balanced", anchor_weights="balanced")
    large = answer(denominator="balanced", anchor_weights="balanced", batch=2**16)
    assert large.value - math.log(2 * 2**16) == pytest.approx(limit.value, abs=1e-3)
    assert np.abs(large.gram - limit.gram).max() < 1e-3
    assert np.abs(answer(denominator="balanced", anchor_weights="balanced", batch=8).gram - limit.gram).max() > 0.01


@pytest.mark.parametrize("loss", ["infonce", "dcl"])
@pytest.mark.parametrize(
    "how",
    [
        {"sampler": 0.5},
        {"anchor_weights": "balanced"},
        {"denominator": "balanced", "anchor_weights": (1, 2, 0)},
        {"logit_adjust": 1.0},
        {"pair_margin": MARGINS},
    ],
)
def test_with_many_negatives_infonce_and_dcl_are_supcon(loss, how):
    plain, other = answer(**how), solve(Imbalance(props=PROPS, loss={"name": loss, "temperature": 0.5, **how}))
    assert other.value == pytest.approx(plain.value, abs=1e-12)
    np.testing.assert_allclose(other.gram, plain.gram, atol=1e-9)


@pytest.mark.parametrize("sampling", ["iid", "supervised"])
def test_the_mean_form_of_infonce_rebalanced(sampling, rng):
    w, v, gram, tau = np.array([0.2, 0.3, 0.5]), np.array([0.5, 0.3, 0.2]), random_gram(rng, 3), 0.5
    how = {"anchor_weights": w / PROPS, "denominator": v, "pair_margin": MARGINS, "form": "mean", "sampling": sampling}
    loss = make_loss("infonce", {"temperature": tau, **how})
    wanted = 0.0
    for a in range(3):
        crowd = {c: v[c] * math.exp((gram[a, c] - 1 + (c != a) * MARGINS[a][c]) / tau) for c in range(3)}
        if sampling == "supervised":
            del crowd[a]
            crowd = {c: x / (1 - v[a]) for c, x in crowd.items()}
        wanted += w[a] * math.log(1 + sum(crowd.values()))
    assert loss.objective(loss.orbits(PROPS)).value(gram) == pytest.approx(wanted, rel=1e-12)
    assert loss.rebalance is None  # which is of SupCon's own form


@pytest.mark.parametrize("more", [{"negatives": 8}, {"hardness": 1.0}])
def test_infonce_is_rebalanced_in_the_limit_only(more):
    with pytest.raises(InputError, match="limit of many negatives"):
        make_loss("infonce", {"sampler": "sqrt", **more})


def test_levels_say_what_is_not_known_of_rebalanced_losses(run):
    flags = ("levels", "--props", "0.7,0.2,0.1", "--batch", 8, "-t", 0.5)
    assert "levels of a rebalanced infonce" in run(*flags, "--loss", "infonce", "--sampler", "sqrt").stderr
    weighted = run("levels", "--counts", "70,20,10", *flags[3:], "--anchor-weights", "balanced", "--json")
    assert weighted.json["optimum"] == pytest.approx(answer(batch=8, anchor_weights="balanced").value, abs=1e-9)


def test_the_library_weighs_nothing(run):
    pytest.importorskip("pytorch_metric_learning")
    flags = ("check", "--props", "0.7,0.3", "--batch", 8, "--implementation", "pml", "--anchor-weights", "balanced")
    shown = run(*flags)
    assert shown.code == 2
    assert "--anchor-weights: pytorch-metric-learning weighs all samples of a batch alike" in shown.stderr


def test_files_and_problem_files(tmp_path, run):
    (tmp_path / "w.txt").write_text("1\n2\n3\n")
    (tmp_path / "m.csv").write_text("0,0.1,0.2\n0.1,0,0.1\n0.2,0.1,0\n")
    by_flag = run(*f"imbalance --props 0.7,0.2,0.1 --anchor-weights @{tmp_path / 'w.txt'} --json".split()).json
    assert by_flag["problem"]["loss"]["anchor_weights"] == [1, 2, 3]
    assert by_flag["value"] == answer(temperature=0.1, anchor_weights=[1, 2, 3]).value
    file = tmp_path / "p.yaml"
    file.write_text(
        "kind: imbalance\nprops: [0.7, 0.2, 0.1]\n"
        "loss: {name: supcon, temperature: 0.5, pair_margin: '@m.csv', sampler: sqrt, anchor_weights: balanced}\n"
    )
    assert run("validate", file).code == 0
    loss = run("solve", file, "--json").json["problem"]["loss"]
    assert loss["sampler"] == 0.5
    assert loss["pair_margin"] == [[0, 0.1, 0.2], [0.1, 0, 0.1], [0.2, 0.1, 0]]
    missing = run("imbalance", "--props", "0.7,0.2,0.1", "--denominator", "@nowhere")
    assert missing.code == 2
    assert "--denominator: there is no file 'nowhere'" in missing.stderr


def test_levels_follow_the_sampler(run):
    """Drawn equally often, classes of any size have the optimum of equal classes in random batches."""
    drawn = run(
        *["levels", "--props", "0.7,0.2,0.1", "--batch", "16", "-t", "0.5", "--sampler", "balanced", "--json"]
    ).json
    equal = run(*["levels", "--props", "1/3,1/3,1/3", "--batch", "16", "-t", "0.5", "--json"]).json
    assert drawn["optimum"] == pytest.approx(equal["optimum"], abs=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize(
    "how", [{"sampler": 0.5}, {"anchor_weights": "balanced"}, {"denominator": "balanced"}, {"pair_margin": MARGINS}]
)
def test_descent_on_single_samples_agrees(how):
    pytest.importorskip("torch")
    from geomsolve import Check

    loss = {"name": "supcon", "temperature": 0.5, **how}
    assert make_loss("supcon", {"temperature": 0.5, **how}).reads_whole_set
    report = solve(Check(counts=[70, 20, 10], loss=loss, device="cpu"))
    assert report.verdict == "agrees"
    assert report.max_gram_error < 1e-6
