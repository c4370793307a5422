"""The command line itself: help without a command, completion, errors as JSON, the width of what is printed."""

from __future__ import annotations

import decimal
import json

import pytest


def test_alone_it_prints_help_and_help_of_a_command_is_its_own(run):
    alone = run()
    assert alone.code == 0
    assert alone.stdout.startswith("Usage: geomsolve")
    assert run("help").stdout == alone.stdout
    assert run("help", "imbalance").stdout == run("imbalance", "--help").stdout
    shown = run("help", "imbalence")
    assert (shown.code, "did you mean 'imbalance'" in shown.stderr) == (2, True)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion(run, shell):
    shown = run("completion", shell)
    assert shown.code == 0
    assert f"_GEOMSOLVE_COMPLETE={shell}_complete" in shown.stdout


@pytest.mark.parametrize(
    ("words", "begun", "found"),
    [
        (["imbalance", "--loss"], "sup", {"supcon", "supcon-in"}),
        (["imbalance", "--dataset"], "cifar10-", {"cifar10-lt:100"}),
        (["realizable", "--weighting"], "j", {"jaccard"}),
        (["help"], "cap", {"capacity"}),
    ],
)
def test_losses_and_data_sets_complete(words, begun, found):
    from click.shell_completion import ShellComplete

    from geomsolve.cli.main import cli

    items = ShellComplete(cli, {}, "geomsolve", "_GEOMSOLVE_COMPLETE").get_completions(words, begun)
    assert found <= {item.value for item in items}


@pytest.mark.parametrize(
    ("arguments", "code", "field"),
    [
        (("imbalance", "--props", "0.7,0.1"), 2, "props"),
        (("capacity", "--dim", 3, "--max-cosine", 2), 2, "max_cosine"),
        (("imbalance", "--no-such-flag"), 2, None),
    ],
)
def test_with_json_an_error_is_an_object(run, arguments, code, field):
    shown = run(*arguments, "--json")
    assert (shown.code, shown.stdout) == (code, "")
    error = json.loads(shown.stderr)["error"]
    assert error["field"] == field
    assert error["message"]


def test_notices_stand_in_the_object_of_an_error(run):
    asked = ("imbalance", "--props", "70,20,10", "--scale", "10")
    shown = run(*asked, "--out", "no-such-folder/answer.json", "--json")
    assert (shown.code, shown.stdout) == (2, "")
    told = json.loads(shown.stderr)
    assert "--temperature 0.1" in told["notes"][0]
    assert len(told["notes"]) == 2
    assert "Note: --scale 10" in run(*asked, "--no-such-flag").stderr.splitlines()[0]
    after = run(*asked, "--json")  # those of the error before are gone
    assert after.code == 0
    assert after.stderr.splitlines() == [f"Note: {each}" for each in told["notes"]]
    assert "notes" not in json.loads(run("imbalance", "--no-such-flag", "--json").stderr)


def test_columns_is_obeyed(run, monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    narrow = run("capacity", "--classes", 12, "--dim", 3, "--quiet").stdout
    assert max(map(len, narrow.splitlines())) <= 60
    monkeypatch.delenv("COLUMNS")
    assert max(map(len, run("capacity", "--classes", 12, "--dim", 3, "--quiet").stdout.splitlines())) > 60


@pytest.mark.parametrize(
    ("arguments", "default", "nine"),
    [
        (("imbalance", "--props", ".7,.2,.1", "-t", ".5"), "-0.6872", "-0.687214230"),
        (("imbalance", "--props", ".7,.2,.1", "-t", ".5"), "101.3°", "101.260553°"),
        (("imbalance", "--props", ".7,.2,.1", "-t", ".5"), "loss value -0.720867087", "loss value -0.720867087"),
        (("threshold", "--props", ".9,.06,.04"), "1.14255", "1.14254611"),
        (("capacity", "--classes", "4", "--dim", "3"), "109.47°", "109.471221°"),
        (("levels", "--batch", "64", "--classes", "6"), "4.84419 ", "4.84418709 "),
        (("levels", "--batch", "64", "--classes", "6"), "; 4.844 is", "; 4.84418709 is"),
        (
            ("realizable", "--loss", "rnc", "--labels", "0,1,2", "-t", ".5"),
            "0.0334 ",
            "0.0334021863 ",
        ),
        (("crossmodal", "--props", ".7,.2,.1", "-t", ".5"), "-0.6872", "-0.687214230"),
    ],
)
def test_digits_are_as_many_as_are_asked_for(run, arguments, default, nine):
    """cos 12 = -.6872142303, 109.4712206 = arccos(-1/3), log 127 = 4.844187086, the root 1.142546113758; ranks of three
    lose log(1 + e^{-9/4})/3 = .03340218631 of log(2)/3."""
    assert default in run(*arguments).stdout
    assert nine in run(*arguments, "--digits", 9).stdout
    assert default in run(*arguments).stdout


def test_more_digits_of_a_threshold_than_floating_point_numbers_hold_are_proven(run):
    """q = (P x/2) ((P x + q)/(P + q x) + 1) with x = e^(-2/tau), P = .9, solved in fifty digits by bisection."""
    decimal.getcontext().prec = 50
    big, small, low, high = decimal.Decimal("0.9"), decimal.Decimal("0.1"), decimal.Decimal("0.5"), decimal.Decimal(2)
    for _ in range(120):
        tau = (low + high) / 2
        x = (-2 / tau).exp()
        collapsed = small <= big * x / 2 * ((big * x + small) / (big + small * x) + 1)
        low, high = (low, tau) if collapsed else (tau, high)
    pytest.importorskip("flint")
    shown = run("threshold", "--props", ".9,.06,.04", "--digits", 25, "--quiet")
    assert str(low)[:26] in shown.stdout
    assert run("imbalance", "--props", ".7,.3", "--digits", 0).code == 2


def test_bars_are_for_terminals_and_never_beside_json(run, monkeypatch):
    asked = ("sweep", "--props", ".8,.2", "--over", "temperature=.1,.5")
    assert run(*asked).stderr == ""
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert "solving points" in run(*asked).stderr
    assert run(*asked, "--json").stderr == ""
    assert run(*asked, "--quiet").stderr == ""
    assert "searching" in run("capacity", "--classes", 7, "--dim", 3).stderr
    assert "best embedding" in run("realizable", "--weighting", "yaware", "--labels", "0,1,2").stderr
