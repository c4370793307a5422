"""Can any embedding attain this weighting of pairs, and what to change if not?"""

from __future__ import annotations

from dataclasses import replace
from io import BytesIO, StringIO
from typing import TYPE_CHECKING, Any

import click
import numpy as np
from rich.console import Console
from rich.table import Table

from geomsolve.analyses.realizable import realizable
from geomsolve.analyses.realizable_report import CasesReport, RealizableReport
from geomsolve.cli import ranges
from geomsolve.cli.answers import deliver_both, in_force, proof_files, setting
from geomsolve.cli.label_options import label_options, weighting_option
from geomsolve.cli.options import (
    Command,
    output_options,
    proof_option,
    solver_options,
)
from geomsolve.cli.output import File, Output, Screen
from geomsolve.cli.progress import working
from geomsolve.cli.render import cosine_grid, effort, proof_lines
from geomsolve.errors import InputError
from geomsolve.gram.types import FloatArray
from geomsolve.questions.realizable import Realizable
from geomsolve.weightings import REGISTRY, Weighting
from geomsolve.weightings.limits import Fix
from geomsolve.words import LEVEL, counted, number, rounded

if TYPE_CHECKING:
    from geomsolve.analyses.check_report import CheckReport

FEW = 12
"""Labels up to which a whole table is printed."""

MOST_SHOWN = 40
"""Missing entries whose ranges are printed."""


@click.command(
    "realizable", cls=Command, epilog="Example: geomsolve realizable --weighting yaware --labels 20,25,30 --sigma 5"
)
@weighting_option("--weighting", "--loss")
@label_options
@click.option(
    "--exact", is_flag=True, default=None, help="Decide in fractions, without rounding (y-Aware, Gaussian kernel)."
)
@click.option("--slack", type=float, metavar="EPS", help="How far cosines may be at a loss EPS nats above the optimum.")
@click.option("--pairs", metavar="A:B,...", help="With --slack: pairs of labels to ask about besides those chosen.")
@click.option("--check", is_flag=True, help="Also train free features and compare (geomsolve check; needs torch).")
@proof_option
@solver_options
@output_options
def command(output: Output, check: bool, proof: str | None = None, **flags: Any) -> int:
    """Can any embedding attain this weighting of pairs, and what to change if not?

    A weighted contrastive loss asks for a similarity for every pair of samples. The answer is 'realizable' (some
    embedding has exactly those), 'degenerate' (some weights are 0: only a limit would) or 'inconsistent' (no points
    have those similarities), with the best embedding and changes that help. Without --labels: the condition in
    words and the verdict on reference label sets. --out FILE.npy or FILE.csv writes the embedding itself.
    """
    problem = Realizable(**flags)
    output.notify(problem)
    with working("looking for the best embedding", quiet=output.quiet):
        report = realizable(problem, None if output.as_json or output.quiet else told_first)
    trained = checked(report, problem) if check else None
    files: list[File] = proof_files(proof, report, problem)
    if output.out is not None and output.out.lower().endswith((".npy", ".csv")):
        files.append(("out", output.out, points_in(report, output.out)))
        output = replace(output, out=None)
    if trained is not None:
        return deliver_both(output, report, trained, files)
    return output.deliver(report, show, files=files)


def told_first(verdict: str, reason: str) -> None:
    """The verdict on a terminal's stderr, where the best embedding is still to be found; an eigenvalue decides it."""
    screen = Screen(stderr=True, markup=False, emoji=False, highlight=False)
    if screen.is_terminal and verdict != "realizable":
        screen.print(f"{verdict.capitalize()}: {reason}. The best embedding is being looked for.")


def checked(report: RealizableReport | CasesReport, problem: Realizable) -> CheckReport:
    """A descent check of the same question."""
    if isinstance(report, CasesReport):
        raise InputError("a check trains on samples; give their labels", field="labels")
    from geomsolve.analyses.check import check
    from geomsolve.questions.check import CheckWeighting

    return check(CheckWeighting(question=problem), answer=report)


def points_in(report: RealizableReport | CasesReport, path: str) -> str | bytes:
    """The embedding as the content of a file called ``path``, one row a sample."""
    if isinstance(report, CasesReport):
        raise InputError("there is an embedding to write only for given labels; add --labels", field="out")
    points = report.points
    if points is None:
        raise InputError(
            "there is no embedding to write: the infimum is only approached, or there are too many samples; "
            "write to a .json file instead",
            field="out",
        )
    if path.lower().endswith(".npy"):
        buffer = BytesIO()
        np.save(buffer, points, allow_pickle=False)
        return buffer.getvalue()
    text = StringIO()
    np.savetxt(text, points, delimiter=",", fmt="%.17g")
    return text.getvalue()


def show(report: RealizableReport | CasesReport, screen: Console, *, quiet: bool) -> None:
    """Print the answer for a person."""
    if isinstance(report, CasesReport):
        show_cases(report, screen, quiet=quiet)
        return
    screen.print(sentence(report), style="bold")
    if quiet:
        return
    screen.print(setting(report.problem, report.orbits))
    screen.print(f"Why: {report.reason}.")
    screen.print()
    show_geometry(report, screen)
    show_proof(report, screen)
    show_rounding(report, screen)
    if report.ranges is not None:
        ranges.show(report.ranges, screen)
    show_changes(report, screen)


def weighting_of(report: RealizableReport | CasesReport) -> type[Weighting]:
    """The weighting that was asked about."""
    return REGISTRY[report.problem["weighting"]]


def sentence(report: RealizableReport) -> str:
    """The verdict in one sentence."""
    name, latents = weighting_of(report).title, report.latents.phrase
    count = report.orbits.n_classes
    if report.verdict == "realizable":
        d = report.least_dimension
        where = "" if d is None else f" in {counted(d, 'dimension')}"
        return f"Realizable: an embedding{where} attains {name} exactly on these {count:,} samples ({latents})."
    if report.verdict == "degenerate":
        if report.attained is None:
            return (
                f"Degenerate: no embedding attains {name} on these {count:,} samples, only a limit would ({latents})."
            )
        kind, why = "Degenerate", f", because {weighting_of(report).degenerate}"
    else:
        kind, why = "Inconsistent", ""
    excess, gap = report.optimum["excess"], report.optimum["gap"]
    most = "at most " if gap >= 0.1 * excess else ""
    return (
        f"{kind}: no embedding attains {name} on these {count:,} samples ({latents}){why}; "
        f"the best one stays {most}{rounded(excess, 3)} nats above the ideal."
    )


def show_geometry(report: RealizableReport, screen: Console) -> None:
    """Wanted against attained similarities, or what stands for them."""
    cosine, what = report.latents.unit, report.latents.noun
    if report.attained is None:
        screen.print(
            "There is no best embedding: pairs of weight 0 are pushed ever farther apart, and the loss only "
            f"approaches {rounded(report.optimum['value'], 9)} nats.\n"
        )
        return
    m = len(report.names)
    if cosine and 1 < m <= FEW:
        single = list(report.orbits.sizes == 1)
        screen.print(cosine_grid(report.attained, list(report.names), single, screen.width))
        best = "The embedding" if report.verdict == "realizable" else "The best embedding"
        screen.print(f"{best}: cosines between labels below the diagonal, angles above it.")
        if any(not one for one in single):
            screen.print("The diagonal is the cosine between different samples with the same label.")
    elif not cosine and 1 < m <= FEW:
        screen.print(distance_grid(report.attained, report.names))
        screen.print("Squared distances between labels in the embedding.")
    s = report.structure
    if s is not None and s.kind in (
        "regular simplex",
        "orthogonal frame",
        "equiangular",
        "antipodal",
        "total collapse",
    ):
        screen.print(f"Its geometry: {s.kind}.")
    d = report.distortion
    if report.verdict != "realizable" and d is not None and d["max_error"] > 1e-6:
        pair = f"labels {d['pair'][0]} and {d['pair'][1]}"
        screen.print(
            f"Farthest from what was asked: {pair}, wanted {what} {rounded(d['wanted'], 5)}, attained "
            f"{rounded(d['attained'], 5)}; on average (root mean square) {what}s are off by "
            f"{number(d['rms_error'], 3)}."
        )
    show_missing(report, screen)
    screen.print()


def show_missing(report: RealizableReport, screen: Console) -> None:
    """The range of each missing entry, and of how many none is shown."""
    what = report.latents.noun
    known = [c for c in report.completions if c["low_attained"] is not None or c["high_attained"] is not None]
    for c in known[:MOST_SHOWN]:
        screen.print(f"Missing entry, row {c['row']} and column {c['column']}: any {what} {values_of(c)} works.")
    if len(known) > MOST_SHOWN:
        screen.print(f"The ranges of {len(known) - MOST_SHOWN:,} more missing entries stand in the object of --json.")
    if len(known) < len(report.completions):
        unknown = counted(len(report.completions) - len(known), "missing entry", "missing entries")
        screen.print(f"The range of {unknown} was not worked out.")


def values_of(completion: dict[str, Any]) -> str:
    """The values of a missing entry as a phrase, with which of its ends are values too."""
    words = []
    for name, closed, opened in (("low", "from", "above"), ("high", "to", "below")):
        value, attained = completion[name], completion[f"{name}_attained"]
        if attained is None:
            words.append("from some value not found" if name == "low" else "to some value not found")
        elif value is None:
            words.append("upwards" if words and words[0].startswith("from") else "")
        else:
            words.append(f"{closed if attained else opened} {rounded(value)}")
    return " ".join(filter(None, words))


def distance_grid(distances: FloatArray, names: tuple[str, ...]) -> Table:
    """Distances between points (n, n) as a table."""
    grid = Table(box=None, padding=(0, 1, 0, 0), header_style="bold")
    grid.add_column("")
    for name in names:
        grid.add_column(name, justify="right", no_wrap=True)
    for name, row in zip(names, distances, strict=True):
        grid.add_row(name, *(rounded(x, 4) for x in row))
    return grid


def show_proof(report: RealizableReport, screen: Console) -> None:
    """How sure: the eigenvalues, the gap, the solver."""
    t, o = report.target, report.optimum
    if report.exact is not None:
        screen.print("The verdict is exact: by elimination in fractions, of the labels and parameters as written.")
    if t["min_eigenvalue"] is not None:
        lowest = 0.0 if abs(t["min_eigenvalue"]) <= t["tolerance"] else t["min_eigenvalue"]
        radius = "" if t["radius"] is None else f"; the wanted points lie on a sphere of radius {number(t['radius'])}"
        screen.print(
            f"Target: smallest eigenvalue {number(lowest)}, {100 * t['negative_mass']:.3g} % of the "
            f"spectrum negative (below {t['tolerance']:.1e} in size counts as 0){radius}."
        )
    if report.constant is not None and report.constant["low"] is not None:
        low, high = report.constant["low"], report.constant["high"]
        until = "upwards" if high is None else f"to {rounded(high)}"
        what = report.latents.noun
        screen.print(
            f"The free constant, the {what} of a pair of weight 1, can be anything from {rounded(low)} {until}."
        )
    if o["attained"]:
        limit: dict[str, str] = {}
        if report.limited is not None:
            tries = "With a limit on dimensions this is the best of several tries, and the bound ignores the limit."
            limit = {"embedding": "embedding, whatever its dimension,", "advice": tries}
        tolerance = report.problem["tolerance"]
        screen.print(proof_lines(o["value"], o["lower_bound"], o["gap"], o["certified"], tolerance, **limit))
    screen.print(
        f"The ideal (entropic floor) is {rounded(report.floor, 9)} nats, reached only where softmax probabilities "
        f"equal the target exactly; here they differ by at most {o['residual']:.1e}."
        if o["residual"] is not None
        else f"The ideal (entropic floor) is {rounded(report.floor, 9)} nats."
    )
    unique = {
        True: "This geometry is the only optimal one, up to a rigid motion.",
        False: "Other geometries are equally good.",
        None: "",
    }[report.unique]
    uses = "" if o["dimension"] is None else f"The embedding uses {counted(o['dimension'], 'dimension')}."
    if unique or uses:
        screen.print(f"{unique} {uses}".strip())
    solver = report.solver
    screen.print(f"Solver: {solver['name']} ({solver['reason']}); {effort(solver)}.")


def spanned(low: float, high: float) -> str:
    """A loss between two bounds, with as many digits as tell them apart."""
    if high - low <= LEVEL * max(1.0, abs(low)):
        return f"{rounded(low, 9)} nats"
    return f"between {rounded(low, 9)} and {rounded(high, 9)} nats"


def show_rounding(report: RealizableReport, screen: Console) -> None:
    """What rounding the labels cost, and when the classes of a group merge."""
    b, m = report.binning, report.merging
    if b is not None:
        cost = "by how much that moves the optimal loss is not bounded here"
        if b.low is not None and b.high is not None and b.error is not None:
            optimum = spanned(b.low, b.high)
            cost = f"as given, their optimum is {optimum}, so that moves it by at most {number(b.error, 2)} nats"
        screen.print(
            f"Labels were rounded to multiples of {number(b.width)}: {b.distinct:,} distinct ones of {b.before:,}; "
            f"{cost}."
        )
    if m is not None:
        here = "they do here" if m["merged"] else "they do not here"
        where = "a weight of the upper level" if m["over"] == "upper level weight" else f"a {m['over']}"
        screen.print(f"Classes of a group share a point from {where} of {number(m['value'], 10)} on; {here}.")


def show_changes(report: RealizableReport, screen: Console) -> None:
    """What would make it realizable."""
    misread = weighting_of(report).misread
    if misread and report.verdict == "inconsistent":
        screen.print(f"\n{misread}")
    if report.verdict == "realizable":
        return
    if not report.fixes:
        screen.print("\nNo single change of temperature, kernel width, latents or pairs makes it realizable.")
        return
    screen.print("\nAny one of these makes it realizable:")
    for fix in report.fixes:
        screen.print(f"  {flags_of(fix)}\n      {fix.why}")


ROUND_DOWN = ("temperature", "arc")
"""Changes whose value is an upper limit; the others are lower limits."""


def flags_of(fix: Fix) -> str:
    """A fix as flags to add to the command, numbers rounded to the side that works."""
    words = []
    for key, value in fix.settings.items():
        if value is None:
            continue
        shown = outward(value, up=key not in ROUND_DOWN) if isinstance(value, float) else str(value)
        words.append(f"--{key.replace('_', '-')} {shown}")
    unset = [f"--{key.replace('_', '-')}" for key, value in fix.settings.items() if value is None]
    return " ".join(words) + (f"  (without {', '.join(unset)})" if unset else "")


def outward(value: float, *, up: bool, digits: int = 6) -> str:
    """``digits`` significant digits, rounded up or down."""
    if value == 0:
        return "0"
    exponent = int(np.floor(np.log10(abs(value)))) - digits + 1
    scaled = value / 10.0**exponent
    exact = abs(scaled - round(scaled)) < 1e-6  # nearer than any verdict can tell
    whole = round(scaled) if exact else np.ceil(scaled) if up else np.floor(scaled)
    return f"{float(whole) * 10.0**exponent:.{digits}g}"


def show_cases(report: CasesReport, screen: Console, *, quiet: bool) -> None:
    """The condition in words, then the verdict on reference label sets."""
    screen.print(report.condition, style="bold")
    if quiet:
        return
    p = report.problem
    screen.print(f"\nReference label sets at {', '.join(in_force(p, 'dim'))}, self pairs {p['self_pairs']}d:\n")
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    for name in ("labels", "what they are", "verdict"):
        table.add_column(name)
    for name in ("eigenvalue", "radius", "dims", "excess"):
        table.add_column(name, justify="right")
    for case in report.cases:
        if case["verdict"] is None:
            table.add_row(case["labels"], case["about"], "not comparable", "", "", "", "")
            continue
        cells = [case["min_eigenvalue"], case["radius"], case["least_dimension"], case["excess"]]
        tidy = [0.0 if isinstance(x, float) and abs(x) < 1e-12 else x for x in cells]
        table.add_row(
            case["labels"], case["about"], case["verdict"], *("" if x is None else number(x, 4) for x in tidy)
        )
    screen.print(table)
    screen.print(
        "\neigenvalue: smallest one of the matrix of wanted similarities, negative where no points have them; radius: "
        "of the sphere through the wanted points, where there is one (latents on a sphere need at most 1); dims: "
        "dimensions needed; excess: nats by which the best embedding stays above the ideal. "
        "Ask about your own labels with --labels."
    )
