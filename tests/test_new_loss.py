"""A loss in a file of its own, from elsewhere: every command answers for it; what a recipe adds is the check."""

from __future__ import annotations

import importlib
import json
import sys

import numpy as np
import pytest

from geomsolve import Imbalance, solve
from geomsolve.losses import REGISTRY

FILE = '''
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from geomsolve.losses.base import Loss, register
from geomsolve.losses.parameters import TEMPERATURE
from geomsolve.losses.supcon import SupCon
from geomsolve.registry import parameter


@register
@dataclass(frozen=True)
class Borrowed(Loss):
    """SupCon in the population limit, under another name."""

    name: ClassVar[str] = "borrowed-supcon"
    summary: ClassVar[str] = "a loss from elsewhere"
    source: ClassVar[str] = "a test"
    recipe: ClassVar = RECIPE

    temperature: float = parameter(TEMPERATURE, 0.5)

    def objective(self, orbits):
        return SupCon(temperature=self.temperature).objective(orbits)


def experiment(loss, population):
    from geomsolve.descent.denominator import Denominator

    return Denominator(population, lambda cosines: cosines / loss.temperature)
'''
NAME = "borrowed-supcon"
ASKED = ("--props", "0.7,0.2,0.1", "--loss", NAME, "-t", "0.5")


def register(folder, monkeypatch, recipe):
    monkeypatch.setattr(REGISTRY, "_choices", dict(vars(REGISTRY)["_choices"]))
    (folder / "borrowed_loss.py").write_text(FILE.replace("RECIPE", repr(recipe)))
    monkeypatch.syspath_prepend(folder)
    monkeypatch.setitem(sys.modules, "borrowed_loss", None)
    del sys.modules["borrowed_loss"]
    importlib.invalidate_caches()
    importlib.import_module("borrowed_loss")


@pytest.fixture
def lone(tmp_path, monkeypatch):
    """The loss without a recipe."""
    register(tmp_path, monkeypatch, None)


@pytest.fixture
def trained(tmp_path, monkeypatch):
    """The loss whose file is its recipe too."""
    register(tmp_path, monkeypatch, "borrowed_loss")


@pytest.fixture(scope="module")
def same():
    return solve(Imbalance(props=(0.7, 0.2, 0.1), loss={"name": "supcon", "temperature": 0.5}))


@pytest.fixture
def files(tmp_path, same):
    labels = np.repeat([0, 1, 2], (70, 20, 10))
    w, v = np.linalg.eigh(same.gram)
    np.save(tmp_path / "z.npy", (v * np.sqrt(np.maximum(w, 0)))[labels])
    np.save(tmp_path / "y.npy", labels)
    return tmp_path


@pytest.mark.usefixtures("lone")
def test_geometry_threshold_and_sweep(run, same):
    answer = run("imbalance", *ASKED, "--json").json
    assert answer["certified"]
    assert answer["value"] == pytest.approx(same.value, abs=1e-9)
    assert answer["problem"]["loss"] == {"name": NAME, "temperature": 0.5}
    one = run("threshold", "--props", "0.9,0.05,0.05", "--loss", NAME, "--over", "temperature", "--json").json
    other = run("threshold", "--props", "0.9,0.05,0.05", "--loss", "supcon", "--over", "temperature", "--json").json
    assert one["threshold"]["value"] == pytest.approx(other["threshold"]["value"], rel=1e-9)
    sweep = run("sweep", *ASKED[:4], "--over", "temperature=0.5,1", "--json")
    assert sweep.code == 0
    assert sweep.json["rows"][0]["value"] == pytest.approx(same.value, abs=1e-9)
    assert NAME in run("list", "losses").stdout


@pytest.mark.usefixtures("lone")
def test_check_is_refused_with_the_reason(run, tmp_path):
    for command in ("check", "imbalance"):
        shown = run(command, *ASKED, *(["--check"] if command == "imbalance" else []))
        assert shown.code == 2
        assert shown.stdout == ""
        assert f"--loss: {NAME} has no training recipe" in shown.stderr
        assert shown.stderr.count("\n") == 1
    file = tmp_path / "a.yaml"
    file.write_text(f"kind: check\nprops: [0.7, 0.3]\nloss: {NAME}\n")
    shown = run("validate", file)
    assert shown.code == 2
    assert f"{file}:3:1: loss.name: {NAME} has no training recipe" in shown.stdout + shown.stderr


@pytest.mark.usefixtures("lone")
def test_compare_says_what_is_missing(run, files):
    pytest.importorskip("torch")
    arguments = ("compare", files / "z.npy", "--labels", files / "y.npy", "--loss", NAME, "-t", "0.5")
    shown = run(*arguments)
    assert shown.code == 0
    assert "Your encoder matches" in shown.stdout
    assert f"not evaluated ({NAME} has no training recipe" in " ".join(shown.stdout.split())
    answer = run(*arguments, "--json").json
    assert answer["value_measured"] is None
    assert answer["value_predicted"] is not None
    assert answer["verdict"] == "matches"


@pytest.mark.usefixtures("trained")
def test_with_a_recipe_of_its_own_it_is_trained_and_measured(run, files, same):
    pytest.importorskip("torch")
    answer = run("check", *ASKED, "--device", "cpu", "--optimizer", "lbfgs", "--json").json
    assert answer["verdict"] == "agrees"
    assert answer["descent"]["value"] == pytest.approx(same.value, abs=1e-6)
    shown = run("compare", files / "z.npy", "--labels", files / "y.npy", "--loss", NAME, "-t", "0.5", "--json")
    assert shown.json["value_measured"] == pytest.approx(same.value, abs=1e-6)
    for flags, part in ((("--implementation", "pml"), "--implementation"), (("--synthetic", "synco"), "--synthetic")):
        shown = run("check", *ASKED, "--device", "cpu", *flags)
        assert shown.code == 2
        assert part in shown.stderr


def test_every_loss_of_one_set_of_points_has_its_recipe_and_loads_no_torch_to_say_so():
    import subprocess

    code = (
        "import sys, json; from geomsolve.losses import REGISTRY, ClassifierLoss, make_loss; "
        "from geomsolve.descent.recipes import missing; "
        "names = [n for n, cls in REGISTRY.items() if not issubclass(cls, ClassifierLoss)]; "
        "print(json.dumps([missing(make_loss(n, {})) for n in names]), 'torch' in sys.modules)"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    found, torch = shown.rsplit(maxsplit=1)
    assert set(json.loads(found)) == {""}
    assert torch == "False"
