"""What is shipped: sdist and wheel, the gallery by name, and the files that say what geomsolve is and needs."""

from __future__ import annotations

import importlib.metadata
import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from ruamel.yaml import YAML

from geomsolve._version import __version__
from geomsolve.batch import gallery
from geomsolve.batch.gather import gather, problem_files

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
FILES = sorted(path.relative_to(ROOT / "problems").as_posix() for path in (ROOT / "problems").rglob("*.yaml"))


def test_the_gallery_has_a_name_for_every_file():
    assert sorted(f"{name}.yaml" for name in gallery.names()) == FILES
    assert problem_files(["problem:"]) == [f"problem:{name}" for name in gallery.names()]
    (by_name,) = gather(["problem:collapse/strong-majority"])
    (by_path,) = gather([str(ROOT / "problems" / "collapse" / "strong-majority.yaml")])
    assert by_name.sha256 == by_path.sha256
    assert by_name.problem == by_path.problem


def test_a_problem_of_the_gallery_is_answered_by_its_name_from_anywhere(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ended = run("solve", "problem:collapse/strong-majority", "--json")
    assert ended.code == 0
    assert ended.json["file"] == "problem:collapse/strong-majority"
    assert ended.json["structure"]["kind"] == "minority collapse"
    assert run("solve", "problem:collapse/strong-majority.yaml", "--quiet").stdout.startswith("Minority collapse")
    valid = run("validate", "problem:levels", "problem:levels/one-view")
    assert (valid.code, valid.stdout) == (0, f"{len(gather(['problem:levels']))} problems in 4 files: all valid.\n")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("problem:colapse/strong-majority", "did you mean 'collapse/strong-majority'?"),
        ("problem:strong-majority", "did you mean 'collapse/strong-majority'?"),
        ("problem:collapse/strong", "did you mean 'collapse/strong-majority'?"),
        ("problem:nothing-like-it", "geomsolve list problems has them all, in folders: balanced, classifiers, coll"),
        ("problem:../problems/collapse/strong-majority", "there is no problem '../problems/collapse/strong-majority'"),
        ("problems/collapse/strong-majority.yaml", "the gallery has problem:collapse/strong-majority"),
        ("collapse", "the gallery has problem:collapse"),
    ],
)
def test_a_name_that_is_none_is_answered_with_the_nearest(run, tmp_path, monkeypatch, name, said):
    monkeypatch.chdir(tmp_path)
    for command in ("solve", "validate", "batch"):
        ended = run(command, name)
        assert ended.code == 2
        assert ended.stdout == ""
        assert said in ended.stderr


def test_a_file_that_stands_there_needs_no_gallery(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "collapse").write_text("kind: capacity\nclasses: 4\ndim: 3\n")
    assert run("validate", "collapse").stdout == "1 problem in 1 file: all valid.\n"


@pytest.mark.slow
def test_wheel_and_sdist_hold_what_they_should(tmp_path):
    """Built as pip builds them, by the backend that is named, where it is at hand."""
    pytest.importorskip("hatchling", reason="building needs hatchling")
    build = "import hatchling.build as b, sys; b.build_sdist(sys.argv[1]); b.build_wheel(sys.argv[1])"
    subprocess.run([sys.executable, "-c", build, str(tmp_path)], cwd=ROOT, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    (sdist,) = tmp_path.glob("*.tar.gz")
    assert wheel.name == f"geomsolve-{__version__}-py3-none-any.whl"
    assert wheel.stat().st_size < 1.5e6
    assert sdist.stat().st_size < 5e6
    names = set(zipfile.ZipFile(wheel).namelist())
    shipped = {p.relative_to(ROOT).as_posix() for p in (ROOT / "geomsolve").rglob("*") if "__pycache__" not in p.parts}
    shipped |= {f"geomsolve/{p.relative_to(ROOT).as_posix()}" for p in (ROOT / "problems").rglob("*.*")}
    shipped = {name for name in shipped if (ROOT / name).is_file() or name.startswith("geomsolve/problems/")}
    assert {name for name in names if ".dist-info/" not in name} == shipped
    installed = tmp_path / "installed"
    zipfile.ZipFile(wheel).extractall(installed)
    asked = "import sys, geomsolve.batch.gallery as g; print(g.folder(), len(g.names()))"
    done = subprocess.run(
        [sys.executable, "-c", asked],
        cwd=tmp_path,
        env={"PYTHONPATH": str(installed)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == f"{installed / 'geomsolve' / 'problems'} {len(FILES)}\n"


def test_the_citation_is_valid_and_of_this_version():
    cff = YAML(typ="safe").load(ROOT / "CITATION.cff")
    assert {"cff-version", "message", "title", "authors"} <= cff.keys(), "what the format demands"
    assert cff["cff-version"] == "1.2.0"
    assert cff["type"] in ("software", "dataset")
    assert all(author.keys() & {"name", "family-names"} for author in cff["authors"])
    assert cff["version"] == __version__
    assert cff["license"] == PROJECT["project"]["license"]
    known = {"abstract", "keywords", "repository-code", "url", "date-released", "type", "version", "license"}
    assert cff.keys() <= known | {"cff-version", "message", "title", "authors"}


def test_the_changelog_knows_this_version_or_what_comes():
    heads = re.findall(r"^## (.+)$", (ROOT / "CHANGELOG.md").read_text(), flags=re.MULTILINE)
    assert heads[0] == "Unreleased" or heads[0].split()[0] == __version__


def test_conda_and_docker_install_what_pip_does():
    recipe = (ROOT / "conda" / "meta.yaml").read_text()
    run_section = recipe.partition("\n  run:\n")[2].partition("\ntest:")[0]
    conda = dict(re.findall(r"- ([\w.-]+)(?: >=([\w.]+))?$", run_section, flags=re.MULTILINE))
    wanted = {"python": PROJECT["project"]["requires-python"].removeprefix(">=")}
    for each in map(Requirement, PROJECT["project"]["dependencies"]):
        name = {"cvxpy": "cvxpy-base"}.get(each.name, each.name)  # which does not bring every solver along
        wanted[name] = str(each.specifier).removeprefix(">=")
    assert conda == {**wanted, "clarabel": "", "scs": ""}
    script = PROJECT["project"]["scripts"]["geomsolve"]
    assert f"geomsolve = {script}" in recipe
    docker = (ROOT / "Dockerfile").read_text()
    extras = re.search(r"\$wheel\[([\w,]+)", docker)[1].split(",")
    assert set(extras) <= PROJECT["project"]["optional-dependencies"].keys()
    for copied in re.findall(r"^COPY (?!--)(.+) \S+$", docker, flags=re.MULTILINE):
        for name in copied.split():
            assert (ROOT / name).exists()
            assert f"\n!{name}\n" in (ROOT / ".dockerignore").read_text()


def test_the_workflow_runs_the_whole_check_on_every_python_that_is_promised():
    workflow = YAML(typ="safe").load(ROOT / ".github" / "workflows" / "check.yml")
    check = workflow["jobs"]["check"]
    assert check["strategy"]["matrix"]["python"] == ["3.11", "3.12", "3.13"]
    assert PROJECT["project"]["requires-python"] == ">=3.11"
    assert {"run": "bash .ci/run"} in check["steps"]
    assert {"run": "mkdocs build --strict"} in workflow["jobs"]["docs"]["steps"]
    assert "bash .ci/run" in (ROOT / "CONTRIBUTING.md").read_text()


def test_what_is_installed_is_this_version():
    assert importlib.metadata.version("geomsolve") == __version__
