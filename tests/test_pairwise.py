"""A potential of the user's: read without running it, its derivatives, the proof that it is convex, the loss."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest
from helpers import random_gram
from hypothesis import given, settings
from hypothesis import strategies as st

from geomsolve import Imbalance, InputError, Orbits, make_loss, solve
from geomsolve.objectives.expression import FUNCTIONS, read_expression
from geomsolve.objectives.potential import at_points, on_cells, potential

PROPS = (0.7, 0.2, 0.1)
SOFT = "log1p(exp(5*(x-0.3)))"
CONVEX = [
    SOFT,
    "exp(4*(x-1))",
    "x**2",
    "x",
    "2**x",
    "1/(1.5-x)",
    "-log(2-x)",
    "-sqrt(1.01-x)",
    "(x+2)**1.5",
    "cosh(3*x)",
    "-np.cos(x)",
    "exp(x)-x",
    "logaddexp(x, 3*x)",
    "log(1+exp(200*(x-.5)))",
    "(x-0.3)**4",
    "sin(40*x)+900*x**2",
    "x*arctan(x)",
    "10*x**2 + tanh(x) - sinh(x)/9 + expm1(x/2) + exp2(x) - log2(3+x) - log10(3-x) + square(x)/7 + pi*x",
]


def same_in_numpy(text):
    space = {name: getattr(np, name) for name in FUNCTIONS}
    return lambda x: eval(text, {**space, "np": np, "pi": np.pi, "e": np.e}, {"x": x})


@pytest.mark.parametrize("text", CONVEX)
def test_values_and_derivatives(text):
    """Values as numpy has them; derivatives against differences; convexity proven, as all of these are convex."""
    psi, x = potential(text), np.linspace(-0.95, 0.95, 77)
    value, slope, bend = psi.jet(x)
    np.testing.assert_allclose(value, same_in_numpy(text)(x), rtol=1e-12, atol=1e-13)
    h = 1e-4
    (up, rise, _), (down, fall, _) = psi.jet(x + h), psi.jet(x - h)
    size = np.abs(psi.jet(np.linspace(-1, 1, 99))[2]).max()
    np.testing.assert_allclose(slope, (up - down) / (2 * h), atol=1e-4 * (1 + size))
    np.testing.assert_allclose(bend, (rise - fall) / (2 * h), atol=1e-3 * (1 + size))
    assert psi.proven
    assert psi.strict == (text not in ("x", "(x-0.3)**4"))


PARTS = st.recursive(
    st.sampled_from(["x", "0.3", "2", "1.7", "pi"]),
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["+", "-", "*", "/", "**"]), inner).map(lambda t: f"({t[0]}{t[1]}{t[2]})"),
        st.tuples(st.sampled_from([f for f in FUNCTIONS if f != "logaddexp"]), inner).map(lambda t: f"{t[0]}({t[1]})"),
        inner.map(lambda t: f"(-{t})"),
    ),
    max_leaves=5,
)


@settings(max_examples=60)
@given(PARTS, st.floats(-1, 1), st.floats(0, 0.1))
def test_enclosures_hold_what_they_should(text, low, width):
    """Whatever the expression: at every point of a cell value, slope and bend are within their enclosures."""
    node = read_expression(text)
    high = min(1.0, low + width)
    inside = np.linspace(low, high, 9)
    for numbers, enclosure in zip(
        at_points(node, inside), on_cells(node, np.array([low]), np.array([high])), strict=True
    ):
        known = numbers[np.isfinite(numbers)]
        room = 1e-9 * (1 + np.abs(known)) if known.size else known  # rounding of the numbers, not of the enclosure
        assert np.all(enclosure.low <= known + room)
        assert np.all(known - room <= enclosure.high)


@pytest.mark.parametrize("text", CONVEX)
def test_enclosures_hold_exact_values(text):
    """At single points, where they are narrowest, against many digits, with no room for rounding."""
    mp = pytest.importorskip("mpmath")
    space = {name: getattr(mp, name) for name in ("exp", "expm1", "log", "log1p", "log10", "sqrt", "sin", "cos")}
    space |= {"sinh": mp.sinh, "cosh": mp.cosh, "tanh": mp.tanh, "arctan": mp.atan, "square": lambda v: v**2}
    space |= {"exp2": lambda v: mp.mpf(2) ** v, "log2": lambda v: mp.log(v, 2), "pi": mp.mpf(math.pi)}
    space |= {"logaddexp": lambda a, b: mp.log(mp.exp(a) + mp.exp(b))}
    numbers = re.sub(r"(?<![a-z\d])(\d*\.\d+)", r"number('\1')", text.replace("np.", ""))
    points = np.array([-0.93, -0.21, 0.37, 0.88])
    node = read_expression(text)
    with mp.workdps(300):
        space["number"] = lambda s: mp.mpf(float(s))  # what is meant is the number that Python reads
        for i, enclosure in enumerate(on_cells(node, points, points)):
            for x, low, high in zip(points, enclosure.low, enclosure.high, strict=True):
                exact = mp.diff(lambda v: eval(numbers, dict(space), {"x": v}), mp.mpf(float(x)), i)
                assert mp.mpf(float(low)) <= exact <= mp.mpf(float(high))
                assert high - low <= 1e-10 * (1 + abs(high))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("x**3", "not convex at x = -1: its second derivative is -6"),
        ("cos(x)", "not convex at x = 0"),
        ("x**4-x**2", "not convex at x = 0"),
        ("x**2 - exp(-(20*x-9.99)**2)/50", "not convex at x = 0."),
        ("1/(x-.3)**2", "not finite near x = 0.3"),
        ("1/x", "not finite at x = 0"),
        ("x/0", "not finite at x = -1"),
        ("sqrt(1-x)", "slope is not finite at x = 1"),
        ("exp(1000*x)", "not finite at x = 0.7"),
        ("9**9**9", "not finite"),
        ("3", "constant"),
        ("maximum(x, 0)", "maximum has a kink"),
        ("foo(x)", "unknown function 'foo'"),
        ("y+1", "unknown name 'y'"),
        ("x^2", "write x**2"),
        ("__import__('os').system('ls')", "no function that is known (character 1)"),
        ("x + (1).__class__", "cannot stand in such an expression (character 5)"),
        ("[x for x in (1,)]", "cannot stand"),
        ("x if x else 1", "cannot stand"),
        ("lambda: x", "cannot stand"),
        ("exp(x, out=x)", "cannot stand"),
        ("exp(x, x)", "takes one argument"),
        ("exp", "unknown name 'exp'"),
        ("True", "cannot stand"),
        ("1(x)", "no function"),
        ("'\\d'", "cannot stand"),
        ("x+", "no expression"),
        ("-" * 300 + "x", "within each other"),
        ("x" + "+x" * 249, "too many parts"),
        ("1" * 400, "too large"),
    ],
)
def test_what_is_refused(text, words):
    with pytest.raises(InputError) as raised:
        make_loss("pairwise", {"psi": text})
    assert raised.value.field == "loss.psi"
    assert words in raised.value.message


@pytest.mark.parametrize(
    ("psi", "sampling", "other", "parameters"),
    [
        (SOFT, "supervised", "sigmoid", {"temperature": 0.2, "bias": 1.5}),
        ("logaddexp(0, 2*x - 1)", "iid", "sigmoid", {"temperature": 0.5, "bias": 1.0, "sampling": "iid"}),
        (
            "log1p(exp((x-1)/0.5))",
            "supervised",
            "infonce",
            {"temperature": 0.5, "negatives": 1, "sampling": "supervised"},
        ),
        ("exp(4*(x-1))", "iid", "align-uniform", {}),
        ("x**2", "iid", "spectral", {}),
    ],
)
def test_known_losses_come_out(psi, sampling, other, parameters, rng):
    counts = np.array([6, 3, 3, 2])
    own = sum((n / 14) ** 2 for n in counts)
    adjust = {"align-uniform": lambda f: math.log(f + own), "spectral": lambda f: f + own}.get(other, lambda f: f)
    for orbits in (Orbits.of(counts / 14), Orbits.trivial(counts / 14)):
        mine = make_loss("pairwise", {"psi": psi, "sampling": sampling}).objective(orbits)
        theirs = make_loss(other, parameters).objective(orbits)
        for _ in range(3):
            cosines = orbits.reduce(random_gram(rng, 4))
            assert adjust(mine.value(cosines)) == pytest.approx(theirs.value(cosines), rel=1e-12)
    one, two = (
        solve(Imbalance(counts=counts.tolist(), loss={"name": name, **taken}))
        for name, taken in (("pairwise", {"psi": psi, "sampling": sampling}), (other, parameters))
    )
    assert one.certified
    assert one.unique is True
    assert adjust(one.value) == pytest.approx(two.value, abs=1e-9)
    np.testing.assert_allclose(one.gram, two.gram, atol=1e-6)


def test_attracting_potentials():
    """(x - c)^2 wants all cosines c, -x one point, and x the majority opposite the rest."""
    report = solve(Imbalance(props=PROPS, loss={"name": "pairwise", "psi": "(x-0.2)**2"}))
    assert report.structure.kind == "equiangular"
    assert report.structure.max_cosine == pytest.approx(0.2, abs=1e-6)
    assert report.value == pytest.approx(0, abs=1e-12)
    assert report.certified
    assert solve(Imbalance(props=PROPS, loss={"name": "pairwise", "psi": "-x"})).structure.kind == "total collapse"
    for nonnegative, cosine in ((True, 0.0), (False, -0.2)):
        loss = {"name": "pairwise", "psi": "(x+0.2)**2"}
        held = solve(Imbalance(props=PROPS, nonnegative=nonnegative, loss=loss))
        assert held.certified
        assert held.structure.max_cosine == pytest.approx(cosine, abs=1e-6)


def test_orbits_and_full_size_agree():
    loss = {"name": "pairwise", "psi": "exp(2*x) + x**2"}
    counts = np.array([50, 20, 20, 20, 8, 8, 3])
    report = solve(Imbalance(counts=counts.tolist(), loss=loss))
    single = Orbits.trivial(counts / counts.sum())
    from geomsolve.solvers.choose import solve_objective

    full = solve_objective(make_loss("pairwise", {"psi": loss["psi"]}).objective(single), single)
    assert report.certified
    assert full.certificate.value == pytest.approx(report.value, abs=1e-9)


def test_convexity_that_is_not_decided_is_said(run):
    answer = run("imbalance", "--props", "0.7,0.2,0.1", "--loss", "pairwise", "--psi", "x*x-x**2+x", "--json")
    assert "was checked at" in answer.json["assumption"]
    assert not potential("x*x-x**2+x").proven
    proven = run("imbalance", "--props", "0.7,0.2,0.1", "--loss", "pairwise", "--psi", SOFT, "--json")
    assert "checked" not in proven.json["assumption"]


def test_commands(run, tmp_path):
    asked = ("--props", "0.7,0.2,0.1", "--loss", "pairwise")
    said = run("imbalance", *asked, "--psi", SOFT)
    assert said.code == 0
    assert f"psi {SOFT}" in " ".join(said.stdout.split())
    noted = run("imbalance", *asked, "--psi", "(x-0.2)**2")
    assert "psi is least at cosine 0.2" in noted.stderr
    missing = run("imbalance", *asked)
    assert missing.code == 2
    assert missing.stderr.startswith("Error: --psi: it has no potential")
    dented = run("imbalance", *asked, "--psi", "x**3")
    assert dented.code == 2
    assert dented.stderr.startswith("Error: --psi: psi is not convex at x = -1")
    file = tmp_path / "a.yaml"
    file.write_text('kind: imbalance\nprops: [0.7, 0.2, 0.1]\nloss: {name: pairwise, psi: "x^2"}\n')
    refused = run("validate", file)
    assert refused.code == 2
    assert "a.yaml:3" in refused.stderr
    assert "write x**2" in refused.stderr
