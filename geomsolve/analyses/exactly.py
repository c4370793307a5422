"""What is decided in fractions, or in more digits than doubles have: directions and thresholds for proofs.

A threshold is where collapse, G = v v', begins to be optimal: its dual matrix S is definite on a complement of v on one
side and not on the other, which ``verify.py`` tells at any fraction.  Whole multiples of 10^-digits are bisected.

Symbols: A ``matrix``, S in the blocks of ``verify.positive``.
"""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

from geomsolve import verify
from geomsolve.analyses.elimination import eliminate
from geomsolve.errors import InputError
from geomsolve.verify_losses import Batches

SPARE = 20
"""Digits of a direction beyond those of the threshold."""


def enclose(question: dict[str, Any], low: Decimal, high: Decimal, *, above: bool, digits: int) -> tuple[Any, Any]:
    """The ends, as decimals, of an interval of width 10^-digits within [low, high]; a direction in which S is negative
    at the end where classes do not collapse.  ``above``: they do at ``high``, not at ``low``.

    Raises :class:`InputError` without python-flint, or where the threshold is not between the two.
    """
    if verify.flint is None:
        raise InputError(
            "more than 12 digits need python-flint: pip install 'geomsolve[proof]'; or leave this out", field="digits"
        )
    verify.flint.ctx.prec = 4 * digits + 128
    unit = 10**digits

    def collapsed(x: int) -> bool:
        q, signs = verify.along(question, Fraction(x, unit), Batches)
        found = verify.positive(q, *verify.collapsed(q, signs), 0)
        if found is None:
            raise InputError("a threshold cannot be told apart in so many digits; ask for fewer", field="digits")
        return found

    a, b = int(Fraction(low) * unit), int(Fraction(high) * unit)
    if collapsed(a) == above or collapsed(b) != above:
        raise InputError("the threshold was not found precisely enough; ask for fewer digits", field="digits")
    while b - a > 1:
        middle = (a + b) // 2
        a, b = (a, middle) if collapsed(middle) == above else (middle, b)
    ends = tuple(decimal(Fraction(x, unit), digits) for x in (a, b))
    return ends, downhill(question, Fraction(a if above else b, unit), digits + SPARE)


def downhill(question: dict[str, Any], x: Fraction, digits: int) -> Any:
    """One number an orbit with a negative form, ``digits`` of them, or the orbit within which S is negative."""
    q, signs = verify.along(question, x, Batches)
    D, mu = verify.collapsed(q, signs)
    for g in q.m:
        if q.sizes[g] > 1 and mu[g] < D[g][g]:
            return {"within": g}
    n = q.sizes
    block = [
        [n[g] * (mu[g] + (n[g] - 1) * D[g][g]) if g == h else n[g] * n[h] * D[g][h] for h in q.m[1:]] for g in q.m[1:]
    ]
    found = eliminate([[middle(entry) for entry in row] for row in block])[1]
    assert found is not None
    most = max(map(abs, found))
    return ["0", *(decimal(Fraction(round(y / most * 10**digits), 10**digits), digits) for y in found)]


def middle(ball: Any) -> Fraction:
    """The middle of a ball as a fraction."""
    mantissa, exponent = ball.mid().man_exp()
    return Fraction(int(mantissa)) * Fraction(2) ** int(exponent)


def decimal(x: Fraction, digits: int) -> str:
    """A multiple of 10^-digits as a decimal."""
    whole = int(x * 10**digits)
    text = f"{abs(whole):0{digits + 1}d}"
    return f"{'-' if whole < 0 else ''}{text[:-digits]}.{text[-digits:]}"
