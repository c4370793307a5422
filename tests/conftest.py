"""Fixtures that several subjects share."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

settings.register_profile("geomsolve", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("geomsolve")  # no test fails by the clock

os.environ.pop("COLUMNS", None)  # commands obey it, and whoever runs tests in parallel may set it


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(20240607)


@dataclass(frozen=True)
class Run:
    """What a command left behind."""

    code: int
    stdout: str
    stderr: str

    @property
    def json(self):
        return json.loads(self.stdout)


@pytest.fixture
def run(monkeypatch, capsys):
    """Run ``geomsolve ARGS`` through its real entry point, in this process: exit code and both streams."""

    def call(*args) -> Run:
        from geomsolve.cli.main import main

        monkeypatch.setattr("sys.argv", ["geomsolve", *map(str, args)])
        with pytest.raises(SystemExit) as ended:
            main()
        streams = capsys.readouterr()
        assert "Traceback" not in streams.out + streams.err
        return Run(ended.value.code, streams.out, streams.err)

    return call
