"""How people who have seen only ``--help`` phrase the five questions: understood, or told the line to write."""

from __future__ import annotations

import shlex

import pytest

PROPS, MANY, PAIR = (
    "imbalance --props 0.7,0.2,0.1",
    "imbalance --counts 700,200,100",
    "crossmodal --loss siglip --props",
)
LONG, WHERE = "imbalance --dataset cifar10-lt:100", "threshold --props 0.9,0.06,0.04"
ADVICE, LEVEL = "advise --props 0.6,0.4", "levels --batch 64 --classes 6"
AGES, ATTAIN = "realizable --weighting yaware --labels 20,25,30", "realizable --weighting yaware"

UNDERSTOOD = {
    "imbalance --props [0.7,0.2,0.1]": PROPS,
    "imbalance --props '0.7, 0.2, 0.1'": PROPS,
    "imbalance --props '0.7;0.2;0.1'": PROPS,
    "imbalance --props 70%,20%,10%": PROPS,
    "imbalance --temperature=0.1 --loss SupCon --props 0.7,0.2,0.1": PROPS,
    "imbalance --tau 0.1 --loss SupConLoss --props 0.7,0.2,0.1": PROPS,
    "threshold --props 0.9,0.06,0.04 --over tau": WHERE,
    "levels --loss simclr --batch-size 512": "levels --loss simclr --batch 512",
    "realizable --loss y-aware --labels 20,25,30": AGES,
    "realizable --weighting rbf --labels '20 25 30'": AGES,
}

TOLD = {
    "imbalance 0.7 0.2 0.1": PROPS,
    "imbalance 0.7,0.2,0.1": PROPS,
    "imbalance --props 0.7 0.2 0.1": PROPS,
    "imbalance -p 0.7,0.2,0.1": PROPS,
    "imbalance --proportions 0.7,0.2,0.1": PROPS,
    "imbalance --priors 0.7,0.2,0.1": PROPS,
    "imbalance --class-frequencies 0.7,0.2,0.1": PROPS,
    "imbalance --weights 0.7,0.2,0.1": PROPS,
    "imbalance --distribution 0.7,0.2,0.1 --verbose": PROPS,
    "geometry --props 0.7,0.2,0.1": PROPS,
    "imbalance --props 0.7,0.2,0.1 -T 0.5": f"{PROPS} --temperature 0.5",
    "imbalance --props 0.7,0.2,0.1 --format json": f"{PROPS} --json",
    "imbalance --props 0.7,0.2,0.1 --angles": PROPS,
    "imbalance --props 0.7,0.2,0.1 --model infonce": f"{PROPS} --loss infonce",
    "infonce --props 0.7,0.2,0.1": "imbalance --loss infonce --props 0.7,0.2,0.1",
    "imbalance 700 200 100": MANY,
    "imbalance --classes 700,200,100": MANY,
    "imbalance --class-counts 700,200,100": MANY,
    "imbalance --cls_num_list 700,200,100": MANY,
    "imbalance --samples-per-class 700 200 100": MANY,
    "imbalance --num-classes 10": "imbalance --props '10*1/10'",
    "imbalance cifar10-lt": LONG,
    "imbalance --data cifar10-lt:100": LONG,
    "imbalance --classes 10 --imbalance-ratio 100": LONG,
    "imbalance --imb-factor 100 --num-classes 30": "sweep --classes 30 --over imbalance=1,100",
    "imbalance labels.csv:class": "imbalance --labels @labels.csv:class",
    "imbalance --props 0.7,0.2,0.1 --over temperature": "threshold --props 0.7,0.2,0.1 --over temperature",
    "collapse --props 0.9,0.06,0.04": WHERE,
    "threshold 0.9,0.06,0.04": WHERE,
    "threshold temperature --props 0.9,0.06,0.04": f"{WHERE} --over temperature",
    "threshold --props 0.9,0.06,0.04 --what temperature": f"{WHERE} --over temperature",
    "threshold --props 0.9,0.06,0.04 --vary temperature": f"{WHERE} --over temperature",
    "critical --props 0.9,0.06,0.04": WHERE,
    "advise 0.6,0.4": ADVICE,
    "advice --props 0.6,0.4": ADVICE,
    "suggest --props 0.6,0.4": ADVICE,
    "improve --priors 0.6,0.4": ADVICE,
    "advise --props 0.6,0.4 --goal separate": f"{ADVICE} --want separate",
    "levels --bs 64 --classes 6": LEVEL,
    "levels --batch 64 --num_classes 6": LEVEL,
    "loss --batch 64 --classes 6": LEVEL,
    "levels 6.92 --batch 64 --classes 6": f"{LEVEL} --loss-value 6.92",
    "levels --batch 64 --classes 6 --loss 6.92": f"{LEVEL} --loss-value 6.92",
    "levels --batch 64 --classes 6 --n-views 2": f"{LEVEL} --views 2",
    "realizable yaware": ATTAIN,
    "realizable yaware 20,25,30": "realizable --labels 20,25,30 --weighting yaware",
    "realizable --ages 20,25,30": AGES,
    "realizable --labels 20 25 30": AGES,
    "realizable --labels 20,25,30": AGES,
    "feasible --weighting yaware --labels 20,25,30": AGES,
    "y-aware --labels 20,25,30": AGES,
    "realizable --targets 20,25,30 --bandwidth 5": f"{AGES} --sigma 5",
    "crossmodal --loss siglip 4*1/4": f"{PAIR} '4*1/4'",
    "crossmodal --loss siglip --classes 4": f"{PAIR} '4*1/4'",
    "siglip --props 4*1/4": f"{PAIR} '4*1/4'",
    "crossmodal '3,1;0,2'": "crossmodal --pairs '3,1;0,2'",
    "capacity 12 3": "capacity --classes 12 --dim 3",
    "capacity --num-classes 12 --dimension 3": "capacity --classes 12 --dim 3",
    "compare a.npy y.npy": "compare a.npy --labels y.npy",
    "compare --embeddings a.npy --labels y.npy": "compare --labels y.npy a.npy",
    "sweep --props 0.8,0.2 --temperature 0.1:2:3": "sweep --props 0.8,0.2 --over temperature=0.1:2:3",
    "sweep --props 0.8,0.2 --over temperature 0.1:2:3": "sweep --props 0.8,0.2 --over temperature=0.1:2:3",
    "imbalance --props 0.7,0.3 --epochs 10": "check --props 0.7,0.3 --steps 10",
}

ANSWERED = sorted(
    {line for line in TOLD.values() if not line.startswith(("compare", "check", "capacity", "imbalance --l"))}
)


@pytest.mark.parametrize("written", UNDERSTOOD)
def test_understood_as_the_plain_form(run, written):
    plain, shown = run(*shlex.split(UNDERSTOOD[written]), "--quiet"), run(*shlex.split(written), "--quiet")
    assert plain.code == shown.code == 0
    assert shown.stdout == plain.stdout


@pytest.mark.parametrize("written", TOLD)
def test_told_the_line_to_write(run, written):
    shown = run(*shlex.split(written))
    assert (shown.code, shown.stdout) == (2, "")
    assert shown.stderr.partition("; write: geomsolve ")[2].partition(" (see geomsolve")[0].strip() == TOLD[written]


@pytest.mark.slow
@pytest.mark.parametrize("line", ANSWERED)
def test_a_line_that_is_told_runs(run, line):
    assert run(*shlex.split(line), "--quiet").code == 0


def test_what_means_nothing_gets_no_guess(run):
    """A wrong value, a loss that there is not, and a flag that no word leads to: the plain message alone."""
    for line in (
        "imbalance --props 0.7,0.2",
        "imbalance --props 0.7,0.3 --loss foo",
        "imbalance --foo 3",
        "validate no",
    ):
        shown = run(*shlex.split(line))
        assert shown.code == 2
        assert "write:" not in shown.stderr
    assert "known: advise, batch" in run("quux").stderr
    assert "write:" not in run("imbalance", "--props", "0.7,0.3", "--margin=0.3").stderr
