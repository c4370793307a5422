"""How do two encoders arrange images and texts (or features and classifiers), and do the two sides coincide?

    minimise F(C)   subject to   [[A, C], [C', B]] psd, unit diagonal        (C: cosines between the sides)

The points go through their symmetry (``gram/paired.py``) to a solver, and the answer carries the certificate of
``proof/paired.py``.  That an image and its text coincide is a result here, never an assumption.
Up to which temperature the pairs can be expressed exactly is ``attainable.py``, the range of the modality gap and its
price ``modality_gap.py``.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from geomsolve.analyses.attainable import Attained, attainable
from geomsolve.analyses.crossmodal_report import CrossmodalReport, describe
from geomsolve.analyses.modality_gap import MOST as MOST_TILTED
from geomsolve.analyses.modality_gap import ModalityGap, modality_gap, tilted_kinds
from geomsolve.analyses.named import pair_loss_of
from geomsolve.errors import InputError
from geomsolve.gram.orbits import Orbits
from geomsolve.gram.paired import PairedGram
from geomsolve.objectives.cross import CrossObjective, Joint
from geomsolve.pair_losses import PairLoss
from geomsolve.proof.paired_uniqueness import are_told_apart, sides_are_unique
from geomsolve.questions.base import Problem
from geomsolve.questions.crossmodal import Crossmodal, TwoSides
from geomsolve.report import Effort, Proof, understood
from geomsolve.solvers.searched_sides import solve_searched_sides
from geomsolve.solvers.sides import solve_sides
from geomsolve.solvers.two_sides import SidesAnswer, gram_of, solve_limited_sides, solve_two_sides
from geomsolve.words import counted

MATRICES = 80
"""Matrices of doubles with a row and a column for each distinct point that solving holds at once, about."""

MOST_POINTS = 4000
"""Distinct points of both sides together that are solved."""

ASKED_AGAIN = 60
"""Distinct points up to which a second search looks for another optimum."""

SAME, ELSEWHERE = 1e-12, 1e-3
"""Losses, relatively, that are the same up to rounding, and cosines that differ for certain."""

FELT = 1e-10
"""What must be left of the forces, next to all of them, for the loss to tell arrangements apart."""

LIMITED = 200
"""Points up to which the best arrangement in limited dimension is searched for."""


def joint_of(problem: TwoSides, loss: PairLoss) -> Joint:
    """Who belongs to whom; :class:`InputError` for more distinct points than are solved."""
    if problem.pairs is not None:
        refuse_oversize(sum(problem.pairs.values.shape), most=4 * MOST_POINTS, field="pairs")
        joint = Joint.of(problem.pairs.values, merge=loss.merges)
    else:
        orbits = Orbits.of(problem.proportions, problem.class_counts)
        refuse_oversize(2 * orbits.n_orbits, most=MOST_POINTS, field=problem.source)
        joint = Joint.classes(orbits, problem.noise or 0.0)
    refuse_oversize(joint.paired.n_first + joint.paired.n_second, most=MOST_POINTS, field=problem.source)
    return joint


def refuse_oversize(points: int, *, most: int, field: str) -> None:
    """Raise :class:`InputError` for more distinct points than are solved."""
    if points > most:
        need = MATRICES * 8 * points**2 / 2**30
        raise InputError(
            f"{points:,} distinct images and texts would need about {need:,.0f} GiB of memory; at most {most:,} are "
            "taken. Give classes, or fewer points: cost grows with distinct points, not with pairs",
            field=field,
        )


def validate(problem: Crossmodal) -> None:
    """Raise :class:`InputError` for what the loss, or the number of points, makes impossible."""
    loss = pair_loss_of(problem)
    joint = joint_of(problem, loss)
    loss.objective(joint)
    refuse_dimension(problem, joint)
    refuse_gap(problem, joint)
    refuse_proof(problem, loss)


def refuse_proof(problem: Crossmodal, loss: PairLoss) -> None:
    """Raise :class:`InputError` for what needs the proof of a convex loss."""
    if not loss.convex and problem.gap is not None:
        raise InputError(f"{loss.name} is not convex, so that no price of a gap is proven; leave it out", field="gap")
    if not loss.convex and problem.solver != "auto":
        raise InputError(f"{loss.name} is not convex and searched for by descent; leave it out", field="solver")


def answer_of(loss: PairLoss, joint: Joint, problem: Problem, dim: int | None = None) -> tuple[SidesAnswer, Joint]:
    """The optimum of a convex loss with its certificate, else the best found in ``dim`` dimensions with a bound; and
    the ``joint`` by whose orbits it is given."""
    how: dict[str, Any] = {"tolerance": problem.tolerance, "seed": problem.seed}
    if loss.convex:
        return solve_two_sides(loss.objective(joint), joint, solver=problem.solver, **how), joint
    return solve_searched_sides(loss.smoothed, loss.below, joint, dim=dim, **how)


def refuse_dimension(problem: Crossmodal, joint: Joint) -> None:
    """Raise :class:`InputError` for more points than are arranged in limited dimension."""
    if problem.dim is not None and sum(joint.paired.points) > LIMITED:
        raise InputError(
            f"in limited dimension every point is solved for, at most {LIMITED}; there are "
            f"{sum(joint.paired.points):,}; leave it out, or give fewer points",
            field="dim",
        )


def refuse_gap(problem: Crossmodal, joint: Joint) -> None:
    """Raise :class:`InputError` for more kinds of points than a modality gap is priced for."""
    kinds = tilted_kinds(joint)
    if problem.gap is not None and kinds > MOST_TILTED:
        raise InputError(
            f"the price of a gap is worked out for at most {MOST_TILTED} images and texts that differ; there are "
            f"{kinds:,}; leave it out, or give fewer points",
            field="gap",
        )


def crossmodal(problem: Crossmodal) -> CrossmodalReport:
    """Solve, prove and describe."""
    loss = pair_loss_of(problem)
    joint = joint_of(problem, loss)
    refuse_dimension(problem, joint)
    refuse_gap(problem, joint)
    refuse_proof(problem, loss)
    answer, joint = answer_of(loss, joint, problem, problem.dim)
    objective = loss.objective(joint)
    gram, proof, tied = answer.gram, answer.certificate, answer.tied
    effort = Effort(answer.solver, answer.reason, answer.iterations, answer.seconds)
    unique: bool | None = None
    limited: bool | None = None
    attained: Attained | None = None
    if problem.dim is not None:
        limited = rank_of(joint, gram) > problem.dim if loss.convex else not proof.certified
    if not loss.convex:
        pass  # nothing else is known of what was searched for
    elif limited:
        joint, objective = joint.apart(), loss.objective(joint.apart())
        rows, best, steps = solve_limited_sides(
            objective, joint.paired, int(problem.dim or 1), lower_bound=proof.lower_bound, seed=problem.seed
        )
        gram, proof, tied = gram_of(joint.paired, rows), proof.at(best), None
        limited = not proof.certified
        where = counted(int(problem.dim or 1), "dimension")
        effort = Effort("local", f"best of several starts in {where}", steps, answer.seconds)
    else:
        attained = attainable(loss, joint, proof.value)
        unique = sides_are_unique(
            joint, objective, lambda: loss.objective(joint.apart()), gram, proof.gap, reached=attained.reached
        )
        # where a strictly convex loss is above its floor, what seems a second optimum is one up to rounding only
        several = attained.reached or (not objective.strict and is_felt(objective, gram))
        if unique is None and several and another(objective, joint, answer, problem.seed):
            unique = False
    if attained is None:
        gap = ModalityGap.alone(joint, objective, gram)
    else:
        gap = modality_gap(
            loss, joint, objective, gram, attained, Proof.of(proof, unique), gap=problem.gap, seed=problem.seed
        )
        if unique is None and attained.reached and gap.exact and gap.width > ELSEWHERE:
            unique = False
    return CrossmodalReport(
        problem=understood(problem, loss=loss.among(joint).written),
        proof=Proof.of(proof, unique),
        effort=effort,
        joint=joint,
        gram=gram,
        nouns=(loss.first_noun, loss.second_noun),
        names=problem.class_names,
        tied=tied,
        dimension_limited=limited,
        modality_gap=dataclasses.asdict(gap),
        attainable=None if attained is None else dataclasses.asdict(attained),
        structure=describe(joint, gram, proof.gap, tied),
        rank=rank_of(joint, gram),
        convex=loss.convex,
    )


def is_felt(objective: CrossObjective, gram: PairedGram) -> bool:
    """Whether the loss tells arrangements apart beyond rounding: where what is left of its forces after they cancel is
    too little beside them, others seem to have the same loss that have a higher one."""
    left, all_forces = np.abs(objective.gradient(gram.cross)).sum(), objective.forces(gram.cross).sum()
    return not left or bool(left > FELT * all_forces)


def another(objective: CrossObjective, joint: Joint, answer: SidesAnswer, seed: int) -> bool:
    """Whether a search from random points ends elsewhere with the same loss: a second optimum, found."""
    paired = joint.paired
    if paired.n_first + paired.n_second > ASKED_AGAIN:
        return False
    cross, rows, _ = solve_sides(objective, paired, seed=seed + 1)
    here, there, value = answer.gram, gram_of(paired, rows), answer.certificate.value
    if objective.value(cross) > value + SAME * max(1.0, abs(value)):
        return False
    if are_told_apart(objective, paired, here.cross, there.cross):
        return False
    pairs = ((here.first, there.first), (here.second, there.second), (here.cross, there.cross))
    return max(float(np.abs(one - two).max(initial=0.0)) for one, two in pairs) > ELSEWHERE


def rank_of(joint: Joint, gram: PairedGram) -> int:
    """Dimensions that the points span."""
    blocks = joint.paired.blocks(gram)
    values = np.linalg.eigvalsh(blocks.quotient)
    _, _, n = joint.paired.several
    rank = int(np.sum(values > 1e-7 * max(values[-1], 1.0)))
    if n.size:
        inner = np.linalg.eigvalsh(blocks.contrast)
        rank += int(np.sum((inner > 1e-7) * (n - 1)[:, None]))
    return rank
