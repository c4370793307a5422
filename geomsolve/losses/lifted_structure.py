"""Lifted structure loss: known by name, convex, but without an objective here.

For a positive pair i, j at distance D_ij = sqrt(2 - 2 c_ij), over the negatives of both,

    J_ij = log( sum_n e^{m - D_in} + sum_n e^{m - D_jn} ) + D_ij,    the mean of max(J_ij, 0)^2 / 2.

- sqrt(2 - 2c) is convex and rises in c, the logarithm of a sum of exponentials of convex functions is convex, and so is
the square of its positive part; D_ij >= 0 is 0 at collapse.  So by Jensen's inequality collapsed classes are best, and
for k negatives an anchor, as many as there are on average of each class,

    F(G) = (1/2) sum_a p_a max( log( 2k sum_b r(b|a) e^{m - D_ab} ), 0 )^2

is convex in G (derived for this project).  Its slope is infinite where two classes meet, for which the solvers here are
not made; and it depends on the number of negatives, which is that of a batch.

Source: Song et al. 2016.
"""

from __future__ import annotations

from geomsolve.losses.base import Unsolved, unsolved

LIFTED_STRUCTURE = unsolved(
    Unsolved(
        name="lifted-structure",
        also=("lifted", "lifted-struct", "generalized-lifted-structure"),
        summary="squared hinge of a soft maximum over the negatives of both halves of a pair, on distances",
        source="Song et al. 2016 (lifted structured feature embedding)",
        reason=(
            "it is convex in the cosines, but on distances, whose slope is infinite where two classes meet, and there "
            "is no solver for that here yet; the nearest loss that is solved is --loss multi-similarity, a soft "
            "maximum over the negatives on cosines"
        ),
    )
)
