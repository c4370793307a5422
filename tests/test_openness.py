"""A loss, a weighting and a set of labels from one file each, outside of the package: every command answers for them.

The files are imported after the commands, in a process of its own.  What is asked by flag is asked by problem file,
too, and every choice is listed.
"""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys

import jsonschema
import numpy as np
import pytest

LOSS = '''
"""A loss of a user's own: spectral with a weight on it, F = weight * sum_ab p_a p_b G_ab^2."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from geomsolve.losses import Loss, register
from geomsolve.objectives.pairs import Squares, pair_mass
from geomsolve.registry import Parameter, number, parameter

PULL = Parameter("pull", ("--pull",), number("a pull", 0.25, 4), "P", "How hard pairs are pulled apart.")


@register
@dataclass(frozen=True)
class Pulled(Loss):
    """See above."""

    name: ClassVar[str] = "pulled"
    summary: ClassVar[str] = "spectral, weighted"
    source: ClassVar[str] = "a test"

    recipe: ClassVar[str] = "own_loss"

    pull: float = parameter(PULL, 2.0)

    def objective(self, orbits):
        same = float(np.sum(orbits.sizes * orbits.proportions**2))
        return Squares(self.pull * pair_mass(orbits, "iid"), self.pull * same)


def experiment(loss, population):
    from geomsolve.descent.pairs import Pairs

    return Pairs(population, "iid", lambda up, down, other: loss.pull * (down**2 - 2 * up + 2))
'''

WEIGHTING = '''
"""A weighting of a user's own: scalars weigh by exp(-steepness |y - y'|^2 / 2), as y-Aware with another parameter."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from geomsolve.registry import Parameter, number, parameter
from geomsolve.weightings import Weighting, register

STEEPNESS = Parameter("steepness", ("--steepness",), number("a steepness", 1e-6, 1e6), "S", "Inverse square width.")


@register
@dataclass(frozen=True)
class Steep(Weighting):
    """See above."""

    name: ClassVar[str] = "steep"
    title: ClassVar[str] = "Steep"
    summary: ClassVar[str] = "Gaussian by its inverse square width"
    condition: ClassVar[str] = "As y-Aware with sigma = 1 / sqrt(steepness)."
    source: ClassVar[str] = "a test"

    steepness: float = parameter(STEEPNESS, 1.0)

    def log_weights(self, labels, temperature, similarity):
        apart = np.linalg.norm(labels[:, None] - labels, axis=2)
        return -self.steepness * apart**2 / 2
'''

LABELS = '''
"""A set of labels of a user's own: both ends of every axis."""

import numpy as np

from geomsolve.reading.generators import Generator, register


def ends(parts, seed):
    return np.concatenate([np.eye(int(parts[0])), -np.eye(int(parts[0]))])


register(Generator("ends", "ends:2", "both ends of every axis", ends))
'''

ASK = """
import contextlib, importlib, io, json, sys
import geomsolve.cli.commands.imbalance, geomsolve.cli.commands.realizable  # before the files of the user
from geomsolve.cli.main import main
import own_labels, own_loss, own_weighting

answers = []
for args in json.loads(sys.argv[1]):
    sys.argv = ["geomsolve", *args]
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main()
        except SystemExit as ended:
            code = ended.code
    answers.append([code, out.getvalue(), err.getvalue()])
print(json.dumps(answers))
"""


PROPS = "--props 0.7,0.2,0.1"
TRAIN = "--device cpu --steps 400 --seed 1"
STEEP = "--weighting steep --labels 0,1 -t 1 --steepness 3"
ENDS = "--weighting xclr --labels ends:2 -t 1"

ASKED = {
    # the loss, by flag
    "flag": "imbalance --props 0.5,0.5 --loss pulled --pull 3 --json",
    "refused": "imbalance --props 0.5,0.5 --loss pulled --pull 5",
    "foreign": "imbalance --props 0.5,0.5 --loss supcon --pull 3",
    "yaml": "solve loss.yaml --json",
    "weak": "validate weak.yaml",
    "losses": "list losses --json",
    "help": "imbalance --help",
    "sweep": "sweep --props 0.5,0.5 --loss pulled --over pull=1,2 --json",
    "threshold": f"threshold {PROPS} --loss pulled --pull 3 --over majority --json",
    "threshold of what it lacks": f"threshold {PROPS} --loss pulled --pull 3 --over temperature",
    "levels": "levels --batch 8 --classes 3 --loss pulled --pull 3",
    "negatives": f"negatives {PROPS} --loss pulled",
    "compare": "compare z.npy --labels y.npy --loss pulled --pull 3 --json",
    "check": f"check {PROPS} --loss pulled --pull 3 {TRAIN} --json",
    # the weighting, by flag
    "weighting flag": f"realizable {STEEP} --json",
    "weighting in words": f"realizable {STEEP}",
    "conditions": "realizable --weighting steep --steepness 3",
    "weighting refused": "realizable --weighting steep --labels 0,1 --steepness 0",
    "nested": "solve nested.yaml --json",
    "flat": "solve flat.yaml --json",
    "weightings": "list weightings --json",
    "weighting help": "realizable --help",
    "weighting check": f"check {STEEP} --device cpu --optimizer lbfgs --json",
    "weighting both": f"realizable {STEEP} --check --json",
    # the labels, by flag
    "labels": f"realizable {ENDS} --json",
    "labels drawn": f"realizable {ENDS} --sample 3 --json",
    "labels unknown": "realizable --weighting xclr --labels end:2",
    "labels check": f"check {ENDS} --device cpu --optimizer lbfgs --json",
    "labels latents": "diversity --latents ends:3 -t 0.5 --json",
    "labels listed": "list labels --json",
    # all of it, by problem file
    "schema": "schema",
    "validate": "validate all --json",
    "batch": "batch all --jobs 1 --json",
    "report": "report all/threshold.yaml all/weighting.yaml --jobs 1 --quiet --out page.html",
}

FILES = {
    "loss.yaml": "kind: imbalance\nprops: [0.5, 0.5]\nloss: {name: pulled, pull: 0.5}\n",
    "weak.yaml": "kind: imbalance\nprops: [0.5, 0.5]\nloss: {name: pulled, pull: 9}\n",
    "nested.yaml": "kind: realizable\nlabels: [0, 1]\ntemperature: 1\nweighting: {name: steep, steepness: 3}\n",
    "flat.yaml": "kind: realizable\nlabels: [0, 1]\ntemperature: 1\nweighting: steep\nsteepness: 5\n",
    "all/imbalance.yaml": "kind: imbalance\nprops: [0.7, 0.2, 0.1]\nloss: {name: pulled, pull: 3}\n",
    "all/threshold.yaml": "kind: threshold\nprops: [0.7, 0.2, 0.1]\nover: majority\nloss: {name: pulled, pull: 3}\n",
    "all/sweep.yaml": "kind: sweep\nprops: [0.5, 0.5]\nover: {pull: [1, 2]}\nloss: pulled\n",
    "all/levels.yaml": "kind: levels\nbatch: 8\nclasses: 3\nloss: {name: pulled, pull: 3}\n",
    "all/negatives.yaml": "kind: negatives\nprops: [0.7, 0.2, 0.1]\nloss: pulled\n",
    "all/compare.yaml": "kind: compare\nembeddings: ../z.npy\nlabels: ../y.npy\nloss: {name: pulled, pull: 3}\n",
    "all/check.yaml": "kind: check\nprops: [0.7, 0.2, 0.1]\nloss: {name: pulled, pull: 3}\n"
    "device: cpu\nsteps: 400\nseed: 1\n",
    "all/weighting.yaml": "kind: realizable\nlabels: [0, 1]\ntemperature: 1\nweighting: {name: steep, steepness: 3}\n",
    "all/weighting-check.yaml": "kind: check_weighting\nlabels: [0, 1]\ntemperature: 1\nweighting: steep\n"
    "steepness: 3\ndevice: cpu\noptimizer: lbfgs\n",
    "all/labels.yaml": "kind: realizable\nlabels: 'ends:2'\ntemperature: 1\nweighting: xclr\n",
    "all/labels-check.yaml": "kind: check_weighting\nlabels: 'ends:2'\ntemperature: 1\nweighting: xclr\n"
    "device: cpu\noptimizer: lbfgs\n",
    "all/latents.yaml": "kind: diversity\nlatents: 'ends:3'\ntemperature: 0.5\n",
}


@pytest.fixture(scope="module")
def own(tmp_path_factory):
    """Answers of the real entry point in a process that imported one file with each."""
    folder = tmp_path_factory.mktemp("own")
    (folder / "all").mkdir()
    for name, text in {"own_loss.py": LOSS, "own_weighting.py": WEIGHTING, "own_labels.py": LABELS, **FILES}.items():
        (folder / name).write_text(text)
    codes = np.repeat([0, 1, 2], (70, 20, 10))
    np.save(folder / "y.npy", codes)
    np.save(folder / "z.npy", np.eye(3)[codes])  # what the loss wants: classes at right angles
    path = {"PYTHONPATH": ":".join([str(folder), *sys.path])}
    commands = json.dumps([words.split() for words in ASKED.values()])
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", ASK, commands], capture_output=True, text=True, env=path, cwd=folder
    )
    assert done.returncode == 0, done.stderr
    answers = dict(zip(ASKED, json.loads(done.stdout), strict=True))
    return {**answers, "page": (folder / "page.html").read_text() if (folder / "page.html").exists() else ""}


def answered(own, how, code=0):
    found, out, err = own[how]
    assert (found, err) == (code, "")
    return json.loads(out)


def needs(package):
    return pytest.mark.skipif(importlib.util.find_spec(package) is None, reason=f"needs {package}")


@pytest.mark.slow
@pytest.mark.parametrize(("how", "pull"), [("flag", 3.0), ("yaml", 0.5)])
def test_a_loss_of_ones_own_is_answered(own, how, pull):
    code, out, err = own[how]
    assert (code, err) == (0, "")
    answer = json.loads(out)
    assert answer["problem"]["loss"] == {"name": "pulled", "pull": pull}
    assert answer["value"] == pytest.approx(pull * 0.5, abs=1e-6)  # orthogonal: sum_a p_a^2 = 1/2 is left
    assert answer["gram"][0][1] == pytest.approx(0.0, abs=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("how", "words"),
    [
        ("refused", "Error: --pull: wanted a pull above 0, from 0.25 to 4, got '5'"),
        ("foreign", "Error: --pull: the loss supcon does not use this; it takes temperature"),
        ("weak", "weak.yaml:3:22: loss.pull: wanted a pull above 0, from 0.25 to 4, got 9"),
        ("weighting refused", "Error: --steepness: wanted a steepness above 0, from 1e-6 to 1e6, got '0'"),
    ],
)
def test_what_it_does_not_take_is_said(own, how, words):
    code, out, err = own[how]
    assert (code, out) == (2, "")
    assert words in err


@pytest.mark.slow
@pytest.mark.parametrize(
    ("what", "name", "flag"), [("losses", "pulled", "--pull"), ("weightings", "steep", "--steepness")]
)
def test_it_is_listed_and_explained(own, what, name, flag):
    (row,) = (row for row in json.loads(own[what][1])[what] if row["name"] == name)
    assert row["flags"] == [flag]
    text = " ".join(own["help" if what == "losses" else "weighting help"][1].split())
    assert f"[{name}]" in text
    assert flag in text


@pytest.mark.slow
def test_a_sweep_goes_along_its_parameter(own):
    code, out, err = own["sweep"]
    assert (code, err) == (0, "")
    assert [row["value"] for row in json.loads(out)["rows"]] == pytest.approx([0.5, 1.0], abs=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize(("how", "steepness"), [("weighting flag", 3.0), ("nested", 3.0), ("flat", 5.0)])
def test_a_weighting_of_ones_own_is_answered(own, how, steepness):
    code, out, err = own[how]
    assert (code, err) == (0, "")
    answer = json.loads(out)
    assert (answer["problem"]["weighting"], answer["problem"]["steepness"]) == ("steep", steepness)
    # two points at the wanted cosine 1 - steepness / 2 >= -1, that is a squared distance of the steepness up to 4
    assert answer["verdict"] == ("realizable" if steepness <= 4 else "inconsistent")


@pytest.mark.slow
@pytest.mark.parametrize("how", ["weighting in words", "conditions"])
def test_its_parameter_is_said_with_the_answer(own, how):
    code, out, err = own[how]
    assert (code, err) == (0, "")
    assert "steepness 3," in " ".join(out.split())


@pytest.mark.slow
def test_the_schema_knows_both(own):
    schema = json.loads(own["schema"][1])
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    props = {"kind": "imbalance", "props": [0.5, 0.5]}
    assert validator.is_valid({**props, "loss": {"name": "pulled", "pull": 4}})
    assert not validator.is_valid({**props, "loss": {"name": "pulled", "pull": 5}})
    for form in ({"weighting": {"name": "steep", "steepness": 3}}, {"weighting": "steep", "steepness": 3}):
        assert validator.is_valid({"kind": "realizable", **form})
    for form in ({"weighting": {"name": "steep", "steepness": 0}}, {"weighting": "steep", "steepness": 0}):
        assert not validator.is_valid({"kind": "realizable", **form})


# --- every other command that takes a loss ---------------------------------------------------------------------------

SHARES = 0.7**2 + 0.2**2 + 0.1**2  # what right angles leave of sum_ab p_a p_b G_ab^2


@pytest.mark.slow
def test_threshold_looks_for_collapse_and_finds_none(own):
    answer = answered(own, "threshold")
    assert answer["threshold"] is None  # squares of cosines never want two classes at one point
    assert answer["problem"]["loss"] == {"name": "pulled", "pull": 3.0}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("how", "words"),
    [
        ("threshold of what it lacks", "--over: the loss pulled has no temperature; it takes pull"),
        ("levels", "--loss: levels of the loss 'pulled' are not known"),
        ("negatives", "--loss: wanted infonce or dcl, whose limit is the cross-entropy, got 'pulled'"),
        ("labels unknown", "--labels: there is no set of points 'end'; did you mean 'ends'?"),
    ],
)
def test_what_cannot_be_answered_is_refused_with_the_reason(own, how, words):
    code, out, err = own[how]
    assert (code, out) == (2, "")
    assert words in err
    assert err.count("\n") == 1


@pytest.mark.slow
def test_compare_measures_against_it(own):
    answer = answered(own, "compare")
    assert answer["verdict"] == "matches"
    assert answer["value_predicted"] == pytest.approx(3 * SHARES, abs=1e-6)
    if importlib.util.find_spec("torch"):
        assert answer["value_measured"] == pytest.approx(3 * SHARES, abs=0.05)


@needs("torch")
@pytest.mark.slow
def test_it_is_trained(own):
    code, out, err = own["check"]
    assert code in (0, 1)  # 1: not there yet, in so few steps
    assert err == ""
    answer = json.loads(out)
    assert answer["problem"]["loss"] == {"name": "pulled", "pull": 3.0}
    assert answer["prediction"]["value"] == pytest.approx(3 * SHARES, abs=1e-6)
    assert answer["descent"]["value"] == pytest.approx(3 * SHARES, abs=0.1)


# --- every other command that takes a weighting, or labels -----------------------------------------------------------


@needs("torch")
@pytest.mark.slow
@pytest.mark.parametrize("how", ["weighting check", "weighting both"])
def test_a_weighting_of_ones_own_is_trained(own, how):
    answer = answered(own, how)
    trained = answer["check"] if how == "weighting both" else answer
    assert trained["verdict"] == "agrees"
    assert trained["problem"]["steepness"] == 3
    # the wanted cosine of the two points is 1 - steepness / 2
    assert trained["descent"]["gram"][0][1] == pytest.approx(-0.5, abs=0.02)


@pytest.mark.slow
def test_labels_of_ones_own_are_read(own):
    answer = answered(own, "labels")
    assert (answer["samples"], answer["verdict"]) == (4, "realizable")
    assert answered(own, "labels drawn")["samples"] == 3
    # by X-CLR at equal temperatures the labels' own cosines: 0 between axes, -1 across
    assert sorted(np.round(answer["attained"][0], 6).tolist()) == [-1, 0, 0, 1]
    latents = answered(own, "labels latents")
    assert (latents["points"], latents["dim"], latents["recovered"]) == (6, 3, True)
    (row,) = (row for row in answered(own, "labels listed")["labels"] if row["name"] == "ends")
    assert row == {"name": "ends", "example": "ends:2", "summary": "both ends of every axis"}


@needs("torch")
@pytest.mark.slow
def test_labels_of_ones_own_are_trained_on(own):
    assert answered(own, "labels check")["verdict"] == "agrees"


# --- all of it by problem file, in processes that never imported the files of the user --------------------------------


@pytest.mark.slow
def test_files_are_valid_but_for_what_no_command_answers(own):
    answer = answered(own, "validate", 2)
    assert answer["problems"] == 12
    assert {complaint["file"] for complaint in answer["complaints"]} == {"all/levels.yaml", "all/negatives.yaml"}


@needs("torch")
@pytest.mark.slow
def test_batch_answers_as_the_commands_do(own):
    code, out, _ = own["batch"]
    assert code == 2
    rows = {row["file"].removeprefix("all/").removesuffix(".yaml"): row for row in map(json.loads, out.splitlines())}
    assert {name for name, row in rows.items() if row["status"] == "invalid"} == {"levels", "negatives"}
    assert {row["status"] for row in rows.values()} <= {"ok", "invalid", "unmet", "uncertified"}
    assert rows["imbalance"]["value"] == pytest.approx(3 * SHARES, abs=1e-6)
    assert [row["value"] for row in rows["sweep"]["rows"]] == pytest.approx([0.5, 1.0], abs=1e-6)
    assert rows["check"]["descent"]["value"] == pytest.approx(3 * SHARES, abs=0.1)
    for name, how in {
        "threshold": "threshold",
        "compare": "compare",
        "weighting": "weighting flag",
        "weighting-check": "weighting check",
        "labels": "labels",
        "labels-check": "labels check",
        "latents": "labels latents",
    }.items():
        asked = answered(own, how)
        for key in {"verdict", "threshold", "value", "gram"} & asked.keys():
            assert rows[name][key] == asked[key], name


@needs("matplotlib")
@pytest.mark.slow
def test_a_page_is_made_of_them(own):
    assert own["report"] == [0, "", ""]
    assert "pulled, pull 3" in own["page"]
    assert "--steepness 3" in own["page"]
