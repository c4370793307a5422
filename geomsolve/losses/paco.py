"""Parametric contrastive learning (PaCo): known by name, but not solved.

For an anchor i of class a, with n positives in the queue and the logits l_i of a linear classifier on another layer,

    L_i = - 1/(b + alpha n) [ b log( e^{l_ia} / Z_i ) + alpha sum_p log( e^{s_ip} / Z_i ) ],
    Z_i = sum_c e^{l_ic} + sum_{j != i} e^{s_ij},

alpha and b (beta) weights.  The logits l are of free size and not cosines of the embedding, so L is no function of the
cosines alone, and it has no minimum: the logits of all other classes run to minus infinity.  What is left then is

    min over l:   pi log sum_{j != i} e^{s_ij} - pi mean_p s_ip + h(pi),    pi = alpha n / (b + alpha n),

h(pi) = - pi log pi - (1 - pi) log(1 - pi), at e^{l_ia} = sum_j e^{s_ij} (1 - pi) / pi (derived for this project):
SupCon in which an anchor weighs pi.  So in the limit the geometry is that of supcon with these class weights; how near
a training comes to it is another question.

Source: Cui et al. 2021.  Symbols: pi the class weight.
"""

from __future__ import annotations

from geomsolve.losses.base import Unsolved, unsolved

PACO = unsolved(
    Unsolved(
        name="paco",
        summary="SupCon with the logits of a linear classifier in every denominator",
        also=("parametric-contrastive", "parametric-contrastive-learning"),
        source="Cui et al. 2021 (parametric contrastive learning)",
        reason=(
            "its class centres are a linear classifier on another layer, of free length, so the loss is no function of "
            "the cosines between classes alone, and it has no minimum, as the logits of wrong classes run to minus "
            "infinity; in that limit the cosines are those of --loss supcon with --anchor-weights "
            "alpha n/(beta + alpha n), n the positives of an anchor of each class in the queue"
        ),
    )
)
