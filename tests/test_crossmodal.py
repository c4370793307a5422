"""The question of two sides as a user asks it: images and texts, features and classifiers."""

from __future__ import annotations

from math import exp, log, sqrt

import numpy as np
import pytest

from geomsolve import Crossmodal, InputError, solve

NOISY = ".3,.02,.02,.06;.01,.2,.02,.07;.02,.03,.18,.07"


def ask(**flags):
    return solve(Crossmodal(**flags))


@pytest.mark.parametrize(
    ("k", "scale", "bias", "value", "own", "other", "gap"),
    [
        (8, 10, 0, 0.13035816004, 0.32124317, -0.43375293, 1.16512388),
        (8, 5, -2, 0.42262813442, 0.79373235, -0.23125757, 0.64228911),
        (4, 5, 0, 0.31555893717, 0.5, -0.5, 1.0),
        (32768, 10, -10, 2.13049495901, 0.95814488, None, 0.28932721787),
    ],
)
def test_balanced_siglip(k, scale, bias, value, own, other, gap):
    report = ask(props=[1 / k] * k, loss={"name": "siglip", "temperature": 1 / scale, "bias": bias})
    assert report.value == pytest.approx(value, abs=1e-9)
    assert report.certified
    assert report.tied is False
    assert report.gram.cross[0, 1] == pytest.approx(own, abs=1e-8)
    off = ((k - 2) * own - k) / (2 * (k - 1))
    assert report.gram.cross[0, 0] == pytest.approx(off, abs=1e-8)
    assert other is None or off == pytest.approx(other, abs=1e-8)
    assert report.modality_gap["value"] == pytest.approx(gap, abs=1e-7)
    assert report.modality_gap["value"] == pytest.approx(2 * sqrt((1 + (k - 1) * (1 - own + off)) / k), abs=1e-7)


def test_when_siglip_wants_a_simplex():
    """Up to 22,039 pairs at the published start; opposite points without a bias iff 1/t <= log((K - 2)/2)."""
    for k, coincide in ((22_039, True), (22_040, False)):
        report = ask(counts=[1] * k, loss={"name": "siglip", "temperature": 0.1, "bias": -10})
        assert report.tied is coincide
        assert (report.structure["kind"] == "regular simplex") is coincide
    edge = log(98 / 2)
    for scale, kind in ((edge - 1e-4, "antipodal"), (edge + 1e-2, "apart")):
        report = ask(counts=[1] * 100, loss={"name": "siglip", "temperature": 1 / scale})
        assert report.structure["kind"] == kind
        assert report.certified


def test_clip_of_a_joint(run):
    answer = run("crossmodal", "--pairs", NOISY, "--loss", "clip", "-t", 1, "--json")
    assert answer.code == 0
    found = answer.json
    assert found["value"] == pytest.approx(-0.402379750939, abs=1e-9)
    assert found["modality_gap"]["value"] == pytest.approx(0.115956946, abs=1e-8)
    assert found["certified"]
    assert found["unique"] is True
    assert found["tied"] is None
    first, cross, second = (np.array(found[key]) for key in ("first", "cross", "second"))
    whole = np.block([[first, cross], [cross.T, second]])
    assert np.linalg.eigvalsh(whole)[0] > -1e-12
    assert np.diag(whole) == pytest.approx(1, abs=1e-12)
    text = run("crossmodal", "--pairs", NOISY, "-t", 1).stdout
    assert text.startswith("clip puts an image 4.7° to 5.8° from its own text")
    assert "Proven" in text
    assert "Modality gap 0.115957" in text
    assert "Gram" not in text


def test_noise_leaves_many_optima(run):
    """K = 4 with a tenth of random texts is expressed exactly below .36925: then every force vanishes."""
    text = run("crossmodal", "--props", "4*.25", "--noise", 0.1, "-t", 0.2).stdout
    assert text.startswith("Images and texts can coincide but need not")
    other = run("crossmodal", "--pairs", ".5,.1,.1;.1,.1,.3", "-t", 0.5).stdout
    assert other.startswith("In one of many arrangements with the same loss, clip puts an image")
    # cos = 1 + t (log nu - log on) of weights .025 off and .925 on the diagonal, in multiples of 1/4
    report = ask(props=[0.25] * 4, noise=0.1, loss={"name": "clip", "temperature": 0.2})
    delta = log(1 + 4 * 0.9 / 0.1)
    assert report.gram.cross[0, 1] - report.gram.cross[0, 0] == pytest.approx(0.2 * delta, abs=1e-7)
    information = 0.25 * 4 * (0.925 * log(0.925 * 4) + 3 * 0.025 * log(0.025 * 4))
    assert report.value == pytest.approx(-information, abs=1e-9)
    assert report.unique is False
    assert report.tied is True
    colder = ask(props=[0.25] * 4, noise=0.1, loss={"name": "clip", "temperature": 0.4})
    assert colder.structure["kind"] == "regular simplex"
    assert colder.unique is True


def test_what_strict_convexity_says_linear_algebra_confirms(monkeypatch):
    """Two routes to uniqueness; the first for any number of points."""
    from geomsolve.proof import paired_uniqueness

    clip, siglip = {"name": "clip", "temperature": 0.5}, {"name": "siglip", "temperature": 0.1, "bias": -10}
    questions = [
        {"props": [0.7, 0.2, 0.1], "loss": clip},
        {"props": [0.25] * 4, "loss": clip},
        {"props": [0.25] * 4, "loss": clip, "noise": 0.1},
        {"pairs": [[0.5, 0.1, 0.1], [0.1, 0.1, 0.3]], "loss": clip},  # expressed exactly, so in many ways
        {"props": [1 / 8] * 8, "loss": {**siglip, "bias": 0}},
    ]
    quick = [ask(**question).unique for question in questions]
    monkeypatch.setattr(paired_uniqueness, "strictly", lambda *_: False)
    assert [ask(**question).unique for question in questions] == quick == [True, True, True, False, True]
    monkeypatch.undo()
    assert ask(counts=[1] * 32_768, loss=siglip).unique is True
    expressed = {"name": "clip", "temperature": 0.2}
    assert ask(props=[0.25] * 4, loss=expressed, noise=0.1).unique is False


def test_cosine_softmax_of_features_and_classifiers(run):
    found = run("crossmodal", "--props", "0.7,0.2,0.1", "--loss", "cosine-softmax", "-t", 0.5, "--json").json
    assert found["value"] == pytest.approx(0.08343503941, abs=1e-9)
    assert np.array(found["second"])[[0, 0, 1], [1, 2, 2]] == pytest.approx(
        [-0.76840629, -0.63498621, -0.00645852], abs=1e-7
    )
    assert np.array(found["first"])[[0, 0, 1], [1, 2, 2]] == pytest.approx(
        [-0.50157506, -0.49430005, -0.50410766], abs=1e-7
    )
    assert found["tied"] is False
    text = run("crossmodal", "--props", "0.7,0.2,0.1", "--loss", "cosine-softmax", "-t", 0.5).stdout
    assert text.startswith("Features and classifiers do not coincide")


def test_batches_tend_to_the_limit(run):
    """In a batch of two pairs of two classes, half of the other pairs are of the other class."""
    small = run("crossmodal", "--props", "1/2,1/2", "-t", 1, "--batch", 2, "--json").json
    assert small["tied"] is True
    assert small["value"] == pytest.approx((log(2) + log(1 + exp(-2))) / 2, abs=1e-12)
    limit = ask(props=[0.7, 0.2, 0.1], loss={"name": "clip", "temperature": 0.5}).value
    off = [
        ask(props=[0.7, 0.2, 0.1], loss={"name": "clip", "temperature": 0.5, "batch": b}).value - log(b) - limit
        for b in (1000, 10_000)
    ]
    assert abs(off[0]) < 1e-2
    assert off[1] == pytest.approx(off[0] / 10, rel=0.05)


def test_captions_that_are_alike_are_one():
    five = np.repeat(np.eye(3) + 0.05, 5, axis=1)
    one = ask(pairs=np.eye(3) + 0.05, loss={"name": "clip", "temperature": 0.3})
    many = ask(pairs=five, loss={"name": "clip", "temperature": 0.3})
    assert many.value == pytest.approx(one.value, abs=1e-12)
    assert many.counts == (3, 15)
    first, cross, second = many.matrices()
    assert (first.shape, cross.shape, second.shape) == ((3, 3), (3, 15), (15, 15))
    assert second[:5, :5] == pytest.approx(1, abs=1e-12)
    assert cross[0, :5] == pytest.approx(one.matrices()[1][0, 0], abs=1e-8)
    everything = ask(pairs=[[1, 1], [1, 1]], loss={"name": "clip"})
    assert everything.structure["kind"] == "collapsed"  # the angle between the sides is free
    assert everything.value == pytest.approx(0, abs=1e-12)
    assert everything.unique is False


def test_limited_dimension_is_not_certified(run):
    """Two dimensions hold three points at 120 degrees, but not four at 109.5."""
    enough = run("crossmodal", "--props", "3*1/3", "-t", 0.5, "--dim", 2, "--json")
    assert enough.code == 0
    assert enough.json["dimension_limited"] is False
    little = run("crossmodal", "--props", "4*1/4", "-t", 0.5, "--dim", 2)
    assert little.code == 1
    assert "not certified" in little.stdout
    found = run("crossmodal", "--props", "4*1/4", "-t", 0.5, "--dim", 2, "--json").json
    assert found["dimension_limited"] is True
    # four pairs at right angles
    best = log((1 + 2 * exp(-2) + exp(-4)) / 4)
    assert found["value"] == pytest.approx(best, abs=1e-9)
    assert found["value"] > found["lower_bound"]


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (("--pairs", "1,-1;-3,2"), "--pairs: the weight in row 1, column 2 is -1"),
        (("--pairs", "0,0;0,0"), "--pairs: all weights are 0"),
        (("--pairs", "1,0;0,0"), "--pairs: row 2 has no pair"),
        (("--pairs", "1,0;1,0"), "--pairs: column 2 has no pair"),
        (("--pairs", "1,2;3"), "--pairs: all rows must have 2 entries"),
        (("--pairs", "1,2"), "--pairs: wanted at least two images"),
        (("--pairs", "1,0;0,1", "--noise", 0.1), "--noise: it is for classes"),
        (("--pairs", "1,0;0,1", "--props", "1/2,1/2"), "exactly one of"),
        (("--props", "1/2,1/2", "--noise", 2), "--noise"),
        (("--props", "1/2,1/2", "--loss", "sub-center-arcface"), "it has several classifiers a class; arcface has one"),
        (("--props", "1/2,1/2", "--loss", "arcface", "--gap", 1), "arcface is not convex, so that no price"),
        (("--props", "1/2,1/2", "--loss", "arcface", "--solver", "conic"), "not convex and searched for by descent"),
        (("--props", "1/2,1/2", "--loss", "clip", "--bias", 1), "--bias: the loss clip does not use this"),
        (("--props", "1/2,1/2", "--loss", "supcon"), "--loss: supcon is no loss of two sides"),
        (("--props", "1/2,1/2", "--solver", "dual"), "--solver"),
        (("--props", "1/2,1/2", "-t", 1e-3, "--batch", 8), "--temperature: too low for an exact expectation"),
        (("--counts", "101*1", "--dim", 2), "--dim: in limited dimension every point"),
        ((), "exactly one of"),
    ],
)
def test_questions_that_make_no_sense(run, flags, words):
    ended = run("crossmodal", *flags)
    assert ended.code == 2
    assert ended.stdout == ""
    assert words in " ".join(ended.stderr.split())


def test_too_many_points_are_refused_with_the_memory():
    with pytest.raises(InputError, match=r"6,000 distinct images and texts would need about \d+ GiB of memory"):
        ask(counts=range(1, 3001), loss={"name": "clip"})


def test_whose_sign_the_bias_has(run):
    assert "the bias is added" in run("crossmodal", "--loss", "siglip", "--bias", 10, "--props", "5*.2").stderr
    published = run("crossmodal", "--loss", "siglip", "--bias", -10, "--props", "5*.2")
    assert published.stderr == ""
    assert "batch 5" in published.stdout
    help_text = " ".join(run("crossmodal", "--help").stdout.split())
    assert "added to the logit" in help_text
    assert "siglip" in run("list", "losses").stdout
    assert run("imbalance", "--loss", "siglip", "--props", "1/2,1/2").code == 2


def test_pictures(run, tmp_path):
    from geomsolve import plots

    report = ask(props=[0.7, 0.2, 0.1], loss={"name": "cosine-softmax", "temperature": 0.5})
    cross, plane = (axes for axes in plots.draw(report.to_dict()).axes if axes.get_title(loc="left"))
    assert np.asarray(cross.images[0].get_array()) == pytest.approx(report.matrices()[1])
    _, *links = plane.lines
    own = [line.get_xydata() for line in links[:3]]
    images, texts = (np.asarray(dots.get_offsets()) for dots in plane.collections)
    assert np.array(own) == pytest.approx(np.stack([images, texts], axis=1))
    many = ask(counts=[1] * 1000, loss={"name": "siglip", "temperature": 0.1, "bias": -10})
    (axes,) = plots.draw(many.to_dict()).axes
    assert axes.get_yticklabels()[0].get_text() == "image and own text"
    done = run("crossmodal", "--pairs", NOISY, "-t", 1, "--plot", tmp_path / "a.svg", "--quiet")
    assert done.code == 0
    assert (tmp_path / "a.svg").read_text().startswith("<?xml")


@pytest.mark.parametrize("temperature", [0.01, 0.03, 0.05])
def test_clean_pairs_have_one_optimum_at_every_temperature(temperature, run):
    """Where other arrangements differ from it by less than rounding, too.  To the first order in the temperature t all
    pairs of classes then push alike, (p_a + p_b) e^{(C_ab - 1)/t} is one number: at a simplex S = u u' with u = 1."""
    report = ask(props=[0.7, 0.2, 0.1], loss={"name": "clip", "temperature": temperature}, gap=0.5)
    assert (report.certified, report.tied, report.unique) == (True, True, True)
    gap = report.modality_gap
    assert (gap["low"], gap["high"], gap["exact"]) == (0, 0, True)
    p = np.array([0.7, 0.2, 0.1])
    level = report.gram.cross[:, :-1] / temperature + np.log(p[:, None] + p)
    off = level[~np.eye(3, dtype=bool)]
    assert np.ptp(off) < 3 * temperature
    said = " ".join(
        run("crossmodal", "--props", ".7,.2,.1", "-t", temperature, "--gap", 0.5).stdout.replace("\n", " ").split()
    )
    assert "costs less than 1e-12 nats (proven): training will not see it" in said
    assert "It is the only optimum" in said


@pytest.mark.parametrize("temperature", [0.02, 0.05])
def test_features_and_classifiers_part_at_every_temperature(temperature):
    """Unequal classes: never quite together, the farther the higher the temperature."""
    loss = {"name": "cosine-softmax", "temperature": temperature}
    report = ask(props=[0.7, 0.2, 0.1], loss=loss)
    warmer = ask(props=[0.7, 0.2, 0.1], loss={**loss, "temperature": 2 * temperature})
    assert (report.tied, report.unique) == (False, True)
    ratio = warmer.modality_gap["value"] / report.modality_gap["value"]
    assert ratio == pytest.approx(2, abs=0.5)


def test_negatives_keep_their_digits_where_one_pair_holds_almost_everything():
    """Against the definition in fractions: 1 - p has no digits in doubles beside a p of 1 - 1e-18."""
    from fractions import Fraction

    from geomsolve.objectives.cross import Joint
    from geomsolve.pair_losses.siglip import Siglip

    tiny = 1e-18
    for matrix in ([[1, tiny], [tiny / 3, tiny]], [[1, tiny, 0], [tiny, 2 * tiny, tiny], [0, 0, 3 * tiny]]):
        whole = sum(Fraction(x) for row in matrix for x in row)
        pi = [[Fraction(x) / whole for x in row] for row in matrix]
        p, q = [sum(row) for row in pi], [sum(column) for column in zip(*pi, strict=True)]
        wanted = [
            [float(3 * a * (b - x) / (1 - a) + 3 * b * (a - x) / (1 - b)) for b, x in zip(q, row, strict=True)]
            for a, row in zip(p, pi, strict=True)
        ]
        joint = Joint.of(np.array(matrix), merge=False)
        found = joint.paired.lift_cross(Siglip(batch=7).negatives(joint))
        assert found == pytest.approx(np.array(wanted), rel=1e-13, abs=0)


@pytest.mark.parametrize("matrix", [[[2, 0, 1], [2, 0, 1], [0, 3, 1]], [[1, 1, 0, 0], [0, 0, 2, 2]], [[2, 1], [1, 2]]])
def test_negatives_of_points_that_are_one_are_those_of_all_that_were_given(matrix):
    from geomsolve.objectives.cross import Joint
    from geomsolve.pair_losses.siglip import Siglip

    pi = np.array(matrix) / np.sum(matrix)
    p, q = pi.sum(axis=1, keepdims=True), pi.sum(axis=0, keepdims=True)
    wanted = 3 * (p * (q - pi) / (1 - p) + q * (p - pi) / (1 - q))
    joint = Joint.of(pi)
    found = joint.paired.lift_cross(Siglip(batch=7).negatives(joint))
    pooled = np.zeros_like(found)
    np.add.at(pooled, (joint.first_point[:, None], joint.second_point[None, :]), wanted)
    assert found == pytest.approx(pooled, rel=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["clip", "siglip", "cosine-softmax"])
def test_points_cone_and_descent_agree_on_random_joints(name):
    """Three routes: Newton steps on the points, a conic program, and torch on the loss as it is defined."""
    torch = pytest.importorskip("torch")
    from geomsolve.objectives.cross import Joint
    from geomsolve.pair_losses import make_pair_loss
    from geomsolve.solvers.two_sides import solve_two_sides

    rng = np.random.default_rng(16)
    for round_ in range(6):
        n, m = rng.integers(2, 6, 2)
        pi = rng.dirichlet(np.full(n * m, (0.3, 1, 5)[round_ % 3])).reshape(n, m)
        scale = float(rng.choice([1, 2, 5, 14]))
        bias = float(rng.uniform(-1.2, 0.5) * scale)
        own = {"temperature": 1 / scale, **({"bias": bias} if name == "siglip" else {})}
        sides = Joint.of(pi)
        objective = make_pair_loss(name, own).objective(sides)
        points, cone = (solve_two_sides(objective, sides, solver=one).certificate for one in ("manifold", "conic"))
        size = max(1.0, abs(points.value))
        assert points.value == pytest.approx(cone.value, abs=1e-8 * size)
        joint = torch.tensor(pi / pi.sum())
        p, q = joint.sum(1, keepdim=True), joint.sum(0, keepdim=True)

        def defined(z, n=n, m=m, joint=joint, p=p, q=q, scale=scale, bias=bias):
            unit = z / z.norm(dim=1, keepdim=True)
            cosines = scale * unit[:n] @ unit[n:].T
            if name == "siglip":
                far = (p * (q - joint) / (1 - p) + q * (p - joint) / (1 - q)) * (max(n, m) - 1) / 2
                log_sigmoid = torch.nn.functional.logsigmoid
                return -(joint * log_sigmoid(cosines + bias) + far * log_sigmoid(-cosines - bias)).sum()
            rows, columns = torch.logsumexp(cosines + q.log(), 1), torch.logsumexp(cosines + p.log(), 0)
            if name == "clip":
                return (p[:, 0] @ rows + q[0] @ columns) / 2 - (joint * cosines).sum()
            return p[:, 0] @ torch.logsumexp(cosines, 1) - (joint * cosines).sum()

        z = torch.randn(n + m, n + m, dtype=torch.float64, generator=torch.Generator().manual_seed(round_))
        z.requires_grad_()
        steps = torch.optim.LBFGS([z], max_iter=60, line_search_fn="strong_wolfe")

        def closure(z=z, steps=steps, defined=defined):
            steps.zero_grad()
            value = defined(z)
            value.backward()
            return value

        steps.step(closure)
        reached = defined(z).item()
        assert reached >= points.lower_bound - 1e-12 * size
        assert reached <= points.value + 1e-3 * size


@pytest.mark.slow
@pytest.mark.parametrize(
    ("asked", "reached"),
    [
        ({"props": [0.2] * 5, "loss": {"name": "clip", "temperature": 0.02, "batch": 8}}, False),
        ({"props": [0.2] * 5, "loss": {"name": "siglip", "temperature": 0.01, "bias": -10}}, False),
        ({"pairs": [[3, 1, 0], [0, 2, 1], [1, 0, 3]], "loss": {"name": "siglip", "temperature": 0.01}}, False),
        ({"props": [0.2] * 5, "noise": 1e-12, "loss": {"name": "clip", "temperature": 0.02}}, True),
    ],
)
def test_rounding_is_no_second_optimum(asked, reached):
    """Strictly convex in the cosines between the sides: above the floor these fix the rest, and no force is 0; at the
    floor the cosines are given, and the rest is free.  No range of gaps is narrower than what was found."""
    report = ask(**asked)
    gap = report.modality_gap
    assert report.attainable["reached"] is reached
    assert report.unique is (False if reached else None)
    assert gap["low"] <= gap["value"] <= gap["high"]


@pytest.mark.parametrize("loss", ["clip", "siglip", "cosine-softmax"])
def test_one_dimension_is_the_best_of_all_signs(loss):
    """Four classes at two points: every way to put images and texts there, by the formulas of the losses."""
    p, t = np.array([0.4, 0.3, 0.2, 0.1]), 0.5
    far = p[:, None] * p / (1 - p[:, None]) * (1 - np.eye(4))
    far = 3 * (far + far.T) / 2

    def value(c):
        if loss == "siglip":
            return p @ np.logaddexp(0, -np.diag(c)) + np.sum(far * np.logaddexp(0, c))
        rows = p @ np.log(np.exp(c) @ (p if loss == "clip" else np.ones(4))) - p @ np.diag(c)
        return rows if loss != "clip" else (rows + p @ np.log(np.exp(c.T) @ p) - p @ np.diag(c)) / 2

    signs = np.array(list(np.ndindex(*[2] * 8))) * 2.0 - 1
    best = min(value(np.outer(s[:4], s[4:]) / t) for s in signs)
    assert ask(props=p.tolist(), loss={"name": loss, "temperature": t}, dim=1).value == pytest.approx(best, abs=1e-12)


def test_collapse_is_said_as_far_as_it_is_known(run):
    """Where the loss is the same for all that is alike, collapse is one arrangement of many; where classes share a
    point at the only optimum, they are named."""
    free = " ".join(run("crossmodal", "--props", "0.5,0.3,0.2", "--noise", 1).stdout.split())
    assert free.startswith("Collapse is one of many arrangements with the same loss: clip can have all images and")
    assert "from 0 to 2 among all optima" in free
    text = " ".join(
        run("crossmodal", "--names", "a,b,c", "--props", "0.98,0.01,0.01", "-t", 2, "--quiet").stdout.split()
    )
    assert text == (
        "Images and texts coincide: clip wants every image to lie exactly on its own text, and classes b and c at one "
        "point, 180.0° from the others."
    )


def test_logit_adjustment_is_held_against_cross_entropy(run):
    """All at two points above the threshold: -sum p log(p e^1/tau / sum ...) of adjusted logits."""
    p, c = np.array([0.98, 0.01, 0.01]), np.array([[1, -1, -1], [-1, 1, 1], [-1, 1, 1]]) / 2
    shown = p @ (np.log(np.exp(c) @ p) - np.diag(c) - np.log(p))
    flags = ("--props", "0.98,0.01,0.01", "-t", 2, "--loss", "cosine-softmax", "--prior", "props")
    assert f"is {shown:.6g} here" in " ".join(run("crossmodal", *flags).stdout.split())
