"""Spectrum allocation: the formula, closed forms, optimality conditions, cvxpy, images, the command."""

from __future__ import annotations

from math import exp, log, pi, sin

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from geomsolve import InputError, Spectrum, solve
from geomsolve.analyses.spectrum import allocate, augmentation_variance, evaluate
from geomsolve.questions.spectrum import power_law
from geomsolve.reading.images import power_spectrum

VARIANCES = st.lists(st.floats(0, 3), min_size=1, max_size=12)


def by_cvxpy(variance, many, weight, eps):
    """The program as written on the page, convexly: -P/(2 (P + eps)) = eps/(2 (P + eps)) - 1/2."""
    import cvxpy as cp

    power = cp.Variable(len(variance), nonneg=True)
    cost = weight * cp.multiply(variance, power) - cp.log(power + eps) / 2 + eps * cp.inv_pos(power + eps) / 2 - 0.5
    problem = cp.Problem(cp.Minimize(many @ cost), [many @ power <= 1])
    problem.solve(solver="CLARABEL")
    return problem.value, power.value


@pytest.mark.parametrize("power", [0.05, 0.4, 2.0])
def test_the_uniformity_term_is_the_expected_log_kernel_density(power):
    """E log E' exp(-(z - z')^2 / (2 eps)) of a Gaussian z of variance P, by quadrature, is the term plus log(eps)/2."""
    from scipy.integrate import quad

    eps = 0.3

    def density(z):
        return exp(-(z**2) / (2 * power)) / (2 * pi * power) ** 0.5

    def near(z):
        return quad(lambda y: density(y) * exp(-((z - y) ** 2) / (2 * eps)), -12, 12, points=[z, 0])[0]

    width = 9 * power**0.5
    expected = quad(lambda z: density(z) * log(near(z)), -width, width, points=[0])[0]
    term, _ = evaluate(np.array([power]), np.array([0.0]), np.ones(1), 1.0, eps)
    assert term + log(eps) / 2 == pytest.approx(expected, abs=1e-7)


@settings(max_examples=50)
@given(variance=VARIANCES, weight=st.floats(0, 50), eps=st.floats(0.005, 2))
def test_optimality_conditions(variance, weight, eps):
    """P >= 0, sum <= 1, one multiplier: h' + nu = 0 where P > 0, >= 0 where P = 0, and nu (1 - sum) = 0."""
    variance, many = np.array(variance), np.ones(len(variance))
    power, multiplier = allocate(variance, many, weight, eps)
    slope = weight * variance - 1 / (2 * (power + eps)) - eps / (2 * (power + eps) ** 2)
    scale = 1 / eps + weight
    assert np.all(power >= 0)
    assert power.sum() <= 1 + 1e-12
    assert multiplier >= 0
    np.testing.assert_allclose(slope[power > 0] + multiplier, 0, atol=1e-9 * scale)
    assert np.all(slope[power == 0] + multiplier >= -1e-9 * scale)
    assert multiplier * (1 - power.sum()) <= 1e-9 * scale


@settings(max_examples=25)
@given(variance=VARIANCES, weight=st.floats(0.1, 20), eps=st.floats(0.02, 2), many=st.integers(1, 5))
def test_cvxpy_finds_the_same(variance, weight, eps, many):
    variance, many = np.array(variance), np.full(len(variance), float(many))
    power, _ = allocate(variance, many, weight, eps)
    value, slope = evaluate(power, variance, many, weight, eps)
    best, found = by_cvxpy(variance, many, weight, eps)
    assert value == pytest.approx(best, abs=1e-6 * max(1, abs(best)))
    np.testing.assert_allclose(power, found, atol=2e-3)
    h = 1e-6
    for f in range(len(variance)):
        up = power + h * (np.arange(len(variance)) == f)
        moved = evaluate(up, variance, many, weight, eps)[0]
        assert (moved - value) / h == pytest.approx(many[f] * slope[f], abs=1e-3 * many[f] / eps**2)


@settings(max_examples=40)
@given(seed=st.integers(0, 2**32 - 1), n=st.integers(1, 30), eps=st.floats(0.01, 1))
def test_lower_bound_holds_for_every_other_allocation(seed, n, eps):
    rng = np.random.default_rng(seed)
    report = solve(Spectrum(power=rng.random(n).tolist(), noise=float(rng.random()), eps=eps))
    assert report.certified
    assert report.gap <= 1e-9 * max(1, abs(report.value))
    for _ in range(10):
        other = rng.dirichlet(np.ones(n)) * rng.random()
        value = evaluate(other, report.variance, report.many, 1 / eps, eps)[0]
        assert value >= report.lower_bound - 1e-12


def test_the_objective_is_convex():
    grid = np.linspace(0, 1, 200)
    for eps in (0.01, 0.3):
        slopes = [evaluate(np.array([p]), np.array([0.4]), np.ones(1), 3.0, eps)[1][0] for p in grid]
        assert np.all(np.diff(slopes) > 0)


def test_without_augmentations_power_is_spread_evenly():
    report = solve(Spectrum(power="power-law:2:8"))
    np.testing.assert_allclose(report.allocation, 1 / 8)
    np.testing.assert_allclose(report.gain, np.arange(1, 9) / 8**0.5)  # whitening
    assert report.surviving.tolist() == list(range(1, 9))


def test_one_frequency_in_closed_form():
    """Alone and with room to spare: 1/(2 (P + eps)) + eps/(2 (P + eps)^2) = lambda/eps; lambda = 3/8 gives P = eps."""
    report = solve(Spectrum(power=[1.0], noise=0.375, eps=0.2))
    assert report.allocation[0] == pytest.approx(0.2, rel=1e-12)
    assert report.multiplier == 0
    assert report.water_level == pytest.approx(1)


def test_survivors_are_those_below_the_water_level():
    report = solve(Spectrum(power="power-law:2:64", noise=0.01))
    assert np.array_equal(report.surviving, report.frequencies[report.variance < report.water_level])
    assert report.surviving.tolist() == list(range(1, 10))
    np.testing.assert_allclose(report.variance, 0.01 * np.arange(1, 65) ** 2)
    assert report.allocation.sum() == pytest.approx(1, abs=1e-12)
    assert np.all(np.diff(report.allocation) <= 0)


def test_no_frequency_survives_that_augmentations_change_by_all_its_power():
    report = solve(Spectrum(power=[1, 0.5], noise=2))
    assert report.surviving.size == 0
    assert report.value == pytest.approx(-log(0.1))  # two times -log(eps)/2
    assert report.certified


def test_frequencies_without_image_power_get_nothing():
    report = solve(Spectrum(power=[1, 0, 0.5], alignment=0))
    np.testing.assert_allclose(report.allocation, [0.5, 0, 0.5])
    assert report.certified


@pytest.mark.parametrize("seed", range(3))
def test_augmentation_variances_are_those_of_random_gains(seed):
    """The closed form against the mean over all outcomes of blur, a fine grid of shifts, and two-point jitter."""
    rng = np.random.default_rng(seed)
    blur, crop, jitter, noise = rng.uniform(1, 8), rng.uniform(0.05, 1), rng.uniform(0, 0.5), rng.uniform(0, 0.1)
    problem = Spectrum(power=[1, 0.7, 0.2, 0.1], blur=blur, crop=crop, jitter=jitter, noise=noise)
    power = problem.bands[0]
    f = np.arange(1.0, 5)
    got = augmentation_variance(problem, f, power)
    shifts = (np.arange(20_000) + 0.5) / 20_000 * crop - crop / 2
    for k in range(4):
        gains = [
            contrast * kept * np.exp(2j * pi * f[k] * shifts)
            for contrast in (1 - jitter, 1 + jitter)
            for kept in (1.0, exp(-(f[k] ** 2) / (2 * blur**2)))
        ]
        gains = np.concatenate(gains)
        variance = np.mean(np.abs(gains) ** 2) - abs(np.mean(gains)) ** 2
        assert got[k] == pytest.approx(variance + noise / power[k], abs=1e-6)


def test_single_augmentations():
    f, power = np.array([1.0, 3.0]), np.array([1.0, 0.5])

    def variance(**which):
        return augmentation_variance(Spectrum(power=[1, 0.5], **which), f, power)

    np.testing.assert_allclose(variance(), 0, atol=1e-15)
    np.testing.assert_allclose(variance(noise=0.1), [0.1, 0.2])
    np.testing.assert_allclose(variance(jitter=0.3), 0.09)
    np.testing.assert_allclose(variance(blur=2), [(1 - exp(-1 / 8)) ** 2 / 4, (1 - exp(-9 / 8)) ** 2 / 4])
    np.testing.assert_allclose(
        variance(crop=0.25), [1 - (sin(pi / 4) * 4 / pi) ** 2, 1 - (sin(0.75 * pi) / 0.75 / pi) ** 2]
    )
    np.testing.assert_allclose(variance(crop=1), 1)


def test_power_law():
    np.testing.assert_allclose(power_law("power-law:2:3"), [1, 1 / 4, 1 / 9])
    np.testing.assert_allclose(power_law("power-law:0.5:2"), [1, 2**-0.5])


def test_white_noise_images_have_a_flat_spectrum_of_their_variance(tmp_path, rng):
    np.save(tmp_path / "noise.npy", rng.normal(scale=0.3, size=(400, 16, 16)))
    power, many = power_spectrum(str(tmp_path / "noise.npy"))
    assert power.shape == (8,)
    np.testing.assert_allclose(power, 0.09, rtol=0.1)
    assert many[0] == 8  # (0, 1), (1, 0), (1, 1) and their signs round to one cycle


def test_a_wave_has_its_power_at_its_frequency(tmp_path):
    x = np.arange(32)
    image = 0.5 + 0.25 * np.cos(2 * pi * 5 * x / 32)[None, :] * np.ones((32, 1))
    np.save(tmp_path / "wave.npy", image)
    power, many = power_spectrum("wave.npy", tmp_path)
    total = power * many
    assert total[4] == pytest.approx(0.25**2 / 2 * 32**2)  # Parseval: variance times pixels
    assert np.delete(total, 4).max() < 1e-20


def test_png_and_bytes_are_read_as_grey_values_from_0_to_1(tmp_path, rng):
    pytest.importorskip("matplotlib")
    from matplotlib.image import imsave

    grey = rng.integers(0, 256, size=(3, 12, 12), dtype=np.uint8)
    folder = tmp_path / "images"
    folder.mkdir()
    for k, image in enumerate(grey):
        imsave(folder / f"{k}.png", np.repeat(image[..., None], 3, axis=2))
    np.save(tmp_path / "images.npy", grey)
    np.save(tmp_path / "colour.npy", np.repeat(grey[..., None] / 255, 3, axis=3))
    expected, _ = power_spectrum(str(folder))
    for name in ("images.npy", "colour.npy"):
        np.testing.assert_allclose(power_spectrum(name, tmp_path)[0], expected, rtol=1e-5)


def test_bad_images_say_what_is_wrong(tmp_path):
    pytest.importorskip("matplotlib", reason="png images are an extra")
    (tmp_path / "empty").mkdir()
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "a.png").write_text("no image")
    (tmp_path / "text.npy").write_text("no array")
    np.save(tmp_path / "flat.npy", np.ones((2, 8, 8)))
    np.save(tmp_path / "nan.npy", np.full((1, 8, 8), np.nan))
    np.save(tmp_path / "small.npy", np.zeros((1, 2, 9)))
    np.save(tmp_path / "five.npy", np.zeros((1, 8, 8, 5)))
    for name, message in (
        ("empty", "holds no png"),
        ("broken", "no png image"),
        ("text.npy", "neither a folder"),
        ("flat.npy", "one colour"),
        ("nan.npy", "image 1 holds a value that is not finite"),
        ("small.npy", "2 x 9 pixels"),
        ("five.npy", "5 values a pixel"),
        ("none.npy", "no file"),
    ):
        with pytest.raises(InputError, match=message):
            Spectrum(images=name, base=tmp_path)


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({}, "found nothing"),
        ({"power": [1], "images": "x.npy"}, "no file"),
        ({"power": "power-law:2"}, "power-law:EXPONENT:FREQUENCIES"),
        ({"power": "power-law:2:0"}, "power-law:EXPONENT:FREQUENCIES"),
        ({"power": [1, -1]}, "number 2"),
        ({"power": [0, 0]}, "all powers are zero"),
        ({"power": []}, "at least one"),
        ({"power": 5}, "at least one"),
        ({"power": [1, "x"]}, "number 2 is 'x'"),
        ({"power": [[1, 2]]}, "number 1"),
        ({"power": [1], "eps": 0}, "eps"),
        ({"power": [1], "crop": 1.5}, "crop"),
        ({"power": [1], "noise": float("nan")}, "noise"),
        ({"power": [1], "alignment": -1}, "alignment"),
    ],
)
def test_bad_problems_say_what_is_wrong(bad, message):
    with pytest.raises(InputError, match=message):
        Spectrum(**bad)


def test_the_command_answers_in_words(run):
    done = run("spectrum", "--power", "power-law:2:64", "--noise", 0.01)
    assert done.code == 0
    words = " ".join(done.stdout.split())
    assert words.startswith("9 of 64 frequencies survive: 1 to 9, those that augmentations change by less than 84.1%")
    for part in ("Proven", "The next to survive would be frequency 10", "100.0% of its budget"):
        assert part in words
    assert "\\n" not in done.stdout
    assert run("spectrum", "--power", "3,2,1").stdout.startswith("All 3 frequencies survive.")


def test_the_command_gives_json(run, tmp_path):
    (tmp_path / "power.txt").write_text("1\n0.5\n0\n")
    answer = run("spectrum", "--power", f"@{tmp_path}/power.txt", "--noise", 0.1, "--json").json
    assert answer["command"] == "spectrum"
    assert len(answer["allocation"]) == 3
    assert answer["surviving"] == [1, 2]
    assert answer["variance"] == [0.1, 0.2, "inf"]
    assert answer["problem"]["alignment"] == 10
    for key in ("water_level", "value", "lower_bound", "gap"):
        assert isinstance(answer[key], float)


@pytest.mark.parametrize(
    "flags",
    [(), ("--power", "1,-1"), ("--power", "@/no/such"), ("--images", "/no/such"), ("--power", "1", "--eps", "0")],
)
def test_the_command_refuses_bad_flags(run, flags):
    done = run("spectrum", *flags)
    assert (done.code, done.stdout) == (2, "")
    assert done.stderr.startswith("Error: ")


@pytest.mark.parametrize("flags", [("--noise", 0.1), ("--noise", 0.1, "-t", 0), ()])
def test_the_picture_shows_allocation_and_water_level(run, tmp_path, flags):
    pytest.importorskip("matplotlib")
    from geomsolve.plots import draw

    answer = run("spectrum", "--power", "1,0.5,0", *flags, "--json", "--plot", tmp_path / "s.svg").json
    assert (tmp_path / "s.svg").read_text().startswith("<?xml")
    top, bottom, filters = draw(answer).axes
    assert [segment[1][1] for segment in bottom.collections[0].get_segments()] == answer["allocation"]
    np.testing.assert_allclose(filters.lines[0].get_ydata(), answer["gain"])
    level = float(answer["water_level"])
    assert [line.get_ydata()[0] for line in top.lines[1:]] == ([level] if np.isfinite(level) else [])
