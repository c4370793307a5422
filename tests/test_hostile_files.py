"""Files that nobody means well with: sizes are looked at before anything is read, and what is refused says why."""

from __future__ import annotations

import io
import os
import resource
import struct
import subprocess
import sys
import warnings
import zipfile

import numpy as np
import pytest

from geomsolve import InputError
from geomsolve.questions.documents import read_entries
from geomsolve.reading.labels import read_classes, read_labels
from geomsolve.reading.source import MOST_VALUES
from geomsolve.reading.table import read


def header(shape, descr="<f8", fortran=False) -> bytes:
    text = f"{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': {shape}, }}"
    text += " " * (63 - (10 + len(text)) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode()


def archive(path, data: bytes, zeros: int = 0):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as file, file.open("z.npy", "w") as member:
        member.write(data)
        for _ in range(zeros // 2**22):
            member.write(bytes(2**22))
    return path


def test_a_sparse_file_of_gigabytes_is_not_read(tmp_path):
    path = tmp_path / "y.npy"
    with path.open("wb") as file:
        file.write(header((5 * 2**27,), "<i8"))
        file.truncate(file.tell() + 5 * 2**30)
    for read_one in (read_classes, read):
        with pytest.raises(InputError, match="671,088,640 values; at most 33,554,432"):
            read_one(str(path))
    text = tmp_path / "y.txt"
    with text.open("wb") as file:
        file.truncate(5 * 2**30)
    with pytest.raises(InputError, match="5,368,709,120 bytes"):
        read_classes(str(text))
    sparse_table = tmp_path / "y.csv"
    text.rename(sparse_table)
    with pytest.raises(InputError, match="it is no table"):
        read_classes(f"{sparse_table}:a")


@pytest.mark.slow
def test_a_small_archive_that_unpacks_to_gigabytes_is_not_unpacked(tmp_path):
    rows = 2 * MOST_VALUES
    flat = archive(tmp_path / "flat.npz", header((rows,), "|b1"), rows)
    with pytest.raises(InputError, match="67,108,864 values"):
        read_classes(f"{flat}:z")
    by_column = archive(tmp_path / "by_column.npz", header((rows // 2, 4), "<f2", True), rows * 4)
    with pytest.raises(InputError, match="134,217,728 values"):
        read(f"{by_column}:z")


@pytest.mark.parametrize("shape", ["(-9, 3)", "(9000000000, 3)", "(9, 4)"])
def test_an_array_is_of_the_size_that_it_says(tmp_path, shape):
    path = archive(tmp_path / "z.npz", header(shape) + bytes(9 * 3 * 8))
    with pytest.raises(InputError, match=r"'z' is not of the size it says"):
        read(f"{path}:z")
    (tmp_path / "z.npy").write_bytes(header("(-27,)") + bytes(9 * 3 * 8))
    with pytest.raises(InputError, match="cannot be read"):
        read(str(tmp_path / "z.npy"))


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("+-5\n3\n", r"'\+-5' is not a number in line 1"),
        ("12345678901234567890\n12345678901234567891\n", "more digits than floating-point numbers hold"),
        ("", "no labels"),
    ],
)
def test_labels_that_are_no_numbers(tmp_path, text, match):
    (tmp_path / "y.txt").write_text(text)
    with pytest.raises(InputError, match=match):
        read_labels(f"@{tmp_path}/y.txt")


def test_whole_numbers_never_become_others(tmp_path):
    (tmp_path / "y.csv").write_text("a\n9007199254740993\n1\n")
    np.save(tmp_path / "y.npy", np.array([2**53 + 1, 1]))
    for name in ("y.csv:a", "y.npy"):
        with pytest.raises(InputError, match=r"9007199254740993.* more digits"):
            read_labels(f"@{tmp_path}/{name}")
    (tmp_path / "y.csv").write_text(f"a\n{2**53}\n0.12345678901234567890\n")
    assert read_labels(f"@{tmp_path}/y.csv:a").values.tolist() == [2**53, 0.12345678901234567890]
    (tmp_path / "c.txt").write_text("12345678901234567890\n12345678901234567891\n")
    assert read_classes(str(tmp_path / "c.txt")).names == ("12345678901234567890", "12345678901234567891")


@pytest.mark.slow
def test_tensors_that_are_no_arrays_are_named(tmp_path, run):
    torch = pytest.importorskip("torch")
    z = torch.arange(6.0).reshape(3, 2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch's own, of kinds that it means to change
        kinds = {
            "sparse": z.to_sparse_csr(),
            "quantised": torch.quantize_per_tensor(z, 0.1, 0, torch.qint8),
            "nested": torch.nested.nested_tensor([torch.ones(2), torch.ones(3)]),
            "without values": torch.empty(3, 2, device="meta"),
        }
        for name, tensor in kinds.items():
            torch.save(tensor, tmp_path / f"{name}.pt")
    np.save(tmp_path / "y.npy", np.array([0, 1, 1]))
    for name in kinds:
        path = f"{tmp_path / name}.pt"
        for flags in (("imbalance", "--counts", f"@{path}"), ("compare", path, "--labels", tmp_path / "y.npy")):
            ended = run(*flags)
            assert (ended.code, ended.stdout) == (2, "")
            assert "a " + name in ended.stderr or "a tensor " + name in ended.stderr
            assert len(ended.stderr.splitlines()) == 1
    torch.save(z.to(torch.float8_e4m3fn), tmp_path / "f8.pt")
    np.testing.assert_array_equal(read(f"{tmp_path}/f8.pt").values, z)
    torch.save(torch.empty(1).expand(2_000_000_000), tmp_path / "wide.pt")
    with pytest.raises(InputError, match="2,000,000,000 values"):
        read(f"{tmp_path}/wide.pt")


def test_what_aliases_repeat_is_counted_in_bytes(tmp_path):
    word = "x" * 2**16
    bomb = f"kind: imbalance\nx: &a '{word}'\ny: [{','.join(['*a'] * 600)}]\n"
    (entry,) = read_entries(bomb.encode(), "bomb.yaml", tmp_path)
    assert "more than 33,554,432 characters" in str(entry.complaints[0])


def test_what_a_grid_repeats_is_counted(tmp_path):
    props = ",".join(["1"] * 400)
    thousand = ",".join(map(str, range(300)))
    bomb = f"kind: imbalance\nprops: [{props}]\ngrid:\n  seed: [{thousand}]\n  tolerance: [{thousand}]\n"
    (entry,) = read_entries(bomb.encode(), "bomb.yaml", tmp_path)
    assert "the 90,000 problems of this grid have more than" in str(entry.complaints[0])
    few = bomb.replace(props, "1,2")
    assert len(read_entries(few.replace(thousand, "1,2").encode(), "few.yaml", tmp_path)) == 4


def test_a_file_is_hashed_once_for_all_points_of_a_grid(tmp_path, monkeypatch):
    import hashlib

    hashed = []
    digest = hashlib.file_digest
    monkeypatch.setattr(hashlib, "file_digest", lambda *args: hashed.append(1) or digest(*args))
    (tmp_path / "c.txt").write_text("5\n3\n")
    text = "kind: imbalance\ncounts: '@c.txt'\ngrid: {seed: [1,2,3,4,5]}\n"
    entries = read_entries(text.encode(), "a.yaml", tmp_path)
    assert len({entry.sha256 for entry in entries}) == 5
    assert len(hashed) == 2  # of the document, and of its points


@pytest.mark.slow
@pytest.mark.skipif(not os.path.exists("/dev/zero"), reason="a system without endless files")  # noqa: PTH110
def test_an_endless_file_is_no_problem_file():
    def little_memory():
        resource.setrlimit(resource.RLIMIT_AS, (2**32, 2**32))

    command = [sys.executable, "-m", "geomsolve", "validate", "/dev/zero"]
    done = subprocess.run(command, capture_output=True, text=True, preexec_fn=little_memory, timeout=60, check=False)
    assert done.returncode == 2
    assert "more than 33,554,432 bytes" in done.stderr


def test_a_message_quotes_little_of_a_file(run, tmp_path):
    secret = "word " * 100
    (tmp_path / "secret.txt").write_text(f"1\n{secret}\n")
    (tmp_path / "a.yaml").write_text("kind: imbalance\ncounts: '@secret.txt'\n")
    said = run("validate", tmp_path / "a.yaml").stderr
    assert said.count("word") == 1
    (tmp_path / "b.yaml").write_text(f"kind: imbalance\nsolver: '{secret}'\ncounts: [5, 3]\n")
    said = run("validate", tmp_path / "b.yaml")
    assert said.code == 2
    assert len(said.stderr) < 300 + len(str(tmp_path))


def test_standard_input_without_end_is_not_read_whole(monkeypatch, run):
    from geomsolve.reading import files

    monkeypatch.setattr(files, "MOST_TEXT", 1000)
    monkeypatch.setattr("sys.stdin", io.StringIO("1 " * 10_000))
    ended = run("imbalance", "--counts", "-")
    assert ended.code == 2
    assert "standard input has more than 1,000 characters" in ended.stderr
