"""Circle loss: known by name, but not solved.

    l_i = log( 1 + sum_n e^{gamma alpha_n (c_n - m)} sum_p e^{-gamma alpha_p (c_p - 1 + m)} ),
    alpha_n = max(c_n + m, 0),  alpha_p = max(1 + m - c_p, 0),

through whose weights alpha no gradient goes.  Two functions have to be told apart, and neither is the one to minimise:

    as it is evaluated   the exponent of a negative is gamma (c + m)(c - m) = gamma (c^2 - m^2) for c >= -m and 0 below,
                         which falls from 0 to -gamma m^2 at c = 0: no convex function, and not rising
    as it is trained     descent follows the slope gamma alpha_n as if alpha_n were fixed, so the forces between a pair
                         are gamma (c + m) e^{gamma (c^2 - m^2)} and not its derivative, which has 2c for c + m

A training comes to rest where forces balance, which is no minimum of the value: at a right angle the value is least
for a pair and its force, gamma m, still repels.  So there is no program whose optimum would be the answer.

Source: Sun et al. 2020.
"""

from __future__ import annotations

from geomsolve.losses.base import Unsolved, unsolved

CIRCLE = unsolved(
    Unsolved(
        name="circle",
        also=("circle-loss",),
        summary="pair weights that grow with their distance from the goal, through which no gradient goes",
        source="Sun et al. 2020 (circle loss)",
        reason=(
            "its pair weights are taken as constants by the gradient, so training does not minimise its value, which "
            "is not convex in the cosines either (its exponent (c + m)(c - m) falls below a right angle); the nearest "
            "losses that are solved are --loss multi-similarity and --loss soft-margin-triplet, with fixed weights"
        ),
    )
)
