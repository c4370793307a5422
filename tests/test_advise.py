"""What to change.  Numbers: derived and solved independently; every option is solved again by another solver."""

from __future__ import annotations

import io
import shlex

import numpy as np
import pytest
from rich.console import Console

from geomsolve import Advise, Imbalance, InputError, SolverError, make_loss, plots, solve
from geomsolve.analyses.changes import changed
from geomsolve.analyses.needed import Bound, Look, least_change
from geomsolve.cli.commands.advise import show
from geomsolve.questions.spelled import command_line

FIVE = (0.5, 0.3, 0.1, 0.06, 0.04)
RARE = (0.95, 0.03, 0.02)


def advice(props, temperature, want="separate", **how):
    return solve(Advise(props=props, want=want, loss={"name": "supcon", "temperature": temperature, **how}))


def option(report, **change):
    (found,) = [option for option in report.options if option.change == change]
    return found


@pytest.fixture(scope="module")
def five():
    return advice(FIVE, 2)


@pytest.mark.parametrize(
    ("change", "largest", "helps"),
    [
        ({"denominator": "balanced"}, 0.991476, False),
        ({"anchor_weights": "balanced"}, 0.986676, False),
        ({"sampler": "sqrt"}, 0.103119, True),
        ({"sampler": "balanced"}, -0.25, True),
        ({"anchor_weights": "balanced", "denominator": "balanced"}, -0.25, True),
    ],
)
def test_popular_changes_that_help_and_that_harm(five, change, largest, helps):
    found = option(five, **change)
    assert np.cos(np.radians(found.min_angle_deg)) == pytest.approx(largest, abs=2e-6)
    assert found.helps is helps
    assert found.certified


def test_now_is_the_plain_answer(five):
    plain = five.to_dict()["now"]
    assert np.cos(np.radians(plain["min_angle_deg"])) == pytest.approx(0.464519, abs=2e-6)
    assert plain["structure"] == "general"
    assert plain["certified"] is True


def test_the_best_comes_first_and_what_harms_last(five):
    assert five.options[0].change == {"sampler": "balanced"}
    assert five.options[0].reached
    helping = [found.helps for found in five.options]
    assert helping == sorted(helping, reverse=True)
    kept = [found for found in five.options if found.helps and "merge" not in found.change]
    order = [(not found.reached, "loss" in found.change, -round(found.minority_angle_deg, 4)) for found in kept]
    assert order == sorted(order)
    assert "merge" in [found for found in five.options if found.helps][-1].change  # which gives up classes


def test_a_change_of_a_setting_comes_before_another_loss():
    """A temperature of 0.97 is enough; another loss has wider angles, but is to be tuned anew."""
    report = solve(Advise(counts=[20, 6, 4], loss={"name": "supcon", "temperature": 1, "full_batch": True}))
    assert list(report.options[0].change) == ["temperature"]
    assert option(report, loss="align-uniform").min_angle_deg > report.options[0].min_angle_deg + 10


def test_the_value_that_is_needed_reaches_and_a_little_less_does_not(five):
    (needed,) = [found.change["temperature"] for found in five.options if "temperature" in found.change]
    alphas = [found.change["sampler"] for found in five.options if "sampler" in found.change]
    (alpha,) = [x for x in alphas if not isinstance(x, str)]
    for name, value, other in (("temperature", needed, needed * 1.01), ("sampler", alpha, alpha + 0.01)):
        loss = {"name": "supcon", "temperature": 2}
        reached, short = (
            solve(Imbalance(props=FIVE, loss={**loss, name: x})).structure.max_cosine for x in (value, other)
        )
        assert reached <= 1e-9 < short, name


def test_which_values_are_looked_at():
    """A made-up angle 90 - x degrees, 80 wanted: 10 is needed; the number is rounded to the side that reaches."""

    def look(x):
        return Look(Bound(float(np.cos(np.radians(90 - x))), 1e-6, 4, 80.0), 1.0, True)

    found = least_change(look, 40.0, [[30.0, 20.0, 5.0], [50.0]])
    assert found.tried is None
    assert found.value == pytest.approx(10, abs=1e-3)
    assert found.value <= 10
    assert least_change(look, 40, [[30, 4]], whole=True).value == 10
    best = least_change(look, 40.0, [[30.0, 20.0], [50.0, 60.0]])
    assert best.value == 20
    assert best.tried == (20, 60)
    assert least_change(lambda x: None, 40.0, [[30.0]]) is None


@pytest.mark.slow
@pytest.mark.parametrize(
    ("want", "reached"),
    [("simplex", {"sampler": "balanced"}), ("angle:104", {"sampler": "balanced"}), ("minority-angle:70", None)],
)
def test_wants(want, reached):
    report = advice(FIVE, 2, want)
    assert report.want == want
    assert report.options[0].reached
    if reached is not None:
        assert option(report, **reached).reached
        assert not option(report, sampler="sqrt").reached
    else:
        assert option(report, sampler="sqrt").reached


@pytest.mark.slow
def test_a_want_that_nothing_reaches(run):
    """No five directions are all more than 104.48° apart."""
    spoken = run("advise", "--props", "0.5,0.3,0.1,0.06,0.04", "-t", "2", "--want", "angle:120")
    assert spoken.stdout.startswith("No single change reaches 120°. The best: Draw the classes equally often")
    assert "104.5° apart" in " ".join(spoken.stdout.split())
    assert spoken.code == 0


@pytest.mark.parametrize(
    ("want", "words"),
    [
        ("angle:200", "above 0 and at most 180 degrees, got 200"),
        ("angle:-3", "above 0 and at most 180"),
        ("angle:wide", "'wide' is no angle"),
        ("angle", "unknown want 'angle'"),
        ("seperate", "did you mean 'separate'"),
        ("", "unknown want"),
    ],
)
def test_wants_that_make_no_sense(run, want, words):
    refused = run("advise", "--props", "0.7,0.2,0.1", "--want", want)
    assert refused.code == 2
    assert refused.stdout == ""
    assert "--want" in refused.stderr
    assert words in refused.stderr


def test_a_loss_that_is_not_convex_is_refused():
    with pytest.raises(InputError, match="not convex"):
        solve(Advise(props=RARE, loss={"name": "infonce", "hardness": 1}))


@pytest.mark.slow
def test_changes_that_a_loss_does_not_take_are_left_out():
    report = solve(Advise(props=RARE, loss={"name": "infonce", "temperature": 1, "negatives": 16}))
    keys = {key for found in report.options for key in found.change}
    assert keys <= {"temperature", "negatives", "loss", "merge"}
    batches = solve(Advise(props=RARE, loss={"name": "supcon", "temperature": 1, "batch": 16}))
    keys = {key for found in batches.options for key in found.change}
    assert {"batch", "views", "sampler", "denominator", "logit_adjust"} <= keys
    whole = solve(Advise(counts=(95, 3, 2), loss={"name": "supcon", "temperature": 1, "full_batch": True}))
    assert not {"sampler", "denominator", "logit_adjust"} & {key for found in whole.options for key in found.change}


def test_a_geometry_that_a_loss_does_not_fix_helps_nobody(five):
    hinge = option(five, loss="triplet")
    assert hinge.unique is False
    assert not hinge.helps
    assert not hinge.reached


def test_what_is_given_is_no_change():
    report = advice(RARE, 1, sampler="sqrt", denominator="balanced")
    changes = [found.change for found in report.options]
    assert {"sampler": "sqrt"} not in changes
    assert {"denominator": "balanced"} not in changes
    assert {"sampler": "balanced"} in changes


def test_a_change_that_no_solver_solves_is_a_row_that_says_so(monkeypatch):
    """The square-root sampler, and every temperature that is looked at, are not solved: both are listed, last."""
    from geomsolve.analyses import advise, changes

    def unsolved(question):
        loss = question.loss.parameters
        return loss.get("sampler") == "sqrt" or loss.get("temperature", 1) != 1

    def refusing(wrapped):
        def answer(question):
            if unsolved(question):
                raise SolverError("no solver came near; try another --solver")
            return wrapped(question)

        return answer

    asked = []
    monkeypatch.setattr(advise, "geometry", refusing(advise.geometry))
    monkeypatch.setattr(changes, "changed", lambda *of: asked.append(real(*of)) or asked[-1])
    quick, real = changes.solve_objective, changed
    monkeypatch.setattr(changes, "solve_objective", lambda *a, **how: refusing(lambda q: quick(*a, **how))(asked[-1]))
    report = advice(RARE, 1)
    assert [list(found.change) for found in report.options[-2:]] == [["temperature"], ["sampler"]]
    for found in report.options[-2:]:
        assert not any((found.helps, found.reached, found.certified, found.fixed))
        assert found.min_angle_deg is found.minority_angle_deg is found.simplex_excess is None
    assert report.options[-1].command.endswith("-t 1 --sampler sqrt")
    assert report.best.change == {"sampler": "balanced"}
    assert report.exit_code == 1
    assert report.to_dict()["options"][-1]["unsolved"] == "no solver came near; try another --solver"
    assert plots.draw(report.to_dict()) is not None
    screen = Console(file=io.StringIO(), width=100)
    show(report, screen, quiet=False)
    spoken = screen.file.getvalue()
    said = "What no solver gave an answer for, so that nothing is known of it:\n-t 0.562: no solver came near"
    assert said in spoken
    assert "\n--sampler sqrt: no solver came near; try another --solver\n" in spoken
    assert "NOT PROVEN" not in spoken


def test_equal_and_two_classes_need_nothing():
    for props in ([1, 1, 1], [0.9, 0.1]):
        report = solve(Advise(props=props, loss={"temperature": 1}))
        assert report.reached
        assert report.best is None
        assert report.to_dict()["now"]["minority_angle_deg"] is None
        assert report.headline == report.verdict == "nothing to change"


@pytest.mark.slow
def test_dimensions():
    report = solve(Advise(props=(0.9, 0.05, 0.03, 0.02), dim=2))
    assert option(report, dim=3).helps
    assert report.exit_code == 1  # the best found in two dimensions is not proven
    assert not any("dim" in found.change for found in advice(RARE, 1).options)


@pytest.mark.slow
def test_merged_classes_are_counted_together():
    report = advice((0.9, 0.04, 0.03, 0.02, 0.01), 1)
    (merged,) = [found for found in report.options if "merge" in found.change]
    words = shlex.split(merged.command)
    shares = [float(x) for x in words[words.index("--props") + 1].split(",")]
    assert sum(shares) == pytest.approx(1, abs=1e-12)
    assert len(shares) == 5 - merged.change["merge"].count("+")


def repeated(found, run):
    words = shlex.split(found.command)
    assert words[0] == "geomsolve"
    return run(*words[1:], "--json").json


def test_the_command_repeats_the_option(five, run):
    for found in five.options:
        again = repeated(found, run)
        assert again["certified"] is found.certified
        assert again["structure"]["kind"] == found.structure
        assert again["structure"]["min_angle_deg"] == pytest.approx(found.min_angle_deg, abs=1e-9)


def test_a_question_is_spelled_as_it_is_read():
    loss = {"name": "supcon", "batch": 8, "temperature": "1e-3", "anchor_weights": (1.0, 2.5, 3.0)}
    asked = Advise(counts=[100, 20, 5], names=["a b", "c", "d"], want="simplex", loss=loss)
    assert command_line(asked) == (
        "geomsolve advise --counts 100,20,5 --names 'a b,c,d' --want simplex -t 0.001 --batch 8 "
        "--anchor-weights 1,2.5,3"
    )
    full = Imbalance(counts=[5, 3], loss={"name": "supcon", "full_batch": True}, seed=3)
    assert command_line(full) == "geomsolve imbalance --counts 5,3 --seed 3 --full-batch"


@pytest.mark.slow
def test_it_reads_as_advice(run):
    spoken = run("advise", "--props", ".95,.03,.02", "-t", "1")
    text = " ".join(spoken.stdout.split())
    assert spoken.code == 0
    assert text.startswith(
        "Draw the classes equally often (--sampler balanced), and the smaller classes 2 and 3 are 120.0° apart; now "
        "they are at one point, where no classifier tells them apart."
    )
    helps, nothing = spoken.stdout.index("What helps, best first"), spoken.stdout.index("What does nothing")
    assert helps < spoken.stdout.index("--sampler balanced ", helps) < nothing
    assert nothing < spoken.stdout.index("--denominator balanced ", nothing)
    assert "geomsolve imbalance --props 0.95,0.03,0.02 -t 1 --sampler balanced" in text
    assert run("advise", "--props", ".95,.03,.02", "-t", "1", "--quiet").stdout.count("\n") <= 2


@pytest.mark.slow
def test_where_the_loss_hardly_depends_on_the_angles(run):
    text = " ".join(run("advise", "--dataset", "cifar10-lt:100", "-t", "0.1").stdout.split())
    assert text.startswith("At temperature 0.1 supcon hardly depends on the angles")
    assert "would lose only 3e-05 nats, which training will not see" in text
    assert "--slack" in text


def test_json(run):
    answer = run("advise", "--props", "0.5,0.3,0.1,0.06,0.04", "-t", "2", "--json").json
    assert answer["command"] == "advise"
    assert answer["want"] == "separate"
    assert {"min_angle_deg", "minority_angle_deg", "structure"} <= set(answer["now"])
    wanted = {"change", "helps", "reached", "min_angle_deg", "minority_angle_deg", "simplex_excess", "certified"}
    for found in answer["options"]:
        assert wanted | {"command"} <= set(found)
    assert any("sampler" in found["change"] and found["helps"] for found in answer["options"])
    assert any("denominator" in found["change"] and not found["helps"] for found in answer["options"])


def test_problem_files(tmp_path, run):
    file = tmp_path / "a.yaml"
    file.write_text("kind: advise\nprops: [0.95, 0.03, 0.02]\nloss: {name: supcon, temperature: 1}\nwant: simplex\n")
    assert run("validate", file).code == 0
    answer = run("solve", file, "--json").json
    assert answer["want"] == "simplex"
    assert answer["options"][0]["change"] == {"sampler": "balanced"}
    file.write_text("kind: advise\nprops: [0.95, 0.03, 0.02]\nwant: 'angle:500'\n")
    assert run("validate", file).code == 2


@pytest.mark.slow
def test_a_picture(tmp_path, run):
    pytest.importorskip("matplotlib")
    file = tmp_path / "a.svg"
    assert run("advise", "--props", ".95,.03,.02", "-t", "1", "--plot", file, "--quiet").code == 0
    drawn = file.read_text()
    assert "sampler balanced" in drawn
    assert "wanted" in drawn


@pytest.mark.parametrize("command", ["imbalance", "threshold"])
def test_after_a_collapse_two_lines_say_what_helps(run, command):
    text = " ".join(run(command, "--props", "0.95,0.03,0.02", "-t", "1").stdout.split())
    line = "Draw the classes equally often (--sampler balanced), and the smaller classes are 120.0° apart or more"
    assert line in text
    assert "What every change would do: geomsolve advise --props 0.95,0.03,0.02 -t 1" in text
    answer = run(command, "--props", "0.95,0.03,0.02", "-t", "1", "--json").json
    assert [found["sampler"] for found in answer["remedy"]["tried"]] == ["balanced", "sqrt"]
    apart = run(command, "--props", "0.95,0.03,0.02", "-t", "0.1")
    assert "geomsolve advise" not in apart.stdout
    assert "remedy" not in run(command, "--props", "0.95,0.03,0.02", "-t", "0.1", "--json").json


def test_after_a_collapse_of_a_loss_without_samplers(run):
    text = run("imbalance", "--props", "0.95,0.03,0.02", "-t", "1", "--loss", "sigmoid").stdout
    assert "--sampler" not in text
    assert "geomsolve advise --props 0.95,0.03,0.02 --loss sigmoid -t 1" in " ".join(text.split())


def random_design(seed):
    rng = np.random.default_rng(seed)
    n_classes = int(rng.integers(2, 6))
    props = rng.dirichlet(np.full(n_classes, 0.7)) + 0.005
    props /= props.sum()
    loss = {"name": str(rng.choice(["supcon", "infonce", "dcl", "soft-supcon", "sigmoid"]))}
    loss["temperature"] = float(f"{np.exp(rng.uniform(np.log(0.15), np.log(4))):.3g}")
    if loss["name"] == "supcon" and rng.random() < 0.3:
        loss["batch"] = int(rng.integers(3, 40))
    if loss["name"] in ("infonce", "dcl") and rng.random() < 0.5:
        loss["negatives"] = int(rng.integers(2, 40))
    want = str(rng.choice(["separate", "simplex", "angle:80", "minority-angle:60"]))
    return Advise(props=tuple(props.tolist()), loss=loss, want=want)


def counting(report, want):
    """The largest cosine of those that a want is about, and whether these are the smaller classes alone."""
    p = report.orbits.proportions[report.orbits.index]
    small = np.flatnonzero(p < p.max() * (1 - 1e-9))
    alone = want in ("separate", "minority-angle:60") and small.size > 1
    kept = small if alone else np.arange(p.size)
    return report.gram[np.ix_(kept, kept)][np.triu_indices(kept.size, 1)].max(), alone


def most_of(want, n_classes):
    """The largest cosine that a want allows."""
    if want == "simplex":
        return -1 / (n_classes - 1)
    return {"separate": 0.0, "angle:80": np.cos(np.radians(80)), "minority-angle:60": 0.5}[want]


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, 100, 10))
def test_every_option_is_solved_again_by_another_solver(first):
    """On 100 random designs: each option's certificate, angles, verdicts and price, by the manifold solver from its
    command."""
    from geomsolve.cli.commands.imbalance import command as forward
    from geomsolve.cli.options import split_loss

    seen = 0
    for seed in range(first, first + 10):
        asked = random_design(seed)
        report = solve(asked)
        p = np.array(report.problem["props"])
        before, smaller = counting(solve(Imbalance(props=asked.props, loss=asked.loss, solver="manifold")), asked.want)
        for found in report.options:
            context = forward.make_context("imbalance", shlex.split(found.command)[2:])
            given = {key: value for key, value in context.params.items() if value not in (None, False)}
            kinked = {"triplet": "conic", "contrastive": "conic", "contrastive-distance": "auto"}
            solver = kinked.get(given.get("loss"), "manifold")  # which takes no kinks
            again = solve(Imbalance(**{**split_loss(given), "solver": solver}))
            assert found.certified, (seed, found)
            assert again.gap <= 1e-6, (seed, found)
            if found.unique is not True or not found.fixed or not again.resolved:
                continue
            near = 1e-6 + 30 * np.sqrt(max(again.gap, 1e-14))
            own = again.gram[np.triu_indices(len(again.names), 1)].max()
            assert own == pytest.approx(np.cos(np.radians(found.min_angle_deg)), abs=near), (seed, found)
            shares = again.orbits.proportions[again.orbits.index]
            small = np.flatnonzero(shares < shares.max() * (1 - 1e-9))
            assert (found.minority_angle_deg is None) == (small.size < 2)
            if small.size > 1:
                kept = again.gram[np.ix_(small, small)][np.triu_indices(small.size, 1)].max()
                assert kept == pytest.approx(np.cos(np.radians(found.minority_angle_deg)), abs=near), (seed, found)
            largest, still = counting(again, asked.want)
            wanted = most_of(asked.want, len(again.names))
            if smaller and not still:
                assert not found.helps
                assert not found.reached
            elif abs(largest - wanted) > near:
                assert found.reached is bool(largest < wanted), (seed, found)
            if smaller == still and report.settled and abs(largest - before) > 2 * near:
                assert found.helps is bool(largest < before), (seed, found)
            loss = dict(again.problem["loss"])
            simplex = np.full_like(again.gram, -1 / (len(again.names) - 1))
            np.fill_diagonal(simplex, 1.0)
            lost = make_loss(loss.pop("name"), loss).objective(again.orbits.single()).value(simplex) - again.value
            assert found.simplex_excess == pytest.approx(lost, abs=1e-6), (seed, found)
            seen += 1
        assert report.certified
        assert p.sum() == pytest.approx(1)
    assert seen > 50
