"""One pass over embeddings: the quick way in single precision gives the numbers of the careful one in double."""

from __future__ import annotations

import numpy as np
import pytest

from geomsolve.analyses.scan import scanned
from geomsolve.errors import InputError
from geomsolve.reading.embeddings import embeddings_of


def scan(rows, codes, **how):
    found, count = scanned(
        embeddings_of(rows), codes, int(codes.max()) + 1, np.arange(0, len(codes), 3), lambda *_: None, **how
    )
    assert count == len(rows)
    return found


def reference(rows, codes):
    """Sums of unit rows by a loop over classes in extended precision."""
    wide = rows.astype(np.longdouble)
    unit = wide / np.sqrt((wide**2).sum(axis=1, keepdims=True))
    return unit, np.stack([unit[codes == a].sum(axis=0) for a in range(codes.max() + 1)])


@pytest.mark.parametrize("order", ["sorted", "mixed"])
@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("spread", [0, 2, 30])
def test_sums_and_unit_rows(order, kind, spread):
    """Opposite rows nearly cancel within a class; lengths spread over as many powers of ten as the numbers allow."""
    rng = np.random.default_rng(spread)
    n, d = 1700, 24
    rows = rng.standard_normal((n, d))
    rows[1::2] = -rows[::2] + 1e-2 * rng.standard_normal((n // 2, d))
    widest = {np.float16: 3, np.float32: 30, np.float64: 250}[kind]
    rows = (rows * 10.0 ** rng.uniform(-min(spread, widest), min(spread, widest), (n, 1))).astype(kind)
    rows = rows[np.abs(rows).max(axis=1) > 0]
    codes = rng.integers(0, 7, len(rows))
    codes[:7] = np.arange(7)
    codes = np.sort(codes) if order == "sorted" else codes
    found = scan(rows, codes, signs=True)
    unit, sums = reference(rows, codes)
    assert found.sums == pytest.approx(sums.astype(float), abs=3e-7 * np.sqrt(len(rows)))
    assert found.kept == pytest.approx(unit[::3].astype(float), abs=1e-12)
    assert found.lowest == pytest.approx(float(unit.min()), rel=1e-6)
    lengths = np.sqrt((rows.astype(np.longdouble) ** 2).sum(axis=1))
    assert found.lengths == pytest.approx((float(lengths.min()), float(lengths.max())), rel=1e-6)


def test_without_being_asked_for_signs_one_below_zero_is_found():
    rows = np.ones((1200, 3), np.float32)
    codes = np.zeros(1200, np.int64)
    assert scan(rows, codes).lowest > 0
    rows[700, 1] = -2
    assert scan(rows, codes).lowest < 0


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_rows_without_a_direction_are_counted_over_all_blocks(kind):
    rows = np.ones((1600, 3), kind)
    rows[[3, 900]] = 0
    rows[1500] = np.nan
    with pytest.raises(InputError, match=r"1 row is not finite, first row 1500 "):
        scan(rows, np.zeros(1600, np.int64))
    rows[1500] = 1
    with pytest.raises(InputError, match=r"2 rows are zero, first row 3 "):
        scan(rows, np.zeros(1600, np.int64))


@pytest.mark.parametrize("labels", [1199, 1201])
def test_other_numbers_of_labels_than_rows(labels):
    found, count = scanned(
        embeddings_of(np.ones((1200, 2), np.float32)), np.zeros(labels, np.int64), 1, np.arange(0), lambda *_: None
    )
    assert found is None
    assert count == 1200
