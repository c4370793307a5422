"""Which geometry of features and classifiers does a classifying loss want for these class proportions?

    minimise F(Z) over logits Z_kj = <h_k, w_j>, features and classifiers as long as the form allows

The programs are those of ``objectives/cross_entropy.py``, the proof is that of ``proof/nuclear.py``.  With Y = U s V'
the singular value decomposition of Y = diag(rho) Z, the features are rho h = root(c) U root(s) and the classifiers
w = V root(s) / root(c), whatever rotates both: their squared lengths have the ratio c^2.

Symbols: h ``features``, w ``classifiers``, Y ``blocks``, c^2 ``ratio``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import log
from typing import Any

import numpy as np

from geomsolve.analyses.named import loss_of
from geomsolve.errors import InputError
from geomsolve.gram.orbits import Orbits
from geomsolve.gram.paired import Paired, PairedBlocks
from geomsolve.gram.simplex import simplex_cosine
from geomsolve.gram.structure import Kind, Structure, angle_degrees, classify, names_of, structure_tolerance
from geomsolve.gram.types import BoolArray, FloatArray
from geomsolve.losses import ClassifierLoss
from geomsolve.objectives.cross_entropy import Cross, Margin, Peeled, Regularised
from geomsolve.proof.certificate import Certificate
from geomsolve.proof.nuclear import at_one_point, certify_peeled, nothing_left, unique
from geomsolve.questions.imbalance import Imbalance
from geomsolve.questions.sweep import Sweep
from geomsolve.report import Effort, Proof, ProvenReport, Table, jsonable, understood
from geomsolve.solvers.nuclear import PeeledAnswer, solve_peeled

MOST_ORBITS, MOST_MARGINS = 600, 2000
"""Distinct proportions up to which features and classifiers are solved for: 446 within a budget take 8 s to two
minutes of one core, and cost grows with their cube.  Margins have a closed form: one decomposition is the cost."""

FULL_GRAM = 64
"""Classes up to which K x K cosines are part of the JSON without being asked for."""

NOTHING = 1e-6
"""Length relative to the longest, below which a feature or classifier is 0."""


@dataclass(frozen=True)
class Side:
    """The feature means of the classes, or their classifiers.

    ``lengths`` (m,) and ``cosines`` (m, m) by orbit, the latter nan where one of the two is 0; the diagonal is that of
    two classes of the orbit.  ``structure`` names their geometry.
    """

    orbits: Orbits
    lengths: FloatArray
    cosines: FloatArray
    structure: Structure

    @property
    def norms(self) -> FloatArray:
        """Lengths (K,), in the order of the classes."""
        norms: FloatArray = self.lengths[self.orbits.index]
        return norms

    @property
    def gram(self) -> FloatArray:
        """Cosines (K, K), nan where one of the two is 0."""
        gram = self.orbits.lift(self.cosines)
        gram[np.diag_indices_from(gram)] = np.where(self.norms > 0, 1.0, np.nan)
        return gram

    def plain(self, names: Sequence[str], full: bool) -> dict[str, Any]:
        """As JSON has it."""
        found: dict[str, Any] = {"norms": jsonable(self.norms), "structure": facts(self.structure, names)}
        if full:
            found["gram"] = jsonable(self.gram)
        return found


def facts(structure: Structure, names: Sequence[str]) -> dict[str, Any]:
    """A structure as JSON has it, with the names of its groups."""
    plain: dict[str, Any] = jsonable(structure)
    del plain["tolerance"]
    return {**plain, "groups": names_of(structure.groups, names)}


@dataclass(frozen=True)
class ClassifierReport(ProvenReport):
    """The optimal features and classifiers, and their proof.

    ``value``, ``lower_bound`` and ``gap`` are of the program: the loss in nats, with the charge on lengths where there
    is one, or, of margins, the least nuclear norm.  ``cross_entropy`` is the loss alone, None of margins; ``norm`` the
    nuclear norm of the logits, scaled as they are charged.  ``alignments`` (K,) are the cosines of each feature mean
    and its classifier, nan where one is 0, ``alignment`` their mean; ``across`` (K, K) those of each feature mean and
    each classifier.  ``rank``: dimensions that the features span.
    ``nearest_threshold``: the weight of the regulariser nearest to the one in force at which classes merge.
    ``between`` (m, m): ``across`` by orbit.  ``undecided`` are groups of alike classes of which it was not proven
    whether they share a point.
    """

    command = "imbalance"
    apart = ("names", "orbits", "features", "classifiers", "between")

    names: tuple[str, ...]
    orbits: Orbits
    features: Side
    classifiers: Side
    alignments: FloatArray
    between: FloatArray
    cross_entropy: float | None
    norm: float
    rank: int
    nearest_threshold: dict[str, Any] | None
    undecided: tuple[tuple[int, ...], ...] = ()

    @property
    def structure(self) -> Structure:
        """That of the classifiers."""
        return self.classifiers.structure

    @property
    def alignment(self) -> float:
        """The mean cosine of a feature mean and its classifier; nan where all are 0."""
        known = self.alignments[np.isfinite(self.alignments)]
        return float(known.mean()) if known.size else float("nan")

    @property
    def across(self) -> FloatArray:
        """Cosines (K, K) of feature means and classifiers, nan where one of the two is 0."""
        index = self.orbits.index
        across: FloatArray = self.between[np.ix_(index, index)]
        across[np.diag_indices_from(across)] = self.alignments
        return across

    @property
    def table(self) -> Table:
        return Table.of_matrix(self.features.gram, self.names)

    @property
    def headline(self) -> str:
        return self.structure.named(self.names)

    @property
    def asked(self) -> dict[str, Any]:
        near = self.nearest_threshold
        threshold = None if near is None else near["value"]
        return {**super().asked, **self.structure.facts(self.names), "threshold": threshold}

    @property
    def figures(self) -> dict[str, float]:
        return {"rank": self.rank, **self.structure.angles}

    def groups(self) -> list[list[str]]:
        """Names of the classes whose classifiers coincide, one list a point."""
        return names_of(self.structure.groups, self.names)

    def to_dict(self, *, full: bool = False, **detail: Any) -> dict[str, Any]:
        """The JSON object; ``full`` includes all cosines, however many classes there are."""
        plain = super().to_dict(**detail)
        orbits = self.orbits
        p, whole = orbits.proportions[orbits.index], full or orbits.n_classes <= FULL_GRAM
        plain["classes"] = [
            {"name": name, "proportion": float(p[a]), "orbit": int(orbits.index[a])}
            for a, name in enumerate(self.names)
        ]
        plain["orbits"] = [
            {"size": int(n), "proportion": float(q)} for n, q in zip(orbits.sizes, orbits.proportions, strict=True)
        ]
        plain["structure"] = facts(self.structure, self.names)
        plain["features"] = self.features.plain(self.names, whole)
        plain["classifiers"] = self.classifiers.plain(self.names, whole)
        plain["alignment"] = jsonable(self.alignment)
        plain["undecided"] = names_of(self.undecided, self.names)
        return plain


def program_of(loss: ClassifierLoss, orbits: Orbits, *, field: str) -> Peeled:
    """The program of a loss on classes; :class:`InputError` where there are too many distinct ones."""
    program = loss.program(orbits)
    closed = isinstance(program, Margin)
    most = MOST_MARGINS if closed else MOST_ORBITS
    if orbits.n_orbits > most:
        raise InputError(
            f"{orbits.n_orbits:,} distinct proportions are too many for features and classifiers, at most {most:,} are "
            "solved; round them so that more classes share one"
            + ("" if closed else f", or ask for --ufm seli, which takes {MOST_MARGINS:,}"),
            field=field,
        )
    return program


@dataclass(frozen=True)
class Arranged:
    """The optimum of a ``program`` on classes of ``orbits``, and its geometry; fields as of :class:`ClassifierReport`.

    ``groups`` are alike classes proven to share a point.
    """

    program: Peeled
    orbits: Orbits
    answer: PeeledAnswer
    blocks: Cross
    proof: Certificate
    groups: tuple[tuple[int, ...], ...]
    undecided: tuple[tuple[int, ...], ...]
    features: Side
    classifiers: Side
    alignments: FloatArray
    between: FloatArray
    rank: int

    @property
    def alignment(self) -> float:
        """The mean cosine of a feature mean and its classifier; nan where all are 0."""
        known = self.alignments[np.isfinite(self.alignments)]
        return float(known.mean()) if known.size else float("nan")

    @property
    def cross_entropy(self) -> float | None:
        """The loss alone in nats, None of margins."""
        return None if isinstance(self.program, Margin) else self.program.evaluate(self.blocks)[0]


def arrange(program: Peeled, orbits: Orbits, *, tolerance: float) -> Arranged:
    """Solve a program, prove it, and work out the geometry of its features and classifiers."""
    answer = solve_peeled(program, tolerance=tolerance)
    blocks, proof = answer.blocks, answer.certificate
    merged, apart = at_one_point(program, blocks, proof.gap)
    if merged.any():  # exactly, as is proven
        blocks = Cross(blocks.quotient, np.where(merged, 0.0, blocks.contrast), blocks.times)
        proof = certify_peeled(program, blocks, tolerance=tolerance)
    several = program.points.several[0]
    members = [tuple(np.flatnonzero(orbits.index == g).tolist()) for g in range(orbits.n_orbits)]
    groups = tuple(members[g] for g in several[merged])
    undecided = tuple(members[g] for g in several[~merged & ~apart])
    sides, alignments, between, rank = geometry(program, blocks, orbits, groups, structure_tolerance(proof.gap))
    return Arranged(program, orbits, answer, blocks, proof, groups, undecided, *sides, alignments, between, rank)


def refuse_unanswered(problem: Imbalance | Sweep) -> None:
    """Raise :class:`InputError` for what is not worked out for features and classifiers."""
    if problem.slack is not None:
        raise InputError(
            "how far cosines may be at a higher loss is worked out for losses of one set of points only: lengths are "
            "free here, so that cosines make no convex program; leave it out, or take --loss supcon",
            field="slack",
        )
    if problem.nonnegative:
        raise InputError(
            "features after a ReLU are worked out for losses of one set of points; leave it out, or take --loss supcon",
            field="nonnegative",
        )
    if problem.solver not in ("auto", "manifold"):
        raise InputError("features and classifiers are solved by their factors; leave this out", field="solver")


def classifiers(problem: Imbalance) -> ClassifierReport:
    """Answer the question of :class:`Imbalance` for a loss of features and classifiers."""
    loss = loss_of(problem)
    assert isinstance(loss, ClassifierLoss)
    refuse_unanswered(problem)
    orbits = loss.orbits(problem.proportions, problem.class_counts)
    program = program_of(loss, orbits, field=problem.source)
    found = arrange(program, orbits, tolerance=problem.tolerance)
    if problem.dim is not None and problem.dim < found.rank:
        raise InputError(
            f"the features span {found.rank} dimensions, and fewer are not worked out for classifiers; give "
            f"{found.rank} or more, or leave the dimension out",
            field="dim",
        )
    return ClassifierReport(
        problem=understood(problem, loss=loss.written),
        names=problem.class_names,
        proof=Proof.of(found.proof, unique(program, found.blocks)),
        effort=effort_of(found.answer),
        orbits=orbits,
        features=found.features,
        classifiers=found.classifiers,
        alignments=found.alignments,
        between=found.between,
        cross_entropy=found.cross_entropy,
        norm=found.blocks.nuclear,
        rank=found.rank,
        nearest_threshold=nearest(program),
        undecided=found.undecided,
    )


def effort_of(answer: PeeledAnswer) -> Effort:
    """What an answer took."""
    return Effort(answer.solver, answer.reason, answer.iterations, answer.seconds)


def thresholds(program: Peeled) -> list[tuple[float, int | None]]:
    """Weights of the regulariser from which on the classes of an orbit, None for all, share a point; ascending."""
    several = program.points.several[0].tolist()
    own = sorted(zip(program.contrast_slope.tolist(), several, strict=True))
    return [*own, (nothing_left(program), None)]


def nearest(program: Peeled) -> dict[str, Any] | None:
    """The threshold of the regulariser nearest to the weight in force, in its logarithm."""
    if not isinstance(program, Regularised):
        return None
    weights = [weight for weight, _ in thresholds(program) if weight > 0]
    found = min(weights, key=lambda weight: abs(log(weight / program.weight)))
    return {"over": "regularisation", "value": found}


def joint(program: Peeled, blocks: Cross) -> PairedBlocks:
    """The joint Gram matrix of rho h and w, of equal total length, that has ``blocks`` between them."""
    u, values, v = np.linalg.svd(blocks.quotient)
    left, right = u * np.sqrt(values), v.T * np.sqrt(values)
    factors = np.concatenate([left, right])
    y = np.maximum(blocks.contrast, 0.0)[:, None, None]
    return PairedBlocks(factors @ factors.T, y * np.ones((1, 2, 2)))


def geometry(
    program: Peeled, blocks: Cross, orbits: Orbits, groups: Sequence[tuple[int, ...]], tolerance: float
) -> tuple[tuple[Side, Side], FloatArray, FloatArray, int]:
    """Features and classifiers, the cosine of each pair (K,) and of others (m, m), and the dimensions they span."""
    points: Paired = program.points
    gram = points.entries(joint(program, blocks))
    stretch = program.ratio**0.25
    features = gram.first_own * (stretch / program.scale) ** 2, gram.first / np.outer(program.scale, program.scale)
    one = side(orbits, features[0], features[1] * stretch**2, groups, tolerance)
    two = side(orbits, gram.second_own / stretch**2, gram.second / stretch**2, groups, tolerance)
    lengths = one.norms * two.norms
    on = (gram.cross[:, -1] / program.scale)[orbits.index]
    alignments = np.divide(on, lengths, out=np.full(on.shape, np.nan), where=lengths > 0)
    off = gram.cross[:, :-1] / program.scale[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        lengths_off = np.outer(one.lengths, two.lengths)
        between = np.where(lengths_off > 0, np.clip(off / lengths_off, -1, 1), np.nan)
    sizes = np.concatenate([blocks.spectrum, np.repeat(blocks.contrast, blocks.times.astype(int))])
    rank = int(np.sum(sizes > NOTHING * max(float(sizes.max()), 1e-300)))
    return (one, two), np.clip(alignments, -1, 1), between, rank


def side(
    orbits: Orbits, own: FloatArray, inner: FloatArray, groups: Sequence[tuple[int, ...]], tolerance: float
) -> Side:
    """One side from its squared lengths (m,) and inner products (m, m); ``groups`` of classes proven to coincide."""
    length = np.sqrt(np.maximum(own, 0.0))
    none = length <= NOTHING * max(float(length.max()), 1e-300)
    with np.errstate(divide="ignore", invalid="ignore"):
        cosines = np.clip(inner / np.outer(length, length), -1, 1)
    cosines[none], cosines[:, none] = np.nan, np.nan
    np.fill_diagonal(cosines, np.where(none, np.nan, np.where(orbits.sizes > 1, np.diag(cosines), 1.0)))
    named = structure_of(orbits, cosines, none, groups, tolerance)
    return Side(orbits, np.where(none, 0.0, length), cosines, named)


def structure_of(
    orbits: Orbits, cosines: FloatArray, none: BoolArray, groups: Sequence[tuple[int, ...]], tolerance: float
) -> Structure:
    """The name of the geometry of one side; vectors that are 0 share a point, which is the origin."""
    if not none.any():
        return classify(orbits, cosines, 0.0, tolerance=tolerance, groups=tuple(sorted(groups)))
    lost = tuple(int(a) for a in np.flatnonzero(none[orbits.index]))
    apart = tuple(group for group in groups if not set(group) & set(lost))
    found = tuple(sorted((*apart, *((lost,) if len(lost) > 1 else ()))))
    seen = cosines[(orbits.pairs > 0) & np.isfinite(cosines)]
    low, high = (float(seen.min()), float(seen.max())) if seen.size else (1.0, 1.0)
    high = 1.0 if len(lost) > 1 else high
    kind: Kind = "total collapse" if none.all() else "minority collapse"
    off = max(abs(low - simplex_cosine(orbits.n_classes)), abs(high - simplex_cosine(orbits.n_classes)))
    return Structure(kind, found, low, high, angle_degrees(high), angle_degrees(low), off, tolerance)
