"""Pairwise loss with a potential of your own: F = sum_a p_a sum_{b != a} r(b|a) psi(G_ab).

    --psi "log1p(exp(5*(x-0.3)))"      sigmoid with scale 5 and bias 1.5
    --psi "x**2" --sampling iid        spectral, less sum_a p_a^2
    --psi "log1p(exp((x-1)/0.1))"      InfoNCE with one negative

r(b|a) = p_b / (1 - p_a) (supervised: the negative is from another class) or p_b (iid), as for the other pairwise losses
(``objectives/pairs.py``).  psi is an expression in the cosine x of two class means (``objectives/expression.py``), to
be finite and convex on [-1, 1]; convexity is proven in interval arithmetic where that decides it, and else said to be
checked only (``objectives/potential.py``).  By convexity classes collapse onto their means: the mean of psi(z_i.z_j)
over samples of two classes is no less than psi of their means' product.  What positive pairs add is taken to be least,
and left out, where they coincide.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from geomsolve.errors import InputError
from geomsolve.gram.orbits import Orbits
from geomsolve.losses.base import ONE_ENCODER, Loss, register
from geomsolve.losses.parameters import PSI, SAMPLING
from geomsolve.objectives.base import Objective
from geomsolve.objectives.pairs import pair_mass
from geomsolve.objectives.potential import PairPotential, Potential, potential
from geomsolve.registry import parameter


@register
@dataclass(frozen=True)
class Pairwise(Loss):
    """A sum over pairs of classes of a potential of the user's; see the module."""

    name: ClassVar[str] = "pairwise"
    summary: ClassVar[str] = "a convex potential of your own, --psi, of the cosine of anchor and negative"
    source: ClassVar[str] = "the expression given, which has to be convex"

    psi: str | None = parameter(PSI, None)
    sampling: str = parameter(SAMPLING, "supervised")

    def __post_init__(self) -> None:
        if self.psi is not None:
            self.potential  # noqa: B018 - read, and refused, at once

    @property
    def potential(self) -> Potential:
        """psi, read; :class:`InputError` where there is none or it is none."""
        if self.psi is None:
            raise InputError(
                'it has no potential of its own; give one in the cosine x, as in --psi "log1p(exp(5*(x-0.3)))"',
                field="loss.psi",
            )
        try:
            return potential(self.psi)
        except ValueError as error:
            raise InputError(str(error), field="loss.psi") from None

    @property
    def reads_whole_set(self) -> bool:
        return False

    def objective(self, orbits: Orbits) -> Objective:
        return PairPotential(pair_mass(orbits, self.sampling), self.potential)

    def assumption(self, orbits: Orbits) -> str:
        one = ONE_ENCODER if orbits.n_orbits > 1 and self.sampling == "supervised" else ""
        if self.psi is None or self.potential.proven:
            return one
        convex = f"a psi that is convex, which was checked at {self.potential.points:,} points and not proven"
        return f"{convex}, and {one}" if one else convex

    @property
    def in_proofs(self) -> dict[str, Any] | None:
        return {"psi": self.psi, "sampling": self.sampling} if self.psi is not None and self.potential.proven else None

    def notes(self) -> tuple[str, ...]:
        if self.psi is None or self.potential.least <= -1:
            return ()
        least = self.potential.least
        if least >= 1:
            return ("psi falls on all of [-1, 1]: classes attract each other at every cosine",)
        return (f"psi is least at cosine {least:.4g}: classes farther apart than that attract each other",)
