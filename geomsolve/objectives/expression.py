"""Expressions in one variable x, as a user writes them: read without ever being run as code.

    sums, products, quotients and powers of numbers, x, pi, e and FUNCTIONS, with their names in numpy; np.exp is exp

Python's own parser gives the tree; every node of it that is not on the list is refused with its place.  What is left is
a :class:`Node`, which :meth:`Node.walk` evaluates in any arithmetic: floating-point numbers, derivatives, enclosures
(``potential.py``) or tensors.  log(1 + exp(u)) and logaddexp become ``softplus``, which neither overflows nor cancels.
"""

from __future__ import annotations

import ast
import math
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

LONGEST = 500
"""Characters of an expression."""

MOST_NODES = 200
DEEPEST = 40
"""Operations of an expression, altogether and within each other."""

CONSTANTS = {"pi": math.pi, "e": math.e}

FUNCTIONS = (
    *("exp", "expm1", "exp2", "log", "log1p", "log2", "log10", "sqrt", "square"),
    *("sin", "cos", "sinh", "cosh", "tanh", "arctan", "logaddexp"),
)
"""What may be called, by its name in numpy; all are smooth where they are finite."""

KINKS = ("abs", "absolute", "fabs", "maximum", "minimum", "max", "min", "where", "sign", "clip", "heaviside")
"""What people write that has a kink or a jump."""

NAMESPACES = ("np", "numpy", "math")

OPERATIONS: dict[type[ast.operator], str] = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.Pow: "**"}


@dataclass(frozen=True)
class Node:
    """``kind``: 'x', a 'number' with its ``value``, a 'power' with that as its exponent, an operation (+ - * /), or a
    function; of ``parts``."""

    kind: str
    parts: tuple[Node, ...] = ()
    value: float = 0.0

    def walk(self, x: Any, number: Callable[[float], Any], table: Mapping[str, Callable[..., Any]]) -> Any:
        """Its value at ``x``, where ``number`` makes a constant and ``table`` has what each operation does."""
        if self.kind == "x":
            return x
        if self.kind == "number":
            return number(self.value)
        if self.kind == "power":
            return table["power"](self.parts[0].walk(x, number, table), self.value)
        return table[self.kind](*(part.walk(x, number, table) for part in self.parts))


def constant(value: float) -> Node:
    """A number."""
    return Node("number", value=value)


def read_expression(text: str) -> Node:
    """The expression that ``text`` states; ValueError saying what is wrong with it, and where."""
    text = text.strip()
    if not text:
        raise ValueError("the expression is empty; write one in x, as in log1p(exp(5*(x-0.3)))")
    if len(text) > LONGEST:
        raise ValueError(f"the expression has {len(text):,} characters, more than {LONGEST}")
    if "^" in text:
        raise ValueError("^ is no power here; write x**2")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of what looks wrong to Python: what does not belong is refused below
            tree = ast.parse(text, mode="eval")
    except SyntaxError as error:
        place = f" at character {error.offset}" if error.offset else ""
        raise ValueError(f"{text!r} is no expression: {error.msg}{place}") from None
    except (ValueError, RecursionError, MemoryError):
        raise ValueError(f"{text[:40]!r} is no expression that can be read") from None
    if sum(1 for _ in ast.walk(tree)) > 4 * MOST_NODES:
        raise ValueError(f"the expression has too many parts; at most about {MOST_NODES} operations are read")
    return _node(tree.body, 0)


def _refuse(node: ast.expr, why: str) -> ValueError:
    return ValueError(f"{why} (character {node.col_offset + 1})")


def _node(node: ast.expr, depth: int) -> Node:
    if depth > DEEPEST:
        raise _refuse(node, f"more than {DEEPEST} operations stand within each other")
    match node:
        case ast.Constant(value=value) if isinstance(value, (int, float)) and not isinstance(value, bool):
            return constant(_float(node, value))
        case ast.Name(id="x"):
            return Node("x")
        case ast.Name(id=name) if name in CONSTANTS:
            return constant(CONSTANTS[name])
        case ast.Name(id=name):
            raise _refuse(node, f"unknown name {name!r}; the only variable is x, the cosine, beside pi and e")
        case ast.UnaryOp(op=ast.UAdd(), operand=operand):
            return _node(operand, depth + 1)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            inner = _node(operand, depth + 1)
            return constant(-inner.value) if inner.kind == "number" else Node("-", (constant(0.0), inner))
        case ast.BinOp(left=left, op=op, right=right) if type(op) in OPERATIONS:
            return _operation(OPERATIONS[type(op)], _node(left, depth + 1), _node(right, depth + 1))
        case ast.Call(func=func, args=args, keywords=[]):
            return _call(node, _function(func), args, depth)
    raise _refuse(node, f"{ast.unparse(node)[:40]!r} cannot stand in such an expression")


def _float(node: ast.expr, value: float) -> float:
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise _refuse(node, "this number is too large")
    return number


def _function(func: ast.expr) -> str:
    match func:
        case ast.Name(id=name):
            pass
        case ast.Attribute(value=ast.Name(id=space), attr=name) if space in NAMESPACES:
            pass
        case _:
            raise _refuse(func, f"{ast.unparse(func)[:40]!r} is no function that is known")
    if name in KINKS:
        raise _refuse(
            func, f"{name} has a kink, and derivatives are needed; logaddexp(a, b) is a smooth maximum of a and b"
        )
    if name not in FUNCTIONS:
        raise _refuse(func, f"unknown function {name!r}; known: {', '.join(FUNCTIONS)}")
    return name


def _call(node: ast.expr, name: str, args: list[ast.expr], depth: int) -> Node:
    wanted = 2 if name == "logaddexp" else 1
    if len(args) != wanted or any(isinstance(arg, ast.Starred) for arg in args):
        raise _refuse(node, f"{name} takes {'two arguments' if wanted == 2 else 'one argument'}")
    parts = tuple(_node(arg, depth + 1) for arg in args)
    if name == "logaddexp":  # log(e^a + e^b) = a + log(1 + e^(b - a))
        first, second = parts
        return _operation("+", first, Node("softplus", (_operation("-", second, first),)))
    if name in ("square", "sqrt"):
        return Node("power", parts, 2.0 if name == "square" else 0.5)
    if name == "exp2":
        return Node("exp", (_operation("*", parts[0], constant(math.log(2))),))
    if name in ("log2", "log10"):
        return _operation("/", Node("log", parts), constant(math.log(float(name.removeprefix("log")))))
    if name == "log1p" and parts[0].kind == "exp":
        return Node("softplus", parts[0].parts)
    if name == "log" and parts[0].kind == "+":
        one, other = sorted(parts[0].parts, key=lambda part: part.kind != "number")
        if one == constant(1.0) and other.kind == "exp":
            return Node("softplus", other.parts)
    return Node(name, parts)


def _operation(kind: str, left: Node, right: Node) -> Node:
    zero = constant(0.0)
    if kind == "+" and zero in (left, right):
        return right if left == zero else left
    if kind == "-" and right == zero:
        return left
    if kind != "**":
        return Node(kind, (left, right))
    exponent = _number(right)
    if exponent is not None:
        return Node("power", (left,), exponent)
    return Node("exp", (_operation("*", right, Node("log", (left,))),))


def _number(node: Node) -> float | None:
    """The value of an exponent without x in it: a number, or a quotient of two; None where there is an x."""
    if node.kind == "number":
        return node.value
    if node.kind == "/" and all(part.kind == "number" for part in node.parts) and node.parts[1].value:
        return node.parts[0].value / node.parts[1].value
    return None
