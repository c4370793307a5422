"""Rebalanced SupCon: samplers, class weights, denominators, margins.  Numbers: derived and solved independently."""

from __future__ import annotations

import numpy as np
import pytest

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
        ({"denominator": "balanced", "batch": 8}, "in the population limit only"),
        ({"sampler": 0.5, "batch": 8, "views": 1}, "two or more views"),
    ],
)
def test_what_makes_no_sense_is_refused(how, words):
    with pytest.raises(InputError, match=words):
        answer(**how)


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
    "how", [{"sampler": 0.5}, {"anchor_weights": "balanced"}, {"denominator": "balanced"}, {"logit_adjust": 1.0}]
)
def test_descent_on_single_samples_agrees(how):
    pytest.importorskip("torch")
    from geomsolve import Check

    loss = {"name": "supcon", "temperature": 0.5, **how}
    assert make_loss("supcon", {"temperature": 0.5, **how}).reads_whole_set
    report = solve(Check(counts=[70, 20, 10], loss=loss, device="cpu"))
    assert report.verdict == "agrees"
    assert report.max_gram_error < 1e-6
