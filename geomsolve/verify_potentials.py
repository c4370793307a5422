"""Checks what potentials and non-negative features add to ``verify_losses.py``, with ``verify.py`` alone.

A potential psi, an expression in the cosine x, is convex on [-1, 1] where psi'' is at least 0 on each cell of it:

    psi(c + e) = psi + psi' e + psi'' e^2 / 2 + O(e^3)      in series of balls, c a point or a cell, halved at need

Features without negative coordinates have cosines of at least 0.  Where no slope D at the frame, G = 1, is below 0,
that is optimal among them, and the only optimum where all are above or F is strictly convex:

    F(G) >= F(1) + sum_ab D_ab G_ab >= F(1)
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from geomsolve import verify
from geomsolve.verify import Classes, Outcome, _ball, _entry, _need, _number, _numbers, below

LONGEST, DEEPEST, MOST_CELLS = 500, 40, 4000
"""Characters of an expression, operations within each other, and cells that are looked at."""

OPERATIONS = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.Pow: "**"}


def _softplus(u: Any) -> Any:
    """log(1 + exp(u)), where u is large as u + log(1 + exp(-u)), of which a whole cell is enclosed well."""
    return u + (1 + (-u).exp()).log() if u[0].mid() > 0 else (1 + u.exp()).log()


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "exp": lambda u: u.exp(),
    "expm1": lambda u: u.exp() - 1,
    "exp2": lambda u: (u * _ball(2).log()).exp(),
    "log": lambda u: u.log(),
    "log1p": lambda u: (1 + u).log(),
    "log2": lambda u: u.log() / _ball(2).log(),
    "log10": lambda u: u.log() / _ball(10).log(),
    "sqrt": lambda u: u.sqrt(),
    "square": lambda u: u * u,
    "sin": lambda u: u.sin(),
    "cos": lambda u: u.cos(),
    "sinh": lambda u: (u.exp() - (-u).exp()) / 2,
    "cosh": lambda u: (u.exp() + (-u).exp()) / 2,
    "tanh": lambda u: 1 - 2 / ((2 * u).exp() + 1),
    "arctan": lambda u: u.atan(),
    "logaddexp": lambda u, v: u + _softplus(v - u),
}


class Potential:
    """psi as ``text`` states it; a proof is only of one that is shown to be convex.

    ``strict``: whether psi'' is above 0 on all of [-1, 1].
    """

    def __init__(self, text: str) -> None:
        _need(len(text) <= LONGEST, f"psi: longer than {LONGEST} characters")
        self.text = text.strip()
        try:
            self.tree = ast.parse(self.text, mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            _need(False, f"psi: {text!r:.60} is no expression")
        self.strict, cells, looked = True, [(Fraction(-1), Fraction(1))], 0
        while cells:
            low, high = cells.pop()
            bend = self.at(verify.flint.arb(_ball((low + high) / 2), _ball((high - low) / 2)))[2]
            looked += 1
            if not bend >= 0:
                shown = looked < MOST_CELLS and not bend < 0
                _need(shown, f"psi: {text!r:.60} is not shown to be convex on [-1, 1], near {float(low):.6g}")
                cells += [(low, (low + high) / 2), ((low + high) / 2, high)]
            self.strict &= bool(bend > 0) or not bend >= 0

    def at(self, c: Any) -> tuple[Any, Any, Any]:
        """psi, psi' and psi'' at a ball."""
        before, verify.flint.ctx.cap = verify.flint.ctx.cap, 3
        try:
            series = self.made(self.tree, verify.flint.arb_series([c, 1]), 0)
            return series[0], series[1], 2 * series[2]
        finally:
            verify.flint.ctx.cap = before

    def made(self, node: ast.AST, x: Any, depth: int) -> Any:
        """What a node of the expression is at the series ``x``."""
        _need(depth <= DEEPEST, f"psi: more than {DEEPEST} operations within each other")
        given = getattr(node, "value", None)
        if isinstance(node, ast.Constant) and type(given) in (int, float):
            return verify.flint.arb_series([_ball(_number(ast.get_source_segment(self.text, node), "psi"))])
        if isinstance(node, ast.Name) and node.id in ("x", "pi", "e"):
            arb, series = verify.flint.arb, verify.flint.arb_series
            return x if node.id == "x" else series([arb.pi() if node.id == "pi" else arb(1).exp()])
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.UAdd, ast.USub)):
            inner = self.made(node.operand, x, depth + 1)
            return -inner if isinstance(node.op, ast.USub) else inner
        if isinstance(node, ast.BinOp) and type(node.op) in OPERATIONS:
            return self.combined(OPERATIONS[type(node.op)], node, x, depth)
        name, args = called(node), getattr(node, "args", [])
        _need(name in FUNCTIONS, "psi: of calls only those of known functions can stand in it, and no other syntax")
        _need(len(args) == 1 + (name == "logaddexp"), f"psi: {name} takes another number of arguments")
        inside = self.exponent(args[0], plus_one=name == "log") if name in ("log", "log1p") else None
        if inside is not None:
            return _softplus(self.made(inside, x, depth + 2))
        return FUNCTIONS[name](*(self.made(part, x, depth + 1) for part in args))

    def combined(self, sign: str, node: ast.BinOp, x: Any, depth: int) -> Any:
        """A sum, product, quotient or power."""
        u, v = self.made(node.left, x, depth + 1), self.made(node.right, x, depth + 1)
        if sign != "**":
            return u + v if sign == "+" else u - v if sign == "-" else u * v if sign == "*" else u / v
        whole = isinstance(node.right, ast.Constant) and node.right.value in range(65)
        if not whole:
            return (v * u.log()).exp()
        power = verify.flint.arb_series([_ball(1)])
        for _ in range(int(node.right.value)):  # type: ignore[attr-defined]
            power *= u
        return power

    def exponent(self, node: ast.AST, *, plus_one: bool) -> ast.AST | None:
        """u, where a node is exp(u), or with ``plus_one`` 1 + exp(u)."""
        if plus_one:
            parts = (node.left, node.right) if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add) else ()
            rest = [part for part in parts if not (isinstance(part, ast.Constant) and part.value == 1)]
            return self.exponent(rest[0], plus_one=False) if len(parts) == 2 and len(rest) == 1 else None
        return node.args[0] if called(node) == "exp" and len(getattr(node, "args", [])) == 1 else None  # type: ignore[attr-defined]


def called(node: ast.AST) -> str:
    """The name of a function that a node calls, bare or of numpy or math; empty for anything else."""
    func = node.func if isinstance(node, ast.Call) and not node.keywords else None
    if (
        isinstance(func, ast.Attribute)
        and isinstance(func.value, ast.Name)
        and func.value.id in ("np", "numpy", "math")
    ):
        return func.attr
    return func.id if isinstance(func, ast.Name) else ""


def frame(data: Any, claim: str, text: str = "0", made: type[Classes] = Classes) -> Outcome:
    """A claim about the least loss of features without negative coordinates."""
    q = made(_entry(data, "question", dict, made.asks))
    given = {"shares": [], **_entry(data, "dual", dict)}
    shares = [_numbers({"shares": row}, "shares", len(q.p)) for row in _entry(given, "shares", list)]
    fits = {*given} == {"shares"} and all(0 <= x <= 1 for row in shares for x in row)
    _need(fits and len(shares) == len(q.p) * (q.name == "triplet"), "shares: wanted those of hinges, in [0, 1]")
    value, floor, D, _ = verify.dual(q, [[_ball(0) for _ in q.m] for _ in q.m], shares)
    if claim == "value":
        holds = below((value, _ball(_number(text, claim))))
        return f"the frame has a loss of at most {text}", holds, f"loss {value.str(20)}"
    slopes = [D[g][h] for g in q.m for h in q.m if q.others[g][h]]
    least = f"the least slope is {min(slopes, key=lambda x: float(x.mid())).str(3)}"
    if claim == "unique":
        _need(not shares, "unique: not of a loss with kinks")
        alone = repel(slopes, strict=not q.strictly_convex())
        return "the frame is the only optimum without negative coordinates", alone, least
    parts = [repel(slopes), below((_ball(_number(text, claim)), floor))]
    holds = False if False in parts else None if None in parts else True
    return f"no embedding without negative coordinates has a loss below {text}", holds, f"{least}, loss {floor.str(20)}"


def repel(slopes: list[Any], *, strict: bool = False) -> bool | None:
    """Whether no slope is below 0, or with ``strict`` all are above."""
    if all(x > 0 or (not strict and x >= 0) for x in slopes):
        return True
    return False if any(x < 0 or (strict and x <= 0) for x in slopes) else None


FRAME = {"value": "at_most", "bound": "at_least", "unique": ""}
