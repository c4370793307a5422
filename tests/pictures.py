"""The page docs/pictures.md: a picture of every kind of question, each of a problem of the gallery.

``python tests/pictures.py`` solves the problems, draws them and writes the page; a test fails where the page does not
say what the gallery says now.
"""

from __future__ import annotations

from pathlib import Path

from geomsolve.batch.gather import gather
from geomsolve.questions.documents import Entry

DOCS = Path(__file__).parent.parent / "docs"
MADE = "<!-- made by tests/pictures.py; do not edit -->"

SHOWN = {
    "Which geometry does a loss want?": (
        "collapse/strong-majority",
        "long-tailed/cifar10-lt-100-warm",
        "classifiers/seli",
    ),
    "Where do classes collapse?": ("thresholds/merging-in-stages", "thresholds/sweep-into-collapse"),
    "What helps, and which loss?": (
        "questions/what-to-change",
        "questions/which-loss",
        "rebalancing/design-a-simplex",
    ),
    "Can a weighting be attained?": ("realizable/yaware-ages", "realizable/yaware-circle"),
    "Images and texts": ("crossmodal/gap", "crossmodal/thresholds", "crossmodal/sweep"),
    "Is my loss good, my encoder there, and does descent get there?": (
        "levels/stuck-at-6.92",
        "trained/compare",
        "trained/compare-pairs",
        "trained/descent",
    ),
    "How many classes fit, how many negatives are enough?": (
        "questions/how-many-fit",
        "negatives/two-equal-classes",
    ),
    "Latents and images": ("latents/rings-shared-height", "spectra/noise-drops-high-frequencies"),
}
"""Problems of the gallery by what they ask; of a file the first that has a picture."""


def first(name: str) -> Entry:
    """The first problem of a file of the gallery."""
    return gather([f"problem:{name}"])[0]


def place(name: str) -> str:
    """Where a picture stands, from docs/."""
    return f"pictures/{name.replace('/', '-').replace('.', '-')}.svg"


def page() -> str:
    """The text of the page."""
    parts = [
        MADE,
        "# Pictures",
        "Every command that answers a question draws its answer with `--plot FILE` (png, svg or pdf; text stays text "
        "in svg and pdf). `--style slide` has larger letters, `--size 6,4` sets width and height in inches. The title "
        "says the answer and, below it, what was asked. Blue, orange and green are told apart with any colour vision.",
        "These are of problems that come with geomsolve: `geomsolve solve NAME --plot picture.svg` draws each again. "
        "`geomsolve report problem: --out report.html` puts the whole gallery on one page, and `geomsolve sweep ... "
        "--html play.html` writes one whose sliders move the classes.",
    ]
    for heading, names in SHOWN.items():
        parts.append(f"## {heading}")
        for name in names:
            problem = first(name).problem
            assert problem is not None
            title = problem.title or name
            parts += [
                f"### {title}",
                f"{' '.join((problem.why or '').split())} (`problem:{name}`, {problem.kind})",
                f"![{title}]({place(name)})",
            ]
    return "\n\n".join(parts) + "\n"


def write() -> None:
    """Solve, draw and write everything."""
    from geomsolve import plots
    from geomsolve.analyses import solve

    (DOCS / "pictures").mkdir(exist_ok=True)
    for name in (name for names in SHOWN.values() for name in names):
        answer = solve(first(name).problem).to_dict(full=True)
        picture = plots.render(answer, "svg")
        assert picture is not None, name
        (DOCS / place(name)).write_bytes(picture)
    (DOCS / "pictures.md").write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    write()
