"""One declaration of a parameter: checks, flags, keys, JSON schema, and choices from files of a user's own."""

from __future__ import annotations

import math
import re
from typing import Annotated

import jsonschema
import numpy as np
import pytest
from pydantic import BaseModel, ValidationError

from geomsolve import Imbalance, InputError, solve
from geomsolve.analyses import validate
from geomsolve.losses import make_loss
from geomsolve.questions.check import CheckWeighting
from geomsolve.questions.documents import read_entries
from geomsolve.questions.kinds import json_schema
from geomsolve.questions.realizable import Realizable
from geomsolve.registry import (
    LOSSES,
    TEMPERATURE,
    WEIGHTINGS,
    Parameter,
    choice,
    number,
    spelled,
    switch,
    whole,
)
from geomsolve.values import FRACTION
from geomsolve.weightings import make_weighting

# --- values ----------------------------------------------------------------------------------------------------------

WIDTH = number("a width", 0.5, 8)
SHARE = number("a share", 1e-3, 1, zero=True)
TURN = number("a turn", -2, 2)
COUNT = whole(3)
MANY = whole(3, infinite=True)
WORD = choice("sum", "mean")


@pytest.mark.parametrize(
    ("values", "given", "taken"),
    [
        (WIDTH, 0.5, 0.5),
        (WIDTH, 8, 8.0),
        (WIDTH, "2.5", 2.5),
        (WIDTH, np.float32(1), 1.0),
        (SHARE, "0", 0.0),
        (SHARE, 1e-3, 1e-3),
        (TURN, "-2", -2.0),
        (COUNT, "3", 3),
        (COUNT, 4.0, 4),
        (COUNT, "1e3", 1000),
        (COUNT, 2**53, 2**53),
        (MANY, "inf", math.inf),
        (MANY, math.inf, math.inf),
        (MANY, 3, 3),
        (WORD, "mean", "mean"),
        (switch, True, True),
    ],
)
def test_taken(values, given, taken):
    found = Parameter("x", ("--x",), values, "X", "It.").parse(given)
    assert found == taken
    assert type(found) is type(taken)


@pytest.mark.parametrize("given", [True, None, "warm", [1.0], {}, 1j, math.nan, -math.inf, "nan", 10**400, "9" * 400])
@pytest.mark.parametrize("values", [WIDTH, SHARE, TURN, COUNT, MANY, WORD])
def test_never_taken(values, given):
    with pytest.raises(InputError, match=r"wanted .*got|unknown x .*wanted one of sum, mean") as caught:
        Parameter("x", ("--x",), values, "X", "It.").parse(given)
    assert caught.value.field == "x"


@pytest.mark.parametrize(
    ("values", "given", "words"),
    [
        (WIDTH, 0.49, "wanted a width above 0, from 0.5 to 8, got 0.49"),
        (WIDTH, math.inf, "wanted a width above 0, from 0.5 to 8, got inf"),
        (SHARE, 5e-324, "wanted a share, 0 or from 0.001 to 1, got 5e-324"),
        (TURN, 2.1, "wanted a turn from -2 to 2, got 2.1"),
        (COUNT, 2, "wanted a whole number, at least 3, got 2"),
        (COUNT, 3.5, "wanted a whole number, at least 3, got 3.5"),
        (COUNT, math.inf, "wanted a whole number, at least 3, got inf"),
        (COUNT, 2.0**54, "wanted a whole number, at least 3, at most 9,007,199,254,740,992, got 1.8"),
        (MANY, "2", "wanted a whole number, at least 3, or inf, got '2'"),
        (WORD, "maen", "unknown x 'maen'; did you mean 'mean'? wanted one of sum, mean"),
        (WORD, 3, "wanted one of sum, mean, got 3"),
        (switch, "yes", "wanted true or false, got 'yes'"),
        (switch, 1, "wanted true or false, got 1"),
    ],
)
def test_refused_in_words(values, given, words):
    with pytest.raises(InputError) as caught:
        Parameter("x", ("--x",), values, "X", "It.").parse(given)
    assert caught.value.message.startswith(words)


@pytest.mark.parametrize(("x", "text"), [(1e6, "1e6"), (1e-6, "1e-6"), (0.1, "0.1"), (0, "0"), (math.inf, "inf")])
def test_spelled(x, text):
    assert spelled(x) == text


def test_a_model_field_may_be_annotated_with_a_parameter():
    class Model(BaseModel):
        heat: Annotated[float, TEMPERATURE] = 0.1

    assert Model(heat="0.5").heat == 0.5
    with pytest.raises(ValidationError, match=r"wanted a temperature above 0, from 0\.0001 to 1e6, got 0"):
        Model(heat=0)
    assert Model.model_json_schema()["properties"]["heat"]["minimum"] == 1e-4


@pytest.mark.parametrize(("text", "x"), [("1/3", 1 / 3), ("+2/4", 0.5), ("-1/3", None), ("1/0", None), ("1/2/3", None)])
def test_numbers_are_read_as_fractions_too(text, x):
    if x is not None:
        assert TEMPERATURE.parse(text) == x
        return
    with pytest.raises(InputError, match=re.escape(f"got {text!r}")):
        TEMPERATURE.parse(text)


def test_a_fraction_in_a_problem_file_is_what_the_command_line_takes(run, tmp_path):
    """The regular simplex of four classes meets the margin -1/3 exactly, which no decimal says."""
    file = tmp_path / "problem.yaml"
    file.write_text("kind: imbalance\nprops: 4*1/4\nloss: {name: contrastive, neg_margin: -1/3}\n")
    jsonschema.validate({"kind": "imbalance", "loss": {"name": "contrastive", "neg_margin": "-1/3"}}, json_schema())
    for answer in (
        run("solve", str(file), "--json"),
        run("imbalance", "--props", "4*1/4", "--loss", "contrastive", "--neg-margin", "-1/3", "--json"),
    ):
        assert answer.json["problem"]["loss"]["neg_margin"] == -1 / 3
        assert answer.json["value"] == pytest.approx(0, abs=1e-9)


# --- the declarations themselves -------------------------------------------------------------------------------------


def test_one_declaration_each_for_losses_and_weightings():
    for name in LOSSES.parameters().keys() & WEIGHTINGS.parameters().keys():
        assert LOSSES.parameters()[name] is WEIGHTINGS.parameters()[name]
    for registry in (LOSSES, WEIGHTINGS):
        for cls in registry.values():
            for name, declared in cls.takes().items():
                assert declared is registry.parameters()[name]
                assert declared.name == name
                assert declared.help.endswith(".")


def test_every_default_is_a_value_that_may_be_given():
    for registry in (LOSSES, WEIGHTINGS):
        for cls in registry.values():
            for name, default in cls.defaults().items():
                if default is not None:
                    assert cls.takes()[name].parse(default) == default


def test_a_field_without_a_declaration_is_refused():
    from dataclasses import dataclass

    @dataclass(frozen=True)
    class Bare(LOSSES["spectral"]):
        name = "bare"
        width: float = 1.0

    with pytest.raises(TypeError, match="width needs a parameter"):
        LOSSES.register(Bare)
    assert "bare" not in LOSSES


# --- weightings: parameters beside the name or within it --------------------------------------------------------------

NESTED = {"weighting": {"name": "yaware", "sigma": 5}, "labels": [20, 25, 30]}
FLAT = {"weighting": "yaware", "sigma": 5, "labels": [20, 25, 30]}


def test_both_forms_are_the_same_question():
    nested, flat = Realizable(**NESTED), Realizable(**FLAT)
    assert nested == flat
    assert nested.parameters == {"sigma": 5.0}
    trained = [CheckWeighting(**form) for form in (NESTED, FLAT)]
    assert trained[0] == trained[1]
    assert trained[0].question == flat


@pytest.mark.slow
def test_a_matrix_may_stand_within_too(tmp_path):
    (tmp_path / "t.csv").write_text("1,.6,\n.6,1,-.3\n,-.3,1\n")
    text = "kind: realizable\nweighting: {name: custom, target: '@t.csv'}\n"
    (entry,) = read_entries(text.encode(), "p.yaml", tmp_path)
    known = entry.problem.parameters["target"]
    assert known[0, 1] == 0.6
    assert np.isnan(known[0, 2])
    # the unknown cosine lies within .6 * -.3 -+ sqrt((1 - .36) (1 - .09))
    (row,) = solve(entry.problem).to_dict()["completions"]
    assert (row["low"], row["high"]) == pytest.approx((-0.18 - math.sqrt(0.5824), -0.18 + math.sqrt(0.5824)), abs=1e-6)


@pytest.mark.parametrize(
    ("written", "complaints"),
    [
        (
            "weighting: {name: yaware, sigma: 0, kernel: gaus, epsilon: 0.1}",
            [
                "p.yaml:3:27: weighting.sigma: wanted a width above 0, from 1e-12 to 1e12, got 0",
                "p.yaml:3:37: weighting.kernel: unknown kernel 'gaus'; did you mean 'gaussian'? wanted one of",
                "p.yaml:3:51: weighting.epsilon: the weighting yaware does not use this; it takes sigma, kernel",
            ],
        ),
        ("weighting: yaware\nsigma: 1e300", ["p.yaml:4:1: sigma: wanted a width above 0, from 1e-12 to 1e12"]),
        ("weighting: xclr\ntarget_temperature: 1e-300", ["p.yaml:4:1: target_temperature: wanted a temperature above"]),
        ("weighting: xclr\ntemperature: 1e-300", ["p.yaml:4:1: temperature: wanted a temperature above 0"]),
        ("weighting: xclr\nsgima: 3", ["p.yaml:4:1: sgima: unknown key; did you mean 'sigma'?"]),
        ("weighting: {name: yaware, sigma: 1}\nsigma: 2", ["p.yaml:4:1: sigma: this is given twice"]),
        ("weighting: {sigma: 1}", ["weighting: this is needed"]),
        ("weighting: {name: yawar}", ["p.yaml:3:13: weighting.name: unknown weighting 'yawar'; did you mean 'yaware'"]),
        ("weighting: [yaware]", ["p.yaml:3:1: weighting: wanted the name of a weighting, or a mapping"]),
        ("weighting: yaware\ngrid: {weighting.sigma: [3, 0]}", ["p.yaml:4:29: weighting.sigma: wanted a width"]),
    ],
)
def test_complaints_have_their_place(written, complaints, tmp_path):
    text = f"kind: realizable\nlabels: [20, 25, 30]\n{written}\n"
    found = [str(c) for entry in read_entries(text.encode(), "p.yaml", tmp_path) for c in entry.complaints]
    assert len(found) == len(complaints)
    for said, wanted in zip(found, complaints, strict=True):
        assert wanted in said


def test_a_changed_question_keeps_within_the_declarations():
    question = Realizable(**FLAT)
    assert question.changed(sigma=3.0).parameters == {"sigma": 3.0}
    for outside in ({"sigma": 1e300}, {"temperature": 1e-5}):
        with pytest.raises(InputError, match="wanted"):
            question.changed(**outside)
    with pytest.raises(InputError, match="does not use this"):
        question.changed(epsilon=0.5)
    with pytest.raises(InputError, match="wanted"):
        question.changed(weighting="soft-supcon", sigma=None, epsilon=1.5)


def test_a_changed_question_reads_its_own_labels():
    question = Realizable(**FLAT)
    assert question.points.shape == (3, 1)
    assert question.changed(labels="1,2").points.shape == (2, 1)


def test_every_wrong_parameter_of_a_loss_is_named():
    with pytest.raises(InputError) as caught:
        validate(Imbalance(props=[0.5, 0.5], loss={"name": "supcon", "temperature": 0, "batch": 1, "foo": 2}))
    error = caught.value
    assert [e.field for e in (error, *error.rest)] == ["loss.temperature", "loss.batch", "loss.foo"]


def test_unknown_parameters_of_the_maker():
    with pytest.raises(InputError, match="the weighting xclr does not use this; it takes target_temperature"):
        make_weighting("xclr", {"sigma": 1.0})
    with pytest.raises(InputError, match="unknown kernel 'gaus'"):
        make_weighting("yaware", {"kernel": "gaus"})


# --- the JSON schema --------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def validator():
    schema = json_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


@pytest.mark.parametrize("right", [FLAT, NESTED, {"weighting": "supcon"}, {"weighting": {"name": "supcon"}}])
def test_schema_takes(validator, right):
    validator.validate({"kind": "realizable", **right})


@pytest.mark.parametrize(
    "wrong",
    [
        {"weighting": "yawar"},
        {"weighting": {"sigma": 5}},
        {"weighting": {"name": "yaware", "sigma": 0}},
        {"weighting": {"name": "yaware", "kernel": "gaus"}},
        {"weighting": {"name": "xclr", "sigma": 5}},
        {"weighting": "yaware", "sigma": -1},
        {"weighting": "yaware", "temperature": 0},
        {"weighting": "yaware", "sgima": 1},
    ],
)
def test_schema_refuses(validator, wrong):
    assert not validator.is_valid({"kind": "realizable", **wrong})


def test_schema_describes_loss_parameters(run, validator):
    (supcon,) = (
        each
        for each in run("schema").json["$defs"]["LossChoice"]["anyOf"]
        if each.get("properties", {}).get("name", {}).get("const") == "supcon"
    )
    assert supcon["properties"]["temperature"] == {
        "type": ["number", "string"],
        "pattern": FRACTION,
        "minimum": 1e-4,
        "maximum": 1e6,
        "default": 0.1,
        "description": TEMPERATURE.help,
    }
    many = {"kind": "imbalance", "loss": {"name": "infonce", "negatives": "inf"}}
    validator.validate(many)
    for loss in (
        {"name": "infonce", "negatives": 0},
        {"name": "supcon", "temperature": 0},
        {"name": "supcon", "full_batch": 1},
        {"name": "triplet", "sampling": "all"},
    ):
        assert not validator.is_valid({"kind": "imbalance", "loss": loss})


@pytest.mark.parametrize("name", sorted(LOSSES))
def test_schema_and_maker_agree_on_bounds(validator, name):
    """What the schema says of a value just within and just outside its bounds, the maker says too."""
    for key, declared in LOSSES[name].takes().items():
        schema = declared.json_schema()
        low, high = schema.get("minimum"), schema.get("maximum")
        for value in () if low is None else (low, high, low - 1, high * 2):
            needs = {"batch": 8} if key == "views" else {}
            if key != "regularise" and "regularise" in LOSSES[name].takes():
                needs = {"regularise": 1}
            loss = {"name": name, **needs, key: value}
            accepted = validator.is_valid({"kind": "imbalance", "loss": loss})
            try:
                make_loss(name, {**needs, key: value})
            except InputError:
                assert not accepted
            else:
                assert accepted


# --- the command ------------------------------------------------------------------------------------------------------


def test_help_says_each_default_once(run):
    for command in ("imbalance", "realizable", "check"):
        text = " ".join(run(command, "--help").stdout.split())
        for option in text.split(" --"):
            meanings = max(1, option.count(" ["))  # more than one where losses over classes and of two sides share it
            assert option.count("(default") <= meanings + ("default iid for" in option)
    text = " ".join(run("imbalance", "--help").stdout.split()).replace("- ", "-")  # a name broken at its hyphen
    assert (
        "divided by it (default 0.1). [bcl, dcl, infonce, kcl, multi-similarity, n-pair, nt-xent, sigmoid, "
        "soft-margin-triplet, soft-supcon, supcon, supcon-in, tsc, weince]" in text
    )
    assert (
        "(default supervised for contrastive, contrastive-distance, lifted-structure, multi-similarity, pairwise, "
        "sigmoid, soft-margin-triplet, triplet; iid for dcl, infonce, weince). [contrastive, contrastive-distance, dcl,"
        in text
    )


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["-t", "1e-300"], "--temperature: wanted a temperature above 0, from 0.0001 to 1e6, got '1e-300'"),
        (["--sigma", "1e-300"], "--sigma: wanted a width above 0, from 1e-12 to 1e12, got '1e-300'"),
        (["--sigma", "wide"], "--sigma: wanted a width above 0, from 1e-12 to 1e12, got 'wide'"),
        (["--target-temperature", "1"], "--target-temperature: the weighting yaware does not use this"),
    ],
)
def test_flags_of_a_weighting_are_checked(run, args, words):
    done = run("realizable", "--weighting", "yaware", "--labels", "1,2", *args)
    assert (done.code, done.stdout) == (2, "")
    assert done.stderr.startswith(f"Error: {words}")
