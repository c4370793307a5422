"""The proof for pairs of two halves: no x_i, y_i do better than cosines a within pairs and c across them.

Points x_1, ..., x_n and y_1, ..., y_n, C_ij = <x_i, y_j>.  C belongs to unit vectors iff [[A, C], [C', B]] is psd for
some A, B with unit diagonal.  With D = dF/dC, alpha_i = -sum_j D_ij C_ij and beta_j = -sum_i D_ij C_ij,

    S = [[diag alpha, D], [D', diag beta]],    F(C') >= F(C) + n min(0, lambda_min(S))

for every feasible C' (a convex F, and <S, G'> >= lambda_min(S) times the trace, 2n, of which F's slope counts half).
Where C is a on the diagonal and c beside it, D has the eigenvalues u = D_11 + (n - 1) D_12 and, n - 1 times,
v = D_11 - D_12, alpha = beta = -(D_11 a + (n - 1) D_12 c), and lambda_min(S) = alpha - max(|u|, |v|).
By the same symmetry such a C is feasible iff |a + (n - 1) c| + (n - 1) |a - c| <= n.

Symbols: a ``on``, c ``off``, n ``n_pairs``, D_11 ``within``, D_12 ``across``.
"""

from __future__ import annotations

from geomsolve.objectives.two_towers import TwoTowers
from geomsolve.proof.certificate import TOLERANCE, Certificate


def certify_pairs(objective: TwoTowers, on: float, off: float, *, tolerance: float = TOLERANCE) -> Certificate:
    """The certificate of cosines ``on`` within pairs and ``off`` across, shrunk first where no points have them."""
    n = objective.n_pairs
    size = (abs(on + (n - 1) * off) + (n - 1) * abs(on - off)) / n
    on, off = on / max(1.0, size), off / max(1.0, size)
    value, by_on, by_off = objective.evaluate(on, off)
    within, across = by_on / n, by_off / (n * (n - 1))
    alpha = -(within * on + (n - 1) * across * off)
    lowest = alpha - max(abs(within + (n - 1) * across), abs(within - across))
    return Certificate.of(value, n * max(0.0, -lowest), lowest, tolerance)
