"""Many problems: every one answered once, whatever dies; nothing lost; the exit code of the worst."""

from __future__ import annotations

import csv
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
import tracemalloc
from pathlib import Path

import pytest

from geomsolve import Capacity, Imbalance, InputError, Levels, Threshold, __version__, solve
from geomsolve.batch.gather import gather
from geomsolve.batch.ledger import Ledger, reusable
from geomsolve.batch.rows import Outcome, exit_code, row_of
from geomsolve.batch.workers import ONE_THREAD, outcomes
from geomsolve.reading.packed import unpacked

GOOD = "kind: imbalance\nprops: [0.7, 0.2, 0.1]\nloss: {name: supcon, temperature: 1e-1}\n"


def rows_of(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def without_times(rows: list[dict]) -> list[str]:
    """Rows in a canonical order, without what differs from run to run."""
    for row in rows:
        for effort in ("solver", "effort"):
            row.get(effort, {}).pop("seconds", None)
    return sorted(json.dumps(row, sort_keys=True) for row in rows)


def start(*args) -> subprocess.Popen:
    """A batch that Ctrl-C reaches, even where the tests themselves run in the background, deaf to it."""
    return subprocess.Popen(
        [sys.executable, "-m", "geomsolve", "batch", *map(str, args)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )


def descendants(pid: int) -> list[int]:
    """Processes that ``pid`` started, and theirs; from /proc."""
    parents = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            parents[int(stat.parent.name)] = int(stat.read_text().rpartition(")")[2].split()[1])
        except (OSError, IndexError):
            continue
    found, new = [], [pid]
    while new:
        new = [child for child, parent in parents.items() if parent in new]
        found += new
    return found


def command_line(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
    except OSError:
        return ""


@pytest.mark.parametrize("flags", [(), ("--csv", "t.csv")])
def test_memory_does_not_grow_by_rows_nor_much_by_problems(run, tmp_path, monkeypatch, flags):
    """What a problem and its answer hold is packed, or on the disk: of 300 rows of 100 kB no more than a few stay."""
    monkeypatch.chdir(tmp_path)
    Path("p.yaml").write_text("---\n".join([GOOD] * 300), encoding="utf-8")
    held: list[int] = []

    def answered(entries, *_, **__):
        held.append(tracemalloc.get_traced_memory()[0])
        if tracemalloc.is_tracing():
            tracemalloc.reset_peak()
        for position, entry in enumerate(entries):
            row = row_of(entry, Outcome({"headline": "x", "proof": {"gap": 0.0}, "long": [[1.5] * 10_000]}))
            yield position, row

    monkeypatch.setattr("geomsolve.cli.commands.batch.answered", answered)
    run("batch", "p.yaml", "--out", "warm.jsonl", *flags)
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        done = run("batch", "p.yaml", "--out", "r.jsonl", *flags)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert done.code == 0
    assert len(rows_of(tmp_path / "r.jsonl")) == 300
    assert (held[-1] - before) / 300 < 3_000
    assert peak - before < 5e6


class Hangs:
    """Takes the place of a problem: the process that receives it is busy for good."""

    def __reduce__(self):
        return time.sleep, (10_000,)


class Dies:
    """The process that receives it dies of a signal."""

    def __reduce__(self):
        return os.abort, ()


class TestFolder:
    @pytest.fixture
    def folder(self, tmp_path):
        files = {
            "a.yaml": GOOD,
            "b.yaml": "kind: imbalance\nprops: [0.7, 0.2, 0.1\n",
            "c.yaml": "kind: imbalance\nprops: [0.95, 0.025, 0.025]\ngrid: {loss.temperature: [0.5, 1.0]}\n",
            "d.yaml": "kind: imbalance\nprops: [0.5, 0.5]\nprops: [0.9, 0.1]\n",
            "e.yaml": "kind: imbalance\nprops: 4*0.25\nexpect: {structure: orthogonal frame}\n",
        }
        (tmp_path / "in").mkdir()
        for name, text in files.items():
            (tmp_path / "in" / name).write_text(text)
        return tmp_path / "in"

    @pytest.mark.slow
    def test_one_row_each_and_the_worst_exit_code(self, run, folder, tmp_path, monkeypatch):
        out, table = tmp_path / "out.jsonl", tmp_path / "out.csv"
        monkeypatch.chdir(folder.parent)
        ended = run("batch", "in", "--out", out, "--csv", table, "--jobs", 2)
        assert ended.code == 2
        rows = rows_of(out)
        assert sorted((Path(row["file"]).name, row["status"]) for row in rows) == [
            ("a.yaml", "ok"),
            ("b.yaml", "invalid"),
            ("c.yaml", "ok"),
            ("c.yaml", "ok"),
            ("d.yaml", "invalid"),
            ("e.yaml", "unmet"),
        ]
        for row in rows:
            assert {"schema", "command", "problem", "versions", "file", "sha256", "status", "error"} <= row.keys()
            assert (row["error"] is None) == (row["status"] == "ok")
        for line in out.read_text().splitlines():
            keys = list(json.loads(line))
            assert keys == sorted(keys)
        by_file = {Path(row["file"]).name: row for row in rows}
        assert by_file["d.yaml"]["error"].startswith("in/d.yaml:3:1: ")
        assert "expected structure orthogonal frame, got regular simplex" in by_file["e.yaml"]["error"]
        assert by_file["a.yaml"]["value"] == pytest.approx(-0.8018179978883633, abs=1e-8)  # independent solver

        assert ended.stdout.startswith("6 problems: 3 ok, 1 unmet, 2 invalid.")
        for row in rows:
            assert row["file"] in ended.stdout
        assert "c.yaml loss.temperature=1.0" in ended.stdout
        with table.open(newline="") as file:
            cells = list(csv.DictReader(file))
        assert [Path(cell["file"]).name for cell in cells] == [f"{x}.yaml" for x in "abccde"]
        assert [cell["problem.loss.temperature"] for cell in cells] == ["0.1", "", "0.5", "1.0", "", "0.1"]
        assert cells[0]["structure.kind"] == "general"
        assert cells[0]["problem.props"] == "0.7 0.2 0.1"

    def test_rows_on_stdout_and_problems_on_stdin(self, run, monkeypatch, tmp_path):
        class Stdin:
            class buffer:  # noqa: N801
                read = staticmethod(lambda size=-1: GOOD.encode() + b"title: 'a\xe2\x80\xa8b'\n")

        monkeypatch.setattr(sys, "stdin", Stdin)
        ended = run("batch", "-", "--json", "--out", os.devnull)
        assert ended.code == 0
        (line,) = ended.stdout.splitlines()  # although the title holds a line separator
        assert json.loads(line)["file"] == "-"
        assert json.loads(line)["problem"]["title"] == "a\u2028b"

    def test_fail_fast_stops(self, run, folder, tmp_path):
        out = tmp_path / "out.jsonl"
        ended = run("batch", folder, "--out", out, "--fail-fast")
        assert ended.code == 2
        assert [row["status"] for row in rows_of(out)] == ["invalid"]
        assert "Stopped there; 5 were not answered." in ended.stdout

    @pytest.mark.parametrize(
        ("flags", "words"),
        [
            (["--resume"], "--resume: what to resume?"),
            (["--backend", "dask"], "--scheduler"),
            (["--scheduler", "tcp://127.0.0.1:1"], "--scheduler"),
            (["--backend", "dask", "--scheduler", "tcp://127.0.0.1:1", "--jobs", "2"], "--jobs"),
            (["--jobs", "0"], "--jobs"),
            (["--timeout", "0"], "--timeout: wanted a time above 0"),
            (["--timeout", "nan"], "--timeout"),
            (["--out", "."], "is a folder"),
            (["--out", "none/out.jsonl"], "there is no folder 'none'"),
            (["--csv", "none/out.csv"], "there is no folder 'none'"),
            (["--out", "in/a.yaml"], "is needed for something else"),
            (["nowhere.yaml"], "there is no file or folder 'nowhere.yaml'"),
        ],
    )
    def test_bad_flags(self, run, folder, monkeypatch, flags, words):
        monkeypatch.chdir(folder.parent)
        before = (folder / "a.yaml").read_text()
        ended = run("batch", "in", *flags)
        assert ended.code == 2
        assert ended.stdout == ""
        assert words in ended.stderr
        assert (folder / "a.yaml").read_text() == before

    @pytest.mark.slow
    def test_no_scheduler_there(self, run, folder, monkeypatch):
        pytest.importorskip("distributed", reason="dask is an extra")
        monkeypatch.setattr("geomsolve.batch.workers.CONNECT", 0.5)
        ended = run("batch", folder, "--backend", "dask", "--scheduler", "tcp://127.0.0.1:9", "--quiet")
        assert ended.code == 2
        assert "no dask scheduler answers at 'tcp://127.0.0.1:9'" in ended.stderr

    def test_severity(self):
        order = ["ok", "unmet", "uncertified", "invalid", "failed"]
        codes = [exit_code([{"status": "ok"}, {"status": status}, {"status": "ok"}]) for status in order]
        assert codes == [0, 1, 1, 2, 3]
        assert exit_code([]) == 0


class TestWorkers:
    @pytest.mark.slow
    def test_a_problem_that_hangs_and_one_that_kills_leave_the_others(self):
        good = Imbalance(props=(0.5, 0.5))
        found = dict(outcomes([good, Hangs(), good, Dies(), good], jobs=2, timeout=3))
        assert sorted(found) == [0, 1, 2, 3, 4]
        assert [found[i].answer["structure"]["kind"] for i in (0, 2, 4)] == ["antipodal"] * 3
        assert str(found[1].error) == "took longer than 3 s, and was stopped"
        assert str(found[3].error) == "the process that solved this was killed by signal 6"

    def test_one_thread_each_and_no_process_is_left(self):
        environments = []
        for _ in outcomes([Imbalance(props=(0.5, 0.5))], jobs=1):
            (child,) = [pid for pid in descendants(os.getpid()) if "batch.child" in command_line(pid)]
            environments.append(Path(f"/proc/{child}/environ").read_bytes().decode().split("\0"))
        assert {f"{name}=1" for name in ONE_THREAD} <= set(environments[0])
        assert not any("batch.child" in command_line(pid) for pid in descendants(os.getpid()))

    @pytest.mark.slow
    def test_a_process_that_is_killed_takes_no_other_problem_with_it(self):
        problems = [Imbalance(props=(0.5, 0.5), seed=seed) for seed in range(12)]
        found = {}
        for position, outcome in outcomes(problems, jobs=2):
            found[position] = outcome
            if len(found) == 2:
                children = [pid for pid in descendants(os.getpid()) if "batch.child" in command_line(pid)]
                assert len(children) == 2
                os.kill(children[0], signal.SIGKILL)
        assert sorted(found) == list(range(12))
        failed = [outcome for outcome in found.values() if outcome.answer is None]
        assert len(failed) <= 1  # the one that it was at
        assert all("killed by signal 9" in str(outcome.error) for outcome in failed)

    def test_an_error_of_the_solver_is_a_row_that_failed(self, tmp_path):
        (tmp_path / "p.yaml").write_text(GOOD)
        (entry,) = gather([str(tmp_path)])
        row = row_of(entry, Outcome(error=MemoryError("no room")))
        assert (row["status"], row["error"], row["command"]) == ("failed", "no room", "imbalance")
        row = row_of(entry, Outcome(error=InputError("too many", field="props")))
        assert (row["status"], row["error"]) == ("invalid", f"{tmp_path / 'p.yaml'}:2:1: props: too many")
        row = row_of(entry, Outcome(answer={"command": "imbalance"}, certified=False))
        assert row["status"] == "uncertified"
        row = row_of(entry, Outcome(answer={"command": "check"}, unmet=("the two sides disagree",)))
        assert row["status"] == "unmet"


def opened(found):
    kept, others = found
    return {position: unpacked(data) for position, data in kept.items()}, [unpacked(data) for data in others]


class TestLedger:
    def row(self, **changes) -> dict:
        head = {"schema": "geomsolve/1", "versions": {"geomsolve": __version__}}
        return {**head, "file": "a.yaml", "sha256": "x", "status": "ok", "error": None, **changes}

    def test_each_row_is_on_the_disk_when_append_returns(self, tmp_path):
        ledger = Ledger(tmp_path / "out")
        ledger.append(self.row())
        assert rows_of(tmp_path / "out") == [self.row()]
        ledger.close()

    def test_one_run_at_a_time(self, run, tmp_path):
        (tmp_path / "p.yaml").write_text(GOOD)
        out = tmp_path / "out.jsonl"
        ledger = Ledger(out)
        ledger.replace([self.row()])  # the file is a new one now, and that is locked too
        for flags in ([], ["--resume"]):
            ended = run("batch", tmp_path / "p.yaml", "--out", out, *flags)
            assert ended.code == 2
            assert "another run is writing" in ended.stderr
            assert rows_of(out) == [self.row()]
        ledger.close()
        Ledger(out).close()

    def test_a_torn_last_line_is_dropped_and_a_whole_one_kept(self, tmp_path):
        out = tmp_path / "out"
        whole = json.dumps(self.row())
        for tail, rows in ((whole[:-20], 1), (whole, 2), ("", 1)):
            out.write_text(f"{whole}\n{tail}")
            ledger = Ledger(out)
            assert len(list(ledger.rows())) == rows
            ledger.close()

    def test_what_is_no_output_is_not_touched(self, tmp_path):
        out = tmp_path / "thesis.txt"
        out.write_text("all my work\nof years\n")
        ledger = Ledger(out)
        with pytest.raises(InputError, match=r"line 1 of .* is no result of geomsolve batch"):
            list(ledger.rows())
        ledger.close()
        assert out.read_text() == "all my work\nof years\n"

    def test_a_line_without_end_is_not_read_to_its_end(self, tmp_path, monkeypatch):
        monkeypatch.setattr("geomsolve.batch.ledger.LONGEST", 1000)
        out = tmp_path / "out"
        with out.open("wb") as file:
            file.truncate(5 * 2**30)  # sparse: takes no room, but would take memory
        ledger = Ledger(out)
        with pytest.raises(InputError, match=r"line 1 of .* is no result"):
            next(ledger.rows())
        ledger.close()

    def test_which_rows_are_kept(self, tmp_path):
        for name in ("a", "b", "c"):
            (tmp_path / f"{name}.yaml").write_text(f"{GOOD}seed: {ord(name)}\n")
        entries = gather([str(tmp_path)])
        a, b, c = (self.row(file=e.file, sha256=e.sha256) for e in entries)
        kept, others = opened(reusable([a, b, c], entries))
        assert kept == {0: a, 1: b, 2: c}
        assert others == []
        rows = [
            {**a, "file": "elsewhere/a.yaml"},  # the same content under another name answers too
            {**b, "versions": {"geomsolve": "0.0.1"}},  # another version does not,
            {**c, "status": "failed"},  # nor does a failure,
            {**c, "sha256": "changed"},  # nor what the file was before
            self.row(file="another.yaml"),  # a row of a file that is not asked for stays
        ]
        kept, others = opened(reusable(rows, entries))
        assert kept == {0: a}
        assert others == rows[4:]

    @pytest.mark.slow
    def test_resume_ends_with_what_a_clean_run_writes(self, run, tmp_path):
        source = tmp_path / "p.yaml"
        source.write_text("kind: imbalance\nprops: [0.7, 0.2, 0.1]\ngrid: {seed: [1, 2, 3]}\n")
        clean, out = tmp_path / "clean.jsonl", tmp_path / "out.jsonl"
        assert run("batch", source, "--out", clean, "--jobs", 1).code == 0
        _, second, third = clean.read_text().splitlines()
        out.write_text(f"{second}\n{third[:100]}")
        ended = run("batch", source, "--out", out, "--resume", "--jobs", 1)
        assert ended.code == 0
        assert "1 of 3 answers are kept, 2 to go" in ended.stderr
        assert second in out.read_text()
        assert without_times(rows_of(out)) == without_times(rows_of(clean))
        assert [p.name for p in tmp_path.iterdir() if p.name.startswith(".")] == []


@pytest.mark.slow
class TestKilled:
    PROBLEMS = 48

    @pytest.fixture
    def source(self, tmp_path):
        path = tmp_path / "p.yaml"
        seeds = ", ".join(map(str, range(self.PROBLEMS)))
        path.write_text(f"kind: imbalance\nprops: [0.7, 0.2, 0.1]\ngrid: {{seed: [{seeds}]}}\n")
        return path

    def test_twenty_times_at_random_and_resumed_to_the_whole(self, source, tmp_path):
        out = tmp_path / "out.jsonl"
        dice = random.Random(4)
        kept = 0
        for _ in range(20):
            batch = start(source, "--out", out, "--resume", "--jobs", 1, "--quiet")
            wanted = kept + dice.randint(0, 2)
            while batch.poll() is None and (not out.exists() or out.read_bytes().count(b"\n") < wanted):
                time.sleep(0.002)
            time.sleep(dice.uniform(0, 0.05))
            batch.kill()
            batch.communicate()
            *whole, _torn = out.read_bytes().split(b"\n") if out.exists() else [b""]
            assert all(json.loads(line)["status"] == "ok" for line in whole)
            assert len(whole) >= kept
            kept = len(whole)
        batch = start(source, "--out", out, "--resume", "--jobs", 1)
        _, errors = batch.communicate(timeout=120)
        assert batch.returncode == 0, errors
        assert kept > 0
        rows = rows_of(out)
        assert sorted(row["problem"]["seed"] for row in rows) == list(range(self.PROBLEMS))
        assert {row["status"] for row in rows} == {"ok"}
        assert len({row["sha256"] for row in rows}) == self.PROBLEMS

    def test_interrupt_leaves_whole_lines_and_no_process(self, source, tmp_path):
        out = tmp_path / "out.jsonl"
        batch = start(source, "--out", out, "--jobs", 2)
        while not out.exists() or out.read_bytes().count(b"\n") < 2:
            time.sleep(0.01)
        os.killpg(batch.pid, signal.SIGINT)  # as Ctrl-C does: everyone in the terminal gets it
        _, errors = batch.communicate(timeout=60)
        assert batch.returncode == 130
        assert errors.strip() == "Error: interrupted"
        assert out.read_bytes().endswith(b"\n")
        assert rows_of(out)

    def test_interrupt_while_workers_start_is_one_line(self, source, tmp_path):
        batch = start(source, "--out", tmp_path / "out.jsonl", "--jobs", 2)
        while not descendants(batch.pid):
            time.sleep(0.005)
        os.killpg(batch.pid, signal.SIGINT)
        _, errors = batch.communicate(timeout=60)
        assert batch.returncode == 130
        assert errors.strip() == "Error: interrupted"

    def test_workers_end_with_a_killed_batch(self, source, tmp_path):
        out = tmp_path / "out.jsonl"
        batch = start(source, "--out", out, "--jobs", 2)
        while not out.exists() or out.read_bytes().count(b"\n") < 2:
            time.sleep(0.01)
        orphans = [pid for pid in descendants(batch.pid) if "geomsolve" in command_line(pid)]
        assert len(orphans) >= 2
        batch.kill()
        batch.communicate()
        late = threading.Event()
        timer = threading.Timer(30, late.set)
        timer.start()
        while any(command_line(pid) for pid in orphans) and not late.is_set():
            time.sleep(0.05)
        timer.cancel()
        assert [command_line(pid) for pid in orphans if command_line(pid)] == []


def test_answers_in_a_table_say_what_they_are():
    """A number alone says nothing among rows of other kinds."""
    asked = {
        "collapse above temperature 1.14255": Threshold([0.9, 0.06, 0.04]),
        "merger from regularisation 0.00642824": Threshold(
            counts=[500, 500, 50, 50], loss="cross-entropy", over="regularisation"
        ),
        "optimum 3.01229": Levels(classes=6, batch=64),
        "angles of 90° or more": Capacity(10, dim=5),
        "240 classes": Capacity(dim=8, max_cosine=0.5),
    }
    assert {said: solve(question).headline for said, question in asked.items()} == {said: said for said in asked}
