"""Hard negatives (Robinson et al. 2021): drawn with density proportional to r(c|a) e^{beta G_ac}, many of them.

    F_beta = sum_a p_a log( E e^{(1/tau + beta) G} / E e^{beta G} ) - 1/tau      (E over c from r(.|a); t = 0 at G = 1)

a difference of two convex functions, hence not convex.  But e^{beta G} and e^{G/tau} rise together, so by Chebyshev's
sum inequality E e^{(1/tau + beta) G} >= E e^{G/tau} E e^{beta G}: F_beta >= F_0 everywhere, and the certified optimum
of the plain loss F_0 bounds that of F_beta from below.

Symbols: E e^{(1/tau + beta) G} ``sharp``, E e^{beta G} ``weight``, F_0 ``below``.
"""

from __future__ import annotations

from geomsolve.gram.orbits import Orbits
from geomsolve.gram.types import FloatArray
from geomsolve.objectives.base import Curvature, Minorant, Objective
from geomsolve.objectives.logsum import LogSum


class HardNegatives(Objective):
    """See the module.  ``chance`` (m, m) and ``own`` (m,) as in ``losses/infonce.py``."""

    def __init__(self, orbits: Orbits, chance: FloatArray, own: FloatArray, temperature: float, beta: float) -> None:
        def log_sum(scale: float) -> LogSum:
            return LogSum(chance, own, orbits.sizes * orbits.proportions, scale, unique_minimiser=False)

        self.sharp, self.weight = log_sum(1 / temperature + beta), log_sum(beta)
        self.below: Objective = log_sum(1 / temperature)

    def evaluate(self, cosines: FloatArray) -> tuple[float, FloatArray]:
        value, gradient = self.sharp.evaluate(cosines)
        less, slope = self.weight.evaluate(cosines)
        return value - less, gradient - slope

    def minorant(self, cosines: FloatArray, slopes: FloatArray | None = None) -> Minorant:
        """That of F_0: a tangent of F_beta itself need not lie below it."""
        return self.below.minorant(cosines, slopes)

    def curvature(self, cosines: FloatArray) -> Curvature:
        sharp, weight = self.sharp.curvature(cosines), self.weight.curvature(cosines)
        return lambda change: sharp(change) - weight(change)
