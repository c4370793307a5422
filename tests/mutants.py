"""Are the tests of what proves any good?  Each mutant is a small change of the mathematics; a test must notice it.

    python tests/mutants.py --sample 300 --seed 1        all of proof/, gram/ and objectives/, so many at random
    python tests/mutants.py geomsolve/proof/ranges.py    every mutant of a module

A mutant swaps a sign, a comparison, an ``and``, a ``min``, or changes a number.  It runs against the quick tests of the
files that import its module (those of the room where none does) and of those in ``THROUGH``, in a process of its own
that reads the changed source in place of the file.  Survivors that change nothing that can be told are listed, with the
reason, in ``mutants.txt``.
"""

from __future__ import annotations

import argparse
import ast
import importlib.machinery
import os
import random
import resource
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
ROOMS = ("proof", "gram", "objectives")
EXPLAINED = Path(__file__).with_suffix(".txt")
DEFINITIONS = [str(ROOT / "tests" / "test_losses.py")]
"""Where objectives are held against the definitions of the losses."""
THROUGH = {
    "angular": "arcface two_sides",
    "cross": "crossmodal two_sides",
    "distances": "metric_losses distances",
    "edm": "edm points realizable",
    "expectation": "negatives",
    "families": "capacity bounds",
    "finite_draws": "finite_draws forms",
    "hardness": "experiments batch_losses",
    "levels": "levels find_levels",
    "logit": "weince",
    "measure": "compare compare_verdicts scan",
    "modality_gap": "modality_gap",
    "nonnegative": "nonnegative",
    "orbits": "orbits certificate",
    "own_rows": "crossmodal two_sides",
    "packing": "capacity bounds",
    "paired": "two_sides modality_gap",
    "paired_states": "threshold_sides two_sides",
    "paired_uniqueness": "two_sides uniqueness",
    "places": "find_levels",
    "potential": "pairwise",
    "ranked": "realizable realizable_command structures",
    "rebalanced": "rebalanced",
    "structure": "structure compare dimension_limit",
    "targets": "losses experiments",
    "tied": "crossmodal threshold_sides",
    "uniqueness": "uniqueness two_sides",
}
"""Modules that are tested through what uses them, with the names of those test files."""

SECONDS = 120
"""Processor time after which a mutant that loops has been noticed."""

PAIRS = (
    *((ast.Add, ast.Sub), (ast.Mult, ast.Div), (ast.And, ast.Or)),
    *((ast.Lt, ast.GtE), (ast.LtE, ast.Gt), (ast.Eq, ast.NotEq)),
)
SWAPPED = {one: other for pair in PAIRS for one, other in (pair, pair[::-1])}
NAMES = {"max": "min", "min": "max", "maximum": "minimum", "minimum": "maximum", "all": "any", "any": "all"}


def change(node: ast.AST):
    """How to change a node, as a function that does so in place; None where it stays as it is."""
    if isinstance(node, (ast.BinOp, ast.BoolOp)) and type(node.op) in SWAPPED:
        if not any(isinstance(x, (ast.JoinedStr, ast.Constant)) and not number(x) for x in ast.iter_child_nodes(node)):
            return lambda n: setattr(n, "op", SWAPPED[type(n.op)]())
    elif isinstance(node, ast.Compare) and type(node.ops[0]) in SWAPPED:
        return lambda n: n.ops.__setitem__(0, SWAPPED[type(n.ops[0])]())
    elif isinstance(node, ast.Attribute) and node.attr in NAMES:
        return lambda n: setattr(n, "attr", NAMES[n.attr])
    elif isinstance(node, ast.Name) and node.id in NAMES and isinstance(node.ctx, ast.Load):
        return lambda n: setattr(n, "id", NAMES[n.id])
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return lambda n: setattr(n, "op", ast.UAdd())
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return lambda n: setattr(n, "operand", ast.UnaryOp(ast.Not(), n.operand))
    elif number(node):
        return lambda n: setattr(n, "value", n.value + 1 if isinstance(n.value, int) else n.value * 3 + 0.5)
    return None


def number(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) in (int, float)


def places(path: Path) -> list[int]:
    """The nodes of a module that can be changed, by their number in a walk."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    types = [n.annotation for n in ast.walk(tree) if isinstance(n, (ast.AnnAssign, ast.arg)) and n.annotation]
    left_out = {id(inner) for annotation in types for inner in ast.walk(annotation)}
    return [i for i, n in enumerate(ast.walk(tree)) if id(n) not in left_out and change(n)]


def mutant(path: Path, place: int) -> tuple[int, str, str, str]:
    """The number of the line that changes, the line before and after, and the whole source."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    plain = ast.unparse(tree).splitlines()
    node = next(n for i, n in enumerate(ast.walk(tree)) if i == place)
    line = node.lineno
    change(node)(node)
    source = ast.unparse(ast.fix_missing_locations(tree))
    before, after = next((a, b) for a, b in zip(plain, source.splitlines(), strict=False) if a != b)
    return line, before.strip(), after.strip(), source


def tests_of(path: Path) -> list[str]:
    """The test files that import a module, else those that import from its room."""
    module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
    files = {test: test.read_text(encoding="utf-8") for test in sorted((ROOT / "tests").glob("test_*.py"))}
    for wanted in (f"{module} import", f"{module.rsplit('.', 1)[0]}."):
        chosen = [str(test) for test, text in files.items() if f"from {wanted}" in text]
        if chosen:
            break
    chosen += [str(ROOT / "tests" / f"test_{name}.py") for name in THROUGH.get(path.stem, "").split()]
    return sorted({*chosen, *DEFINITIONS} if "objectives" in path.parts else {*chosen})


class Changed(importlib.machinery.SourceFileLoader):
    """Reads a module's source from memory."""

    def __init__(self, name: str, path: str, source: str) -> None:
        super().__init__(name, path)
        self.changed = source

    def get_code(self, fullname: str):
        return compile(self.changed, self.path, "exec")


def noticed(path: Path, source: str, tests: list[str]) -> bool:
    """Whether the tests fail on a mutant; in a process of its own, which loads the package anew."""
    child = os.fork()
    if not child:
        import pytest

        resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 1)
        os.dup2(null, 2)
        name = ".".join(path.relative_to(ROOT).with_suffix("").parts)

        class Finder:
            @staticmethod
            def find_spec(fullname, where=None, target=None):
                loader = Changed(name, str(path), source) if fullname == name else None
                return loader and importlib.machinery.ModuleSpec(name, loader, origin=str(path))

        sys.meta_path.insert(0, Finder())
        os._exit(pytest.main([*tests, "-q", "-x", "-n", "0", "-m", "not slow and not nightly", "--rootdir", str(ROOT)]))
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) != 0


def run(chosen: list[Path], sample: int | None, seed: int) -> tuple[int, list[str]]:
    """How many mutants ran, and the survivors that are not explained."""
    import cvxpy  # noqa: F401  (loaded once, before the processes are split off)
    import pytest  # noqa: F401
    import scipy.optimize  # noqa: F401

    every = [(path, place) for path in chosen for place in places(path)]
    random.Random(seed).shuffle(every)
    explained = EXPLAINED.read_text(encoding="utf-8").split("\n")
    survivors, some = [], every[:sample]
    for path in dict.fromkeys(path for path, _ in some):
        if noticed(path, path.read_text(encoding="utf-8"), tests_of(path)):
            raise SystemExit(f"the tests of {path} fail without any change")
    for path, place in some:
        line, before, after, source = mutant(path, place)
        said = f"{path.relative_to(ROOT)} | {before} | {after}"
        if not any(row.startswith(said) for row in explained) and not noticed(path, source, tests_of(path)):
            survivors.append(f"{path.relative_to(ROOT)}:{line}: {before}  ->  {after}")
            print(survivors[-1], flush=True)
    return len(some), survivors


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("modules", nargs="*", type=lambda text: Path(text).resolve())
    parser.add_argument("--sample", type=int)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    everything = [path for room in ROOMS for path in sorted((ROOT / "geomsolve" / room).glob("[!_]*.py"))]
    ran, left = run(asked.modules or everything, asked.sample, asked.seed)
    print(f"{ran:,} mutants, {len(left):,} not noticed")
    sys.exit(bool(left))
