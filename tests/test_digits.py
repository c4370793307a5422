"""The demonstration on digits: real networks have the predicted geometry, and collapse where that is predicted."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("pytorch_metric_learning")

SCRIPT = Path(__file__).parent.parent / "examples" / "collapse_on_digits.py"


def load():
    """The demonstration as a module."""
    spec = importlib.util.spec_from_file_location("collapse_on_digits", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["collapse_on_digits"] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def demonstration():
    return load()


def test_the_predicted_threshold(demonstration):
    assert demonstration.threshold() == pytest.approx(1.187, abs=1e-3)


@pytest.mark.slow
def test_trained_networks_have_the_predicted_geometry(demonstration):
    found = demonstration.rows()
    for row, published in zip(found, (-0.237, 0.135, 0.513, 0.890, 1, 1, 1, -0.5), strict=True):
        assert row.predicted == pytest.approx(published, abs=1e-3)
        assert abs(row.cosine - row.predicted) < 0.05
        if row.balanced or row.temperature < demonstration.threshold():
            assert row.margin > 0.05
        else:
            assert row.margin < 0.001
