"""Pictures: what they show is what the answer holds; every format and size; clear errors."""

from __future__ import annotations

import importlib.util
import json

import numpy as np
import pytest

from geomsolve import Imbalance, InputError, plots, solve
from geomsolve.batch.gather import gather
from geomsolve.plots._geometry import embed
from geomsolve.plots._style import spaced_in_log
from geomsolve.questions.capacity import Capacity
from geomsolve.questions.compare import Compare
from geomsolve.questions.kinds import kinds
from geomsolve.questions.levels import Levels
from geomsolve.questions.realizable import Realizable
from geomsolve.questions.sweep import Sweep
from geomsolve.questions.threshold import Threshold
from geomsolve.report import to_json
from geomsolve.weightings.latents import LATENTS

pytest.importorskip("matplotlib", reason="pictures are an extra")

MAGIC = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}


def simplex(k):
    return (k * np.eye(k) - 1) / (k - 1)


def made_up_gram(k):
    """Cosines of k points on a sphere."""
    z = np.random.default_rng(k).standard_normal((k, 8))
    z /= np.linalg.norm(z, axis=1, keepdims=True)
    return z @ z.T


def made_up(k):
    """An ``imbalance`` answer for k classes of k sizes, its geometry a simple formula."""
    p = np.arange(k, 0, -1) / (k * (k + 1) / 2)
    gram = np.exp(-3 * np.abs(np.subtract.outer(p, p)) / p.max()) - 0.4
    np.fill_diagonal(gram, 1.0)
    return {
        "command": "imbalance",
        "problem": {"loss": {"name": "supcon", "temperature": 0.1}},
        "classes": [{"name": f"class {a}", "proportion": p[a], "orbit": a} for a in range(k)],
        "orbit_cosines": [[None if a == b else gram[a, b] for a in range(k)] for b in range(k)],
        "rank": k,
        "gap": 1e-12,
        "certified": True,
        "structure": {"kind": "general"},
    }


@pytest.mark.parametrize("suffix", MAGIC)
@pytest.mark.slow
def test_formats_are_what_they_say_and_repeat_exactly(suffix):
    answer = made_up(3)
    picture = plots.render(answer, suffix)
    assert picture.startswith(MAGIC[suffix])
    assert plots.render(answer, suffix) == picture


@pytest.mark.parametrize("k", [2, 3, 4, 10, 100, pytest.param(1000, marks=pytest.mark.slow)])
def test_sizes(k):
    picture = plots.render(made_up(k), "svg")
    assert len(picture) < 3e6
    assert (b"class 1</text>" in picture) is (k <= 24)


def test_heatmap_shows_the_gram_with_frequent_classes_first():
    report = solve(Imbalance(props=[0.1, 0.7, 0.2], names=["rare", "often", "some"], loss={"name": "supcon"}))
    axes = plots.draw(report.to_dict()).axes[0]
    order = [1, 2, 0]
    shown = axes.images[0].get_array()
    off = ~np.eye(3, dtype=bool)
    assert np.asarray(shown)[off] == pytest.approx(report.gram[np.ix_(order, order)][off])
    assert np.all(shown.mask == np.eye(3, dtype=bool))
    assert [text.get_text() for text in axes.get_yticklabels()] == ["often", "some", "rare"]


@pytest.mark.parametrize(
    ("gap", "said"), [(0.0, "gap at rounding level"), (5e-16, "gap at rounding level"), (2e-12, "gap 2e-12")]
)
def test_a_title_says_a_gap_of_rounding_in_words(gap, said):
    drawn = plots.draw({**made_up(3), "value": -0.5, "gap": gap})
    assert drawn.get_suptitle().splitlines() == [
        f"Imbalance bends the simplex (proven, {said})",
        "supcon, temperature 0.1; proportions 0.5, 0.333, 0.167",
    ]


def test_means_are_exact_where_the_rank_allows(rng):
    for rank in (1, 2, 3):
        z = rng.standard_normal((7, rank))
        z /= np.linalg.norm(z, axis=1, keepdims=True)
        points, share = embed(z @ z.T, max(rank, 2))
        assert points @ points.T == pytest.approx(z @ z.T, abs=1e-5)
        assert share == pytest.approx(1, abs=1e-5)
    points, share = embed(simplex(10), 2)  # the best plane shows 2 of 9 equal directions
    assert share == pytest.approx(2 / 9, abs=1e-4)
    turns = np.sort(np.degrees(np.arctan2(*points.T)))
    assert np.diff(turns) == pytest.approx(np.full(9, 36), abs=1e-3)


def test_a_projection_says_that_it_is_one():
    def titles(answer):
        return [axes.get_title(loc="left") for axes in plots.draw(answer).axes]

    assert "Class means (exact)" in titles(solve(Imbalance(props=[0.5, 0.3, 0.2])).to_dict())
    assert "Class means (exact)" in titles(solve(Imbalance(props=[0.4, 0.3, 0.2, 0.1])).to_dict())
    bent = solve(Imbalance(counts=[50, 45, 2, 1, 1], loss={"name": "supcon", "temperature": 2})).to_dict()
    assert "Class means (a plane: 95%)" in titles(bent)


def test_where_no_plane_shows_half_the_reach_of_each_class_is_drawn():
    report = solve(
        Imbalance(counts=[500, 300, 200, 100, 60, 40, 20, 10, 5, 5], loss={"name": "supcon", "temperature": 1})
    )
    reach = plots.draw(report.to_dict()).axes[2]
    assert reach.get_title(loc="left") == "From nearest to farthest class"
    off = np.degrees(np.arccos(np.clip(report.gram, -1, 1)))[~np.eye(10, dtype=bool)].reshape(10, 9)
    bars = np.array(list(reach.collections[0].get_segments()))
    assert bars[:, :, 1] == pytest.approx(np.column_stack([off.min(1), off.max(1)]), abs=1e-6)
    assert np.asarray(reach.collections[1].get_offsets())[:, 1] == pytest.approx(off.mean(1), abs=1e-6)


def test_a_thousand_classes_are_ordered_by_size_on_logarithmic_axes():
    answer = made_up(1000)
    heat = plots.draw(answer).axes[0]
    assert heat.get_xscale() == "log"
    shown = np.ma.filled(heat.collections[0].get_array(), np.nan)
    gram = np.array([[1.0 if x is None else x for x in row] for row in answer["orbit_cosines"]])
    assert np.isnan(shown[0, 0])  # a class of its own has no pair
    assert shown[0, 1] == pytest.approx(gram[0, 1])
    edges = heat.collections[0].get_coordinates()[0, :, 0].astype(int) - 1
    a, b = slice(*edges[-2:]), slice(*edges[-3:-1])
    assert shown[-1, -2] == pytest.approx(gram[a, b].mean())
    inside = gram[a, a]
    assert shown[-1, -1] == pytest.approx((inside.sum() - len(inside)) / (len(inside) * (len(inside) - 1)))


def test_the_axis_of_angles_is_fitted_so_that_small_bends_are_seen():
    answer = solve(Imbalance(props=[0.7, 0.2, 0.1])).to_dict()
    low, high = plots.draw(answer).axes[-1].get_xlim()
    angles = answer["structure"]["min_angle_deg"], answer["structure"]["max_angle_deg"]
    assert low < angles[0] < angles[1] < high
    assert high - low < 1.5 * (angles[1] - angles[0])
    rows = solve(Sweep(props=[0.5, 0.3, 0.2], over={"temperature": [0.1, 0.5]})).to_dict()
    low, high = plots.draw(rows).axes[0].get_ylim()
    assert 20 <= high - low < 30


def test_what_is_on_an_axis_is_not_in_the_title():
    loss = {"name": "infonce", "temperature": 1, "negatives": 16, "form": "mean", "sampling": "supervised"}
    drawn = plots.draw(solve(Threshold(props=[0.7, 0.2, 0.1], over="majority", loss=loss)).to_dict())
    said, asked = drawn.get_suptitle().splitlines()
    assert said == "Classes 2 and 3 share a point where the largest class has more than 0.7481"
    assert asked == "infonce, temperature 1, negatives 16, sampling supervised, form mean"
    said, asked = plots.draw(solve(Threshold(props=[0.9, 0.06, 0.04])).to_dict()).get_suptitle().splitlines()
    assert (said, asked) == (
        "Classes 2 and 3 share a point above temperature 1.143",
        "supcon; proportions 0.9, 0.06, 0.04",
    )
    swept = plots.draw(solve(Sweep(props=[0.9, 0.06, 0.04], over={"temperature": [0.5, 1, 2]})).to_dict())
    assert swept.get_suptitle().splitlines()[0] == "The smaller classes collapse from temperature 1.143"
    assert "temperature" not in swept.get_suptitle().splitlines()[1]


def test_more_than_two_hundred_pairs_are_a_density():
    answer = {
        "command": "compare", "problem": {"loss": {"name": "supcon"}, "within": 0.1}, "verdict": "not there yet",
        "prediction": {"gram": simplex(30)}, "measured": {"gram": made_up_gram(30)}, "max_gram_error": 0.5,
        "classes": [{"name": str(a)} for a in range(30)],
    }  # fmt: skip
    axes = plots.draw(answer).axes[0]
    cells = axes.collections[0]
    assert type(cells).__name__ == "PolyCollection"
    assert np.asarray(cells.get_array()).sum() == 30 * 29 / 2


def test_the_deciding_eigenvalue_is_magnified():
    answer = solve(Realizable(weighting="yaware", labels=[20, 25, 30], sigma=5, temperature=0.1)).to_dict()
    eigenvalues = plots.draw(answer).axes[1]
    (inset,) = eigenvalues.child_axes
    low, high = inset.get_ylim()
    assert low < answer["target"]["min_eigenvalue"] < 0 < high < 0.01
    assert inset.get_title(loc="left") == "near 0: smallest -0.00178"


def outside(figure):
    """Titles, labels and other texts of a figure that reach beyond its edge, and panel titles that overlap."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    renderer = canvas.get_renderer()
    titles = [figure._suptitle, *(axes._left_title for axes in figure.axes if axes.get_title(loc="left"))]
    flat = [axes for axes in figure.axes if axes.name != "3d"]
    texts = [*titles, *(text for axes in flat for text in (axes.xaxis.label, axes.yaxis.label, *axes.texts))]
    boxes = [(text.get_text(), text.get_window_extent(renderer)) for text in texts if text.get_text().strip()]
    whole = figure.bbox
    cut = [name for name, box in boxes if box.x0 < -2 or box.y0 < -2 or box.x1 > whole.x1 + 2 or box.y1 > whole.y1 + 2]
    extents = [title.get_window_extent(renderer) for title in titles]
    return cut + [
        f"{titles[i].get_text()} on {titles[j].get_text()}"
        for i in range(len(titles))
        for j in range(i)
        if extents[i].overlaps(extents[j])
    ]


ONE_OF_EACH = (
    "questions/what-to-change", "questions/how-many-fit", "trained/compare", "trained/compare-pairs",
    "questions/which-loss", "crossmodal/gap", "rebalancing/design-a-simplex", "latents/rings-all-positives",
    "balanced/two-classes-are-opposite", "levels/stuck-at-6.92", "negatives/two-equal-classes",
    "realizable/yaware-ages", "spectra/no-augmentation-whitens", "thresholds/sweep-into-collapse", "crossmodal/sweep",
    "thresholds/supcon-majority", "crossmodal/thresholds",
)  # fmt: skip
"""Problems of the gallery: one of each kind but for training, which is drawn as a comparison is."""


@pytest.mark.slow
def test_no_title_or_label_is_cut_off_whatever_the_question():
    seen = set()
    for name in ONE_OF_EACH:
        entry = gather([f"problem:{name}"])[0]
        answer = solve(entry.problem).to_dict(full=True)
        seen.add(entry.problem.kind)
        assert outside(plots.draw(answer, style="slide")) == [], name  # larger letters need more room
    assert seen == {kind for kind in kinds() if not kind.startswith("check")}


@pytest.mark.parametrize("k", [3, 10, 100])
def test_no_title_or_label_is_cut_off_whatever_the_number_of_classes(k):
    assert outside(plots.draw(made_up(k))) == []
    long = {"name": "infonce", "temperature": 0.123456, "negatives": 1000, "sampling": "supervised", "form": "mean"}
    answer = {**made_up(k), "problem": {"loss": {**long, "hardness": 0.25, "margin": 0.5}}}
    assert outside(plots.draw(answer, size=(7, 4))) == []


def test_styles_and_sizes(run, tmp_path):
    paper, slide = (plots.draw(made_up(3), style=style) for style in ("paper", "slide"))
    assert slide._suptitle.get_fontsize() == pytest.approx(1.5 * paper._suptitle.get_fontsize())
    assert slide.get_figwidth() > paper.get_figwidth()
    assert plots.draw(made_up(3), size=(6, 3)).get_size_inches().tolist() == [6, 3]
    done = run("imbalance", "--props", "0.7,0.3", "--plot", tmp_path / "a.svg", "--size", "4,2", "--quiet")
    assert done.code == 0
    text = (tmp_path / "a.svg").read_text()
    assert 'width="288pt" height="144pt"' in text
    assert "supcon, temperature 0.1; proportions 0.7, 0.3</text>" in text, "text is text"
    for flags, said in (
        (["--size", "4"], "--size: wanted width and height in inches, 1 to 50: 6,4; got '4'"),
        (["--size", "4,2"], "--size: this is about a picture; name its file by --plot"),
        (["--style", "slide"], "--style: this is about a picture; name its file by --plot"),
    ):
        done = run("imbalance", "--props", "0.7,0.3", *flags)
        assert (done.code, done.stderr) == (2, f"Error: {said}\n")


def test_pdf_text_is_text():
    assert b"/Subtype /Type0" in plots.render(made_up(3), "pdf")  # TrueType, which editors can edit, not outlines


def test_sweep_draws_its_rows_and_marks_collapse():
    report = solve(Sweep(props=[0.8, 0.12, 0.08], over={"temperature": "0.5:3:5"}))
    upper, lower = plots.draw(report.to_dict()).axes
    curves = {line.get_label(): line for line in upper.get_lines()}
    assert curves["smallest"].get_ydata() == pytest.approx([row["min_angle_deg"] for row in report.rows])
    assert lower.get_lines()[0].get_ydata() == pytest.approx([row["value"] for row in report.rows])
    assert any(line.get_xdata()[0] == pytest.approx(report.collapse[0]["temperature"]) for line in upper.get_lines())


def test_phase_diagram_has_every_point():
    over = {"temperature": [0.5, 1.5, 3.0], "majority": [0.6, 0.8, 0.9, 0.95]}
    report = solve(Sweep(props=[0.8, 0.12, 0.08], over=over))
    mesh = plots.draw(report.to_dict()).axes[0].collections[0]
    wanted = np.reshape([row["min_angle_deg"] for row in report.rows], (3, 4))
    assert np.asarray(mesh.get_array()).reshape(3, 4) == pytest.approx(wanted)


def test_stored_phase_diagram_keeps_its_axes():
    report = solve(Sweep(props=[0.8, 0.12, 0.08], over={"temperature": [0.5, 3.0], "majority": [0.6, 0.8, 0.95]}))
    stored = plots.draw(json.loads(to_json(report.to_dict()))).axes[0]
    assert stored.get_xlabel() == "share of the largest class"
    assert stored.get_ylabel() == "temperature"
    wanted = np.reshape([row["min_angle_deg"] for row in report.rows], (2, 3))
    assert np.asarray(stored.collections[0].get_array()).reshape(2, 3) == pytest.approx(wanted)


def test_lines_of_merged_classes_meet():
    answer = solve(Threshold(props=[0.9, 0.06, 0.04])).to_dict()
    axes = plots.draw(answer).axes[0]
    first, second, third = axes.get_lines()[:3]
    assert second.get_ydata()[0] != third.get_ydata()[0]
    assert second.get_ydata()[-1] == third.get_ydata()[-1] != first.get_ydata()[-1]
    assert second.get_xdata()[1] == pytest.approx(answer["threshold"]["value"])


@pytest.mark.slow
def test_other_answers_can_be_drawn():
    for problem in (
        Threshold(props=[0.9, 0.1]),
        Threshold(props=[0.7, 0.2, 0.1], over="majority", loss="triplet"),
        Threshold(props=[0.87, 0.08, 0.05], over="batch", loss={"name": "supcon", "temperature": 1}),
        Levels(batch=64, classes=6, loss_value=5.0),
        Levels(loss="triplet", classes=6),
        Sweep(props=[0.5, 0.5], over={"temperature": [1]}),
        Sweep(props=[0.5, 0.3, 0.2], over={"temperature": [1, 2], "batch": [4]}),
        Sweep(props=[0.5, 0.3, 0.2], over={"negatives": [4, np.inf]}, loss="infonce"),
    ):
        assert plots.render(solve(problem).to_dict(), "svg").startswith(b"<?xml")
    assert plots.draw({"command": "validate"}) is None


def weighting(wanted, attained, similarity="cosine", verdict="inconsistent"):
    """A ``realizable`` answer, as far as its picture looks."""
    return {
        "command": "realizable",
        "problem": {"weighting": "yaware", "temperature": 0.1},
        "labels": [{"name": f"age {20 + 5 * i}", "count": 1} for i in range(3)],
        "wanted": wanted,
        "attained": attained,
        "similarity": similarity,
        "latents": {"noun": LATENTS[similarity].noun, "unit": LATENTS[similarity].unit},
        "verdict": verdict,
    }


def test_realizable_shows_what_was_wanted_and_what_came():
    wanted = [[None, -0.25, -4.0], [-0.25, None, -0.25], [-4.0, -0.25, None]]
    attained = [[None, -0.25, -0.875], [-0.25, None, -0.25], [-0.875, -0.25, None]]
    pairs, eigenvalues, labels = plots.draw(weighting(wanted, attained)).axes
    assert pairs.collections[0].get_offsets().tolist() == [[-0.25, -0.25], [-4, -0.875], [-0.25, -0.25]]
    full = np.array(wanted, dtype=float)
    np.fill_diagonal(full, 1)
    shown = np.concatenate([np.asarray(points.get_offsets())[:, 1] for points in eigenvalues.collections[:2]])
    assert np.sort(shown) == pytest.approx(np.linalg.eigvalsh(full))
    assert np.asarray(eigenvalues.collections[1].get_offsets())[:, 1] == pytest.approx(
        [np.linalg.eigvalsh(full)[0]]
    )  # in orange
    assert labels.get_title(loc="left") == "Labels (exact)"


def test_realizable_euclidean_degenerate_and_without_labels():
    line = [[0, 1, 4], [1, 0, 1], [4, 1, 0]]
    drawn = plots.draw(weighting(line, line, "euclidean", "realizable"))
    assert drawn.axes[2].get_title(loc="left") == "Labels in the plane (exact)"
    x, y = np.asarray(drawn.axes[2].collections[0].get_offsets()).T
    assert np.abs(np.diff(np.sort(x))) == pytest.approx([1, 1], abs=1e-4)
    assert y == pytest.approx(0, abs=1e-3)
    assert plots.render(weighting(None, None, "euclidean", "degenerate"), "svg").startswith(b"<?xml")
    assert plots.draw({"command": "realizable", "cases": []}) is None


def test_capacity_shows_the_points_and_their_cosines_beside_the_bound():
    report = solve(Capacity(classes=7, dim=2))
    circle, cosines = plots.draw(report.to_dict()).axes
    points = np.asarray(circle.collections[0].get_offsets())
    assert points @ points.T == pytest.approx(report.gram, abs=1e-5)
    pairs, bound = cosines.get_lines()
    assert pairs.get_ydata() == pytest.approx(np.sort(report.gram[np.triu_indices(7, 1)])[::-1])
    assert pairs.get_xdata().tolist() == list(range(1, 22))
    assert set(bound.get_ydata()) == {report.bound["max_cosine"]}


def test_capacity_of_many_classes_shows_the_closest_and_the_farthest_pair():
    gram = made_up_gram(100)
    bound = {"name": "Levenshtein", "max_cosine": 0.3}
    answer = {"command": "capacity", "problem": {"classes": 100, "dim": 8}, "gram": gram.tolist(), "bound": bound}
    (axes,) = plots.draw({**answer, "optimal": None, "best_min_angle_deg": 60.0}).axes
    drawn, off = axes.get_lines()[0], gram[np.triu_indices(100, 1)]
    assert drawn.get_xdata()[[0, -1]].tolist() == [1, off.size]
    assert drawn.get_ydata()[[0, -1]].tolist() == [off.max(), off.min()]
    assert np.all(np.diff(drawn.get_ydata()) <= 0)


def test_compare_shows_every_pair_and_the_worst_in_orange(tmp_path):
    y = np.repeat([0, 1, 2], [5, 3, 2])
    np.save(tmp_path / "z.npy", np.array([[1.0, 0, 0], [0, 1, 0], [-0.6, 0.8, 0]])[y])
    np.save(tmp_path / "y.npy", y)
    report = solve(Compare(embeddings="z.npy", labels="y.npy", base=tmp_path, within=0.2))
    (axes,) = plots.draw(report.to_dict()).axes
    pairs, worst, band = axes.collections
    assert np.asarray(pairs.get_offsets())[:, 1] == pytest.approx([0, -0.6, 0.8])
    assert np.asarray(pairs.get_offsets())[:, 0] == pytest.approx(report.prediction.gram[np.triu_indices(3, 1)])
    assert worst.get_offsets().tolist() == [pairs.get_offsets().tolist()[2]]
    assert axes.get_title(loc="left").endswith(f"{report.max_gram_error:.2g}, 1 / 2")
    x, y = band.get_paths()[0].vertices.T
    assert np.abs(y - x) == pytest.approx(0.2)
    assert plots.draw({"command": "compare", "measured": {"nc1": 0.0}}) is None


def test_logarithmic_axes_only_for_uneven_values():
    assert spaced_in_log([0.1, 1, 10])
    assert not spaced_in_log(np.linspace(0.1, 3, 20).tolist())
    assert not spaced_in_log([0, 1, 100])


def test_every_question_has_a_picture():
    same = {kind.removesuffix("_weighting").removesuffix("_crossmodal") for kind in kinds()}  # of a check, a sweep, ...
    assert set(plots.pictured()) == same


def test_solve_draws_as_the_command_does_and_more_classes_than_are_written_down(run, tmp_path):
    (tmp_path / "a.yaml").write_text("kind: capacity\nclasses: 65\ndim: 64\n")
    done = run("solve", tmp_path / "a.yaml", "--plot", tmp_path / "a.png", "--json")
    assert done.code == 0
    assert "gram" not in done.json
    run("capacity", "--classes", 65, "--dim", 64, "--plot", tmp_path / "b.png", "--quiet")
    assert (tmp_path / "a.png").read_bytes() == (tmp_path / "b.png").read_bytes()


def test_compare_draws(run, tmp_path):
    np.save(tmp_path / "z.npy", np.eye(3)[[0, 1, 2, 0]])
    np.save(tmp_path / "y.npy", [0, 1, 2, 0])
    run("compare", tmp_path / "z.npy", "--labels", tmp_path / "y.npy", "--plot", tmp_path / "a.svg", "--quiet")
    assert (tmp_path / "a.svg").read_bytes().startswith(b"<?xml")


@pytest.mark.parametrize("arguments", [("capacity", "--classes", 3, "--dim", 2, "--out", "a.svg"), ("solve", "a.svg")])
def test_a_picture_replaces_nothing_that_is_needed(run, tmp_path, monkeypatch, arguments):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.svg").write_text("kind: capacity\nclasses: 3\ndim: 2\n")
    done = run(*arguments, "--plot", "a.svg")
    assert (done.code, done.stdout) == (2, "")
    assert done.stderr.startswith("Error: --plot: 'a.svg' is needed for something else")
    assert (tmp_path / "a.svg").read_text().startswith("kind")


def test_command_draws(run, tmp_path):
    done = run("imbalance", "--props", "0.7,0.2,0.1", "--plot", tmp_path / "a.svg", "--quiet")
    assert done.code == 0
    assert (tmp_path / "a.svg").read_bytes().startswith(b"<?xml")
    assert [path.name for path in tmp_path.iterdir()] == ["a.svg"]


@pytest.mark.parametrize(
    "arguments", ["--weighting yaware --labels 20,25,30 --sigma 5", "--weighting euclidean --labels grid:2x3",
                  "--weighting supcon --labels classes:5,3,2", "--weighting yaware --labels circle:8 -t 1.2 --dim 2"]
)  # fmt: skip
def test_realizable_draws(run, tmp_path, arguments):
    done = run("realizable", *arguments.split(), "--plot", tmp_path / "a.svg", "--quiet")
    assert done.code in (0, 1)
    assert (tmp_path / "a.svg").read_bytes().startswith(b"<?xml")


def test_an_answer_without_picture_says_so(run, tmp_path):
    done = run("realizable", "--weighting", "euclidean", "--plot", tmp_path / "a.svg")
    assert (done.code, done.stdout) == (2, "")
    assert done.stderr == "Error: --plot: there is no picture of this answer; leave --plot out\n"


@pytest.mark.parametrize("name", ["a.gif", "a", "no/such/folder/a.png"])
def test_a_bad_file_is_refused_before_solving(run, tmp_path, name):
    done = run("imbalance", "--props", "0.7,0.2,0.1", "--plot", tmp_path / name)
    assert (done.code, done.stdout) == (2, "")
    assert done.stderr.startswith("Error: --plot: ")
    assert list(tmp_path.iterdir()) == []


def test_without_matplotlib_one_message_says_what_to_install(run, tmp_path, monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *_: None)
    done = run("imbalance", "--props", "0.7,0.2,0.1", "--plot", tmp_path / "a.png")
    assert (done.code, done.stdout) == (2, "")
    assert done.stderr == "Error: --plot: pictures need matplotlib: pip install 'geomsolve[plot]'\n"
    with pytest.raises(InputError, match="matplotlib"):
        plots.check_file("a.png")


def test_ranges_are_bars_with_the_optimum_on_them():
    report = solve(Imbalance(props=[0.7, 0.2, 0.1], loss={"name": "supcon", "temperature": 0.5}, slack=1e-4))
    axes = plots.draw(report.to_dict()).axes[-1]
    assert [text.get_text() for text in axes.get_yticklabels()] == ["1 / 2", "1 / 3", "2 / 3"]
    ends = [(bar.get_x(), bar.get_x() + bar.get_width()) for bar in axes.patches]
    # published: the ranges of pairs 1-2 and 2-3, and the optimal cosine of the latter
    assert ends[0] == pytest.approx((-0.7154857586, -0.6583379914), abs=1e-8)
    assert ends[2] == pytest.approx((-0.2334630729, -0.1571239416), abs=1e-8)
    assert axes.collections[-1].get_offsets()[2, 0] == pytest.approx(-0.195271, abs=1e-6)


def test_many_ranges_show_the_widest_and_the_narrowest():
    answer = made_up(10)
    names = [entry["name"] for entry in answer["classes"]]
    pairs = [
        {"classes": [a, b], "low": -0.01 * (i + 1), "high": 0.01 * (i + 1), "certified": True}
        for i, (a, b) in enumerate((a, b) for a in names for b in names if a < b)
    ]
    answer["ranges"] = {"slack": 1e-5, "pairs": pairs, "complete": True, "minority_mean": None}
    axes = plots.draw(answer).axes[-1]
    widths = [round(bar.get_width() * 50) for bar in axes.patches]
    assert widths == [*range(1, 8), *range(38, 46)]
    assert "15 of 45 pairs" in axes.get_title(loc="left")


def test_a_sweep_leaves_open_angles_out():
    report = solve(Sweep(props=[0.7, 0.2, 0.1], over={"temperature": [0.001, 0.1, 0.5]}))
    shown = plots.draw(report.to_dict()).axes[0].lines[0].get_ydata()
    assert np.isnan(shown[0])
    assert np.isfinite(shown[1:]).all()
