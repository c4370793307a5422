"""geomsolve: which geometry a contrastive loss wants, with a proof.

    from geomsolve import Imbalance, solve
    report = solve(Imbalance([0.7, 0.2, 0.1], loss="supcon", temperature=0.5))
    print(report)                       the sentence and its proof; a notebook shows the coloured grid
    report.gram, report.value, report.gap, report.certified
    report.summary(), report.plot(), report.to_frame(), report.to_dict()

A question is asked by solve(...), and answered by a report.  What it takes may be lists, dictionaries, arrays of numpy
or torch, tables of pandas, the text of the command line ("70%,20%,10%", "0.05:1:20") or the name of a file ("@y.csv").

    Imbalance(props)                    which geometry does a loss want for these class proportions?
    Advise(props, want=)                what to change so that the smaller classes keep apart?
    Design(props, target=)              which class weights make a wanted geometry the optimum?
    Contrast(props, losses=)            what do several losses do to the same classes?
    Threshold(props, over=)             where along a path do classes collapse into one point?
    Sweep(props, over=)                 how does the geometry change along one or two parameters?
    Levels(props, batch=)               is my loss value good?
    Compare(embeddings, labels=)        does my trained encoder match the prediction?
    Check(props)                        does gradient descent get there?  (needs torch)
    Crossmodal(props)                   how do two encoders arrange images and texts?
    ThresholdCrossmodal(props, over=), SweepCrossmodal(props, over=), CheckCrossmodal(props) ask the same of these,
    CompareCrossmodal(images, texts=)   and compares them with the embeddings of two encoders
    Realizable(weighting, labels=)      can any embedding attain this weighting of pairs?
    CheckWeighting(weighting, labels=)  does gradient descent get there?  (needs torch)
    Capacity(classes, dim=)             how far apart can so many classes be?
    Negatives(props), Diversity(latents), Spectrum(power)

    from_pml(loss), from_lightly(loss), from_sentence_transformers(loss)    a loss of these libraries, for loss=
    geomsolve.torch.GeometryProbe       the distance to the prediction inside a training loop
    make_loss, certify, Orbits          what it is made of: a loss, a proof of any geometry, classes that are alike

help(geomsolve.Imbalance) says what a question takes, "geomsolve list losses" which losses there are.  Wrong input
raises InputError, a ValueError.  Everything is loaded when first used, so that importing geomsolve costs nothing.
"""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING, Any

from geomsolve._version import __version__

if TYPE_CHECKING:
    from geomsolve.analyses import solve
    from geomsolve.analyses.advise import AdviseReport
    from geomsolve.analyses.capacity import CapacityReport
    from geomsolve.analyses.check_report import CheckReport
    from geomsolve.analyses.classifiers import ClassifierReport
    from geomsolve.analyses.compare_crossmodal_report import CompareCrossmodalReport
    from geomsolve.analyses.compare_report import CheckpointsReport, CompareReport
    from geomsolve.analyses.contrast import ContrastReport
    from geomsolve.analyses.crossmodal_report import CrossmodalReport
    from geomsolve.analyses.design_report import DesignReport
    from geomsolve.analyses.diversity import DiversityReport
    from geomsolve.analyses.find_levels import FoundLevelsReport
    from geomsolve.analyses.imbalance import ImbalanceReport
    from geomsolve.analyses.levels import LevelsReport
    from geomsolve.analyses.negatives import NegativesReport
    from geomsolve.analyses.packing import PackingReport
    from geomsolve.analyses.realizable_report import CasesReport, RealizableReport
    from geomsolve.analyses.spectrum import SpectrumReport
    from geomsolve.analyses.sweep import SweepReport
    from geomsolve.analyses.sweep_crossmodal import SweepCrossmodalReport
    from geomsolve.analyses.threshold_crossmodal_report import ThresholdCrossmodalReport
    from geomsolve.analyses.threshold_report import ThresholdReport
    from geomsolve.errors import GeomsolveError, InputError, SolverError
    from geomsolve.gram.orbits import Orbits
    from geomsolve.gram.structure import Structure
    from geomsolve.interop import from_lightly, from_pml, from_sentence_transformers
    from geomsolve.losses import Loss, make_loss
    from geomsolve.proof.certificate import Certificate, certify
    from geomsolve.questions.advise import Advise
    from geomsolve.questions.capacity import Capacity
    from geomsolve.questions.check import Check, CheckWeighting
    from geomsolve.questions.check_crossmodal import CheckCrossmodal
    from geomsolve.questions.compare import Compare
    from geomsolve.questions.compare_crossmodal import CompareCrossmodal
    from geomsolve.questions.contrast import Contrast
    from geomsolve.questions.crossmodal import Crossmodal
    from geomsolve.questions.design import Design
    from geomsolve.questions.diversity import Diversity
    from geomsolve.questions.imbalance import Imbalance
    from geomsolve.questions.levels import Levels
    from geomsolve.questions.negatives import Negatives
    from geomsolve.questions.realizable import Realizable
    from geomsolve.questions.spectrum import Spectrum
    from geomsolve.questions.sweep import Sweep
    from geomsolve.questions.sweep_crossmodal import SweepCrossmodal
    from geomsolve.questions.threshold import Threshold
    from geomsolve.questions.threshold_crossmodal import ThresholdCrossmodal
    from geomsolve.report import Report

_HOMES = {
    "Advise": "geomsolve.questions.advise",
    "AdviseReport": "geomsolve.analyses.advise",
    "Capacity": "geomsolve.questions.capacity",
    "CapacityReport": "geomsolve.analyses.capacity",
    "PackingReport": "geomsolve.analyses.packing",
    "CasesReport": "geomsolve.analyses.realizable_report",
    "Certificate": "geomsolve.proof.certificate",
    "Check": "geomsolve.questions.check",
    "CheckCrossmodal": "geomsolve.questions.check_crossmodal",
    "CheckReport": "geomsolve.analyses.check_report",
    "CheckWeighting": "geomsolve.questions.check",
    "CheckpointsReport": "geomsolve.analyses.compare_report",
    "ClassifierReport": "geomsolve.analyses.classifiers",
    "Compare": "geomsolve.questions.compare",
    "CompareCrossmodal": "geomsolve.questions.compare_crossmodal",
    "CompareCrossmodalReport": "geomsolve.analyses.compare_crossmodal_report",
    "CompareReport": "geomsolve.analyses.compare_report",
    "Contrast": "geomsolve.questions.contrast",
    "ContrastReport": "geomsolve.analyses.contrast",
    "Crossmodal": "geomsolve.questions.crossmodal",
    "CrossmodalReport": "geomsolve.analyses.crossmodal_report",
    "Design": "geomsolve.questions.design",
    "DesignReport": "geomsolve.analyses.design_report",
    "Diversity": "geomsolve.questions.diversity",
    "DiversityReport": "geomsolve.analyses.diversity",
    "FoundLevelsReport": "geomsolve.analyses.find_levels",
    "GeomsolveError": "geomsolve.errors",
    "Imbalance": "geomsolve.questions.imbalance",
    "ImbalanceReport": "geomsolve.analyses.imbalance",
    "InputError": "geomsolve.errors",
    "Levels": "geomsolve.questions.levels",
    "LevelsReport": "geomsolve.analyses.levels",
    "Loss": "geomsolve.losses",
    "Negatives": "geomsolve.questions.negatives",
    "NegativesReport": "geomsolve.analyses.negatives",
    "Orbits": "geomsolve.gram.orbits",
    "Realizable": "geomsolve.questions.realizable",
    "RealizableReport": "geomsolve.analyses.realizable_report",
    "Report": "geomsolve.report",
    "SolverError": "geomsolve.errors",
    "Spectrum": "geomsolve.questions.spectrum",
    "SpectrumReport": "geomsolve.analyses.spectrum",
    "Structure": "geomsolve.gram.structure",
    "Sweep": "geomsolve.questions.sweep",
    "SweepCrossmodal": "geomsolve.questions.sweep_crossmodal",
    "SweepCrossmodalReport": "geomsolve.analyses.sweep_crossmodal",
    "SweepReport": "geomsolve.analyses.sweep",
    "Threshold": "geomsolve.questions.threshold",
    "ThresholdCrossmodal": "geomsolve.questions.threshold_crossmodal",
    "ThresholdCrossmodalReport": "geomsolve.analyses.threshold_crossmodal_report",
    "ThresholdReport": "geomsolve.analyses.threshold_report",
    "certify": "geomsolve.proof.certificate",
    "from_lightly": "geomsolve.interop",
    "from_pml": "geomsolve.interop",
    "from_sentence_transformers": "geomsolve.interop",
    "make_loss": "geomsolve.losses",
    "solve": "geomsolve.analyses",
}

__all__ = [
    "Advise",
    "AdviseReport",
    "Capacity",
    "CapacityReport",
    "CasesReport",
    "Certificate",
    "Check",
    "CheckCrossmodal",
    "CheckReport",
    "CheckWeighting",
    "CheckpointsReport",
    "ClassifierReport",
    "Compare",
    "CompareCrossmodal",
    "CompareCrossmodalReport",
    "CompareReport",
    "Contrast",
    "ContrastReport",
    "Crossmodal",
    "CrossmodalReport",
    "Design",
    "DesignReport",
    "Diversity",
    "DiversityReport",
    "FoundLevelsReport",
    "GeomsolveError",
    "Imbalance",
    "ImbalanceReport",
    "InputError",
    "Levels",
    "LevelsReport",
    "Loss",
    "Negatives",
    "NegativesReport",
    "Orbits",
    "PackingReport",
    "Realizable",
    "RealizableReport",
    "Report",
    "SolverError",
    "Spectrum",
    "SpectrumReport",
    "Structure",
    "Sweep",
    "SweepCrossmodal",
    "SweepCrossmodalReport",
    "SweepReport",
    "Threshold",
    "ThresholdCrossmodal",
    "ThresholdCrossmodalReport",
    "ThresholdReport",
    "__version__",
    "certify",
    "from_lightly",
    "from_pml",
    "from_sentence_transformers",
    "make_loss",
    "solve",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    """All public names; none for the page of ``help``, which would print every class there is in full."""
    caller = sys._getframe(1)
    while caller is not None and caller.f_code.co_name in ("_getmembers", "getmembers"):
        caller = caller.f_back  # type: ignore[assignment]
    return [] if caller is not None and caller.f_code.co_name == "docmodule" else sorted(__all__)
