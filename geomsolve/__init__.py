"""geomsolve: which geometry a contrastive loss wants, with a proof.

    from geomsolve import Imbalance, solve
    report = solve(Imbalance(props=[0.7, 0.2, 0.1], loss={"name": "supcon", "temperature": 0.5}))
    report.structure.kind, report.gram, report.gap

Everything public stands in ``__all__`` and is loaded when first used, so that importing geomsolve costs nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from geomsolve._version import __version__

if TYPE_CHECKING:
    from geomsolve.analyses import solve
    from geomsolve.analyses.check import CheckReport
    from geomsolve.analyses.compare import CompareReport
    from geomsolve.analyses.imbalance import ImbalanceReport
    from geomsolve.analyses.levels import LevelsReport
    from geomsolve.analyses.realizable import CasesReport, RealizableReport
    from geomsolve.analyses.sweep import SweepReport
    from geomsolve.analyses.threshold import ThresholdReport
    from geomsolve.errors import GeomsolveError, InputError, SolverError
    from geomsolve.gram.orbits import Orbits
    from geomsolve.gram.structure import Structure
    from geomsolve.losses import Loss, make_loss
    from geomsolve.proof.certificate import Certificate, certify
    from geomsolve.questions.check import Check, CheckWeighting
    from geomsolve.questions.compare import Compare
    from geomsolve.questions.diversity import Diversity
    from geomsolve.questions.imbalance import Imbalance
    from geomsolve.questions.levels import Levels
    from geomsolve.questions.negatives import Negatives
    from geomsolve.questions.realizable import Realizable
    from geomsolve.questions.spectrum import Spectrum
    from geomsolve.questions.sweep import Sweep
    from geomsolve.questions.threshold import Threshold
    from geomsolve.report import Report

_HOMES = {
    "solve": "geomsolve.analyses",
    "Report": "geomsolve.report",
    "CheckReport": "geomsolve.analyses.check",
    "CompareReport": "geomsolve.analyses.compare",
    "ImbalanceReport": "geomsolve.analyses.imbalance",
    "CasesReport": "geomsolve.analyses.realizable",
    "RealizableReport": "geomsolve.analyses.realizable",
    "Certificate": "geomsolve.proof.certificate",
    "certify": "geomsolve.proof.certificate",
    "GeomsolveError": "geomsolve.errors",
    "InputError": "geomsolve.errors",
    "SolverError": "geomsolve.errors",
    "Orbits": "geomsolve.gram.orbits",
    "Structure": "geomsolve.gram.structure",
    "Loss": "geomsolve.losses",
    "make_loss": "geomsolve.losses",
    "Diversity": "geomsolve.questions.diversity",
    "Check": "geomsolve.questions.check",
    "CheckWeighting": "geomsolve.questions.check",
    "Compare": "geomsolve.questions.compare",
    "Imbalance": "geomsolve.questions.imbalance",
    "Realizable": "geomsolve.questions.realizable",
    "Levels": "geomsolve.questions.levels",
    "LevelsReport": "geomsolve.analyses.levels",
    "Sweep": "geomsolve.questions.sweep",
    "SweepReport": "geomsolve.analyses.sweep",
    "Threshold": "geomsolve.questions.threshold",
    "ThresholdReport": "geomsolve.analyses.threshold",
    "Negatives": "geomsolve.questions.negatives",
    "Spectrum": "geomsolve.questions.spectrum",
}

__all__ = [
    "CasesReport",
    "Certificate",
    "Check",
    "CheckReport",
    "CheckWeighting",
    "Compare",
    "CompareReport",
    "Diversity",
    "GeomsolveError",
    "Imbalance",
    "ImbalanceReport",
    "InputError",
    "Levels",
    "LevelsReport",
    "Loss",
    "Negatives",
    "Orbits",
    "Realizable",
    "RealizableReport",
    "Report",
    "SolverError",
    "Spectrum",
    "Structure",
    "Sweep",
    "SweepReport",
    "Threshold",
    "ThresholdReport",
    "__version__",
    "certify",
    "make_loss",
    "solve",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
