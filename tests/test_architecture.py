"""Rules of the house: who may import whom, what loads when, who may print, what is documented."""

from __future__ import annotations

import ast
import dataclasses
import graphlib
import importlib
import inspect
import pkgutil
import subprocess
import sys
import typing
from pathlib import Path

import pytest

import geomsolve

PACKAGE = Path(geomsolve.__file__).parent
MODULES = sorted(PACKAGE.rglob("*.py"))

MAY_IMPORT = {
    "_version": set(),
    "errors": set(),
    "words": {"errors"},
    "files": {"errors"},
    "values": set(),
    "registry": {"errors", "values"},
    "interop": {"errors", "registry"},
    "verify": set(),
    "verify_codes": {"verify"},
    "verify_further": {"verify", "verify_codes"},
    "verify_losses": {"verify", "verify_classifiers", "verify_further", "verify_potentials", "verify_weightings"},
    "verify_potentials": {"verify"},
    "verify_classifiers": {"verify"},
    "verify_weightings": {"verify"},
    "reading": {"errors", "files", "words"},
    "gram": {"errors"},
    "objectives": {"errors", "gram"},
    "proof": {"errors", "gram", "objectives"},
    "solvers": {"errors", "gram", "objectives", "proof"},
    "losses": {"errors", "gram", "objectives", "registry"},
    "pair_losses": {"errors", "gram", "objectives", "registry"},
    "weightings": {"errors", "gram", "objectives", "registry"},
    "questions": {"errors", "reading", "registry", "words"},
    "plots": {"errors", "gram", "words"},
    "report": {"_version", "errors", "plots", "proof", "questions", "solvers"},
    "descent": {"errors", "gram", "losses", "objectives", "pair_losses"},
    "analyses": {
        "_version",
        "descent",
        "errors",
        "gram",
        "losses",
        "objectives",
        "pair_losses",
        "proof",
        "questions",
        "report",
        "solvers",
        "verify",
        "verify_classifiers",
        "verify_further",
        "verify_losses",
        "verify_potentials",
        "verify_weightings",
        "weightings",
        "words",
    },
    "torch": {"analyses", "errors", "gram", "losses", "questions"},
    "lightning": {"errors"},
    "batch": {"_version", "analyses", "errors", "files", "questions", "reading", "registry", "report"},
}
"""Room -> the rooms it knows.  ``cli`` and the package itself know all of them."""

OUTER = {"cli", "__init__", "__main__"}


def room(path: Path) -> str:
    return path.relative_to(PACKAGE).with_suffix("").parts[0]


def imported(path: Path) -> set[str]:
    """Dotted names of everything a module imports, at its top or later, but not for type checking alone."""
    names = set()
    waiting: list[ast.AST] = [ast.parse(path.read_text())]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            continue
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} has a relative import"
            module = node.module or ""
            names |= {f"{module}.{alias.name}" if module == "geomsolve" else module for alias in node.names}
        waiting += ast.iter_child_nodes(node)
    return names


def relative(path: Path) -> str:
    return str(path.relative_to(PACKAGE))


@pytest.mark.parametrize("path", MODULES, ids=relative)
def test_imports_point_downwards(path):
    here = room(path)
    if here in OUTER:
        return
    assert here in MAY_IMPORT, f"give the room {here!r} its place in MAY_IMPORT"
    known = {name.split(".")[1] for name in imported(path) if name.startswith("geomsolve.")}
    assert known <= MAY_IMPORT[here] | {here}


def test_the_rule_itself_has_no_cycle():
    done: set[str] = set()
    while left := set(MAY_IMPORT) - done:
        free = {name for name in left if MAY_IMPORT[name] - {name} <= done}
        assert free, f"a cycle among {left}"
        done |= free


def dotted(path: Path) -> str:
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def hands_on(path: Path) -> bool:
    """Whether a module is only the face of its package: an ``__init__`` that defines nothing."""
    defined = (ast.FunctionDef, ast.ClassDef)
    return path.name == "__init__.py" and not any(
        isinstance(node, defined) for node in ast.parse(path.read_text()).body
    )


@pytest.mark.slow
def test_no_file_imports_in_a_circle():
    """Imports within functions and for type checking count: knowing is knowing."""
    files = {dotted(path): path for path in MODULES if not hands_on(path)}
    knows: dict[str, set[str]] = {}
    for name, path in files.items():
        found = set()
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                found |= {alias.name for alias in node.names}
            if isinstance(node, ast.ImportFrom) and node.module:
                whole = {f"{node.module}.{alias.name}" for alias in node.names}
                found |= whole if whole <= set(files) else whole & set(files) | {node.module}
        knows[name] = found & set(files) - {name}
    assert sum(map(len, knows.values())) > 300
    try:
        graphlib.TopologicalSorter(knows).prepare()
    except graphlib.CycleError as error:
        pytest.fail(" -> ".join(error.args[1]))


def known_reports() -> list[type]:
    """Every kind of report that the analyses have."""
    for path in (PACKAGE / "analyses").glob("[!_]*.py"):
        importlib.import_module(dotted(path))
    waiting, found = [geomsolve.Report], []
    while waiting:
        found.append(waiting.pop())
        waiting += found[-1].__subclasses__()
    return [kind for kind in found if kind.__module__.startswith("geomsolve.")]


def reports_within(kind: type, seen: set[type] | None = None) -> list[str]:
    """Fields of a data class, and of the data classes that it holds, whose type hints name a report."""
    seen = set() if seen is None else seen
    if kind in seen:
        return []
    seen.add(kind)
    hints, found = typing.get_type_hints(kind), []
    for field in dataclasses.fields(kind):
        waiting: list[object] = [hints[field.name]]
        while waiting:
            part = waiting.pop()
            waiting += part if isinstance(part, list) else typing.get_args(part)
            if not isinstance(part, type):
                continue
            if issubclass(part, geomsolve.Report):
                found.append(f"{kind.__name__}.{field.name}: {part.__name__}")
            elif dataclasses.is_dataclass(part):
                found += reports_within(part, seen)
    return found


def test_no_report_holds_a_report():
    kinds = known_reports()
    assert len(kinds) > 15
    assert [line for kind in kinds for line in reports_within(kind)] == []


def test_a_report_deep_within_another_would_be_found():
    inner = dataclasses.make_dataclass("inner", [("answer", geomsolve.ImbalanceReport | None)])
    outer = dataclasses.make_dataclass("outer", [("name", str), ("all", dict[str, tuple[inner, ...]])])
    assert reports_within(outer) == ["inner.answer: ImbalanceReport"]


def test_no_command_knows_another():
    for path in (PACKAGE / "cli" / "commands").glob("[!_]*.py"):
        assert not {name for name in imported(path) if name.startswith("geomsolve.cli.commands")}, path


@pytest.mark.parametrize(
    "path", [p for p in MODULES if room(p) != "losses" and p.parent.name != "recipes"], ids=relative
)
def test_nobody_switches_on_the_name_of_a_loss(path):
    from geomsolve.losses import REGISTRY

    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Compare) and ast.unparse(node.left).endswith("loss.name"):
            words = {part.value for part in ast.walk(node) if isinstance(part, ast.Constant)}
            assert not words & set(REGISTRY), f"line {node.lineno}: a loss knows itself"


def test_no_certificate_is_made_by_hand():
    """All but the file of certificates take one that is there further: of a value, at another, above a bound."""
    made = [relative(path) for path in MODULES if "Certificate(" in path.read_text()]
    assert made == ["proof/certificate.py"]


@pytest.mark.parametrize(
    "path", [p for p in MODULES if room(p) in ("gram", "objectives", "proof", "losses", "pair_losses")], ids=relative
)
def test_the_mathematics_needs_numpy_and_scipy_only(path):
    third_party = {name.split(".")[0] for name in imported(path)} - set(sys.stdlib_module_names)
    assert third_party <= {"numpy", "scipy", "geomsolve"}


@pytest.mark.slow
def test_only_the_conic_solver_imports_cvxpy():
    users = [relative(p) for p in MODULES if "cvxpy" in imported(p) or 'import_module("cvxpy")' in p.read_text()]
    assert users == ["solvers/conic.py"]


@pytest.mark.parametrize("path", [p for p in MODULES if room(p) not in {*OUTER, "verify"}], ids=relative)
def test_nothing_below_the_command_line_prints(path):
    tree = ast.parse(path.read_text())
    calls = {ast.unparse(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    assert not calls & {"print", "click.echo", "sys.stdout.write", "sys.stderr.write"}
    assert not {"click", "rich"} & {name.split(".")[0] for name in imported(path)}


def loaded_after(code: str) -> set[str]:
    run = subprocess.run(
        [sys.executable, "-c", f"{code}\nimport sys; print('MODULES', *sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
    )
    return set(run.stdout.rpartition("MODULES")[2].split())


HEAVY = {"cvxpy", "torch", "matplotlib", "joblib", "dask", "scipy", "numpy"}


@pytest.mark.parametrize(
    "code",
    [
        "import geomsolve",
        "import geomsolve; dir(geomsolve); geomsolve.__version__",
        "import sys; sys.argv = ['geomsolve', '--help']\n"
        "from geomsolve.cli.main import cli; cli.main(['--help'], standalone_mode=False)",
        "from geomsolve.cli.main import cli; cli.main(['--version'], standalone_mode=False)",
    ],
    ids=["import", "dir", "help", "version"],
)
def test_looking_around_loads_nothing_heavy(code):
    assert not loaded_after(code) & HEAVY


@pytest.mark.parametrize(
    "code",
    [
        "from geomsolve import Imbalance, solve",
        "from geomsolve.cli.main import cli; cli.main(['imbalance', '--help'], standalone_mode=False)",
        "from geomsolve.cli.main import cli; cli.main(['list', 'losses'], standalone_mode=False)",
    ],
    ids=["names", "imbalance-help", "list"],
)
@pytest.mark.slow
def test_asking_how_loads_no_solver(code):
    assert not loaded_after(code) & (HEAVY - {"scipy", "numpy"})


def test_the_manifold_needs_no_cvxpy():
    code = (
        "from geomsolve import Imbalance, solve\n"
        "assert solve(Imbalance(props=[.7, .2, .1], solver='manifold')).certified"
    )
    assert "cvxpy" not in loaded_after(code)


def test_everything_public_can_be_reached():
    for name in geomsolve.__all__:
        assert getattr(geomsolve, name) is not None
    assert set(geomsolve.__all__) <= set(dir(geomsolve))
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = geomsolve.nonsense


def test_every_question_and_every_report_is_public():
    from geomsolve.questions.kinds import kinds

    for kind, question in kinds().items():
        assert getattr(geomsolve, question.__name__) is question
        answers = vars(importlib.import_module(f"geomsolve.analyses.{kind}")).values()
        reports = {thing for thing in answers if isinstance(thing, type) and issubclass(thing, geomsolve.Report)}
        answering = {report for report in reports if report.__module__.startswith("geomsolve.analyses")}
        assert answering, kind
        for report in answering:
            assert getattr(geomsolve, report.__name__) is report
            assert report.__name__ in geomsolve.__all__
        assert question.__name__ in geomsolve.__all__


EXTRAS = {"torch", "pytorch_metric_learning", "distributed", "matplotlib", "pyarrow", "pytorch_lightning"}


def public_objects():
    """Every public module, class and function of what can be imported here; extras that are not installed miss out."""
    for info in pkgutil.walk_packages(geomsolve.__path__, "geomsolve."):
        if info.name == "geomsolve.__main__":
            continue
        try:
            module = importlib.import_module(info.name)
        except ModuleNotFoundError as error:
            assert error.name in EXTRAS, f"{info.name} needs {error.name}, which is no extra"  # noqa: PT017
            continue
        yield info.name, module
        for name, thing in vars(module).items():
            ours = getattr(thing, "__module__", None) == info.name and getattr(thing, "__qualname__", "") == name
            if not name.startswith("_") and ours and (inspect.isclass(thing) or inspect.isfunction(thing)):
                yield f"{info.name}.{name}", thing


def test_everything_public_says_what_it_is():
    assert [name for name, thing in public_objects() if not inspect.getdoc(thing)] == []
