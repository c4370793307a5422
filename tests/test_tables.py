"""Tables as people mean them: coordinates without labels and indices, labels told apart, files read once."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import pickle

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from geomsolve import InputError, solve
from geomsolve.questions.compare import Compare
from geomsolve.questions.diversity import Diversity
from geomsolve.questions.documents import content_hash
from geomsolve.questions.negatives import Negatives
from geomsolve.questions.realizable import Realizable
from geomsolve.questions.spectrum import Spectrum
from geomsolve.questions.sweep import Sweep
from geomsolve.reading import generators, source
from geomsolve.reading.embeddings import open_embeddings
from geomsolve.reading.images import read_images
from geomsolve.reading.labels import read_classes, read_labels
from geomsolve.reading.latents import read_latents
from geomsolve.reading.lists import read_names, read_numbers
from geomsolve.reading.matrices import read_matrix

Z = np.array([[1.0, 0.25], [1.0, 0.5], [1.0, 0.75], [-1.0, 0.5], [-1.0, 0.25], [-1.0, 0.0]])
Y = [0, 0, 0, 5, 5, 5]


def write(path, header, rows, *, encoding="utf-8", end="\n", delimiter=","):
    lines = [delimiter.join(map(str, row)) for row in ([header] if header else []) + rows]
    path.write_bytes((end.join(lines) + end).encode(encoding))


def coordinates(folder, text, labels=None):
    classes = None if labels is None else read_classes(labels, folder)
    found = open_embeddings(text, folder, classes)
    return np.concatenate(list(found.chunks())), found


# ---- what is a coordinate


def test_the_answer_never_replaces_a_table_it_comes_from(run, tmp_path):
    write(tmp_path / "a.csv", ["a", "b", "y"], [[*z, y] for z, y in zip(Z, Y, strict=True)])
    before = (tmp_path / "a.csv").read_bytes()
    np.save(tmp_path / "z.npy", Z)
    for embeddings in ("a.csv:a,b", "z.npy"):
        done = run("compare", tmp_path / embeddings, "--labels", tmp_path / "a.csv:y", "--out", tmp_path / "a.csv")
        assert done.code == 2
        assert done.stderr.startswith("Error: --out: ")
    assert (tmp_path / "a.csv").read_bytes() == before


@pytest.mark.slow
def test_the_columns_of_labels_and_index_are_no_coordinates(run, tmp_path):
    (tmp_path / "a.csv").write_text("a,b,y\n" + "1,0,0\n" * 3 + "-1,0,5\n" * 3)
    (tmp_path / "b.csv").write_text(",a,b\n" + "".join(f"{i},{1 if i < 3 else -1},0\n" for i in range(6)))
    (tmp_path / "l.txt").write_text("p\np\np\nq\nq\nq\n")
    for table, labels, left in (("a.csv", "a.csv:y", ["y", "labels"]), ("b.csv", "l.txt", ["(no name)", "index"])):
        done = run("compare", tmp_path / table, "--labels", tmp_path / labels, "--json")
        assert done.json["measured"]["gram"] == [[1, -1], [-1, 1]]  # with the column as a coordinate it is above -1
        assert done.json["max_gram_error"] < 1e-9
        assert done.json["read"] == {
            "embeddings": str(tmp_path / table),
            "labels": str(tmp_path / labels),
            "columns": ["a", "b"],
            "left_out": [{"column": left[0], "why": left[1]}],
        }


def test_what_was_read_is_said(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "a.csv", ["id", "a", "b", "y"], [[i, *z, y] for i, (z, y) in enumerate(zip(Z, Y, strict=True))])
    words = " ".join(run("compare", "a.csv", "--labels", "a.csv:y").stdout.split())
    assert "Read 6 rows of a.csv: columns a and b; left out id (index) and y (labels). Labels: a.csv:y." in words


@pytest.mark.parametrize(
    ("header", "before", "after", "left"),
    [
        (["", "a", "b"], range(6), None, [("(no name)", "index")]),
        (["", "0", "1"], range(6), None, [("(no name)", "index")]),  # a data frame without column names
        (["Unnamed: 0", "a", "b"], range(6), None, [("Unnamed: 0", "index")]),
        (["", "a", "b"], [f"img{i}.png" for i in range(6)], None, [("(no name)", "index")]),
        (["ID", "a", "b"], [100, 7, 3, 5, 4, 9], None, [("ID", "index")]),
        (["path", "a", "b"], list("uvwxyz"), None, [("path", "texts")]),
        (["a", "b", "label"], None, [3, 1, 2, 1, 2, 3], [("label", "called like labels")]),
        (["a", "b", "target"], None, list("uvwxyz"), [("target", "called like labels")]),
        (["a", "b", "class"], None, [0.5] * 6, None),  # no whole numbers: a coordinate
        (["id", "a", "b"], [0.5, 1, 2, 3, 4, 5], None, None),
        (["# a", "b"], None, None, []),  # numpy's heading
        (["a", "b"], None, None, []),
        (None, None, None, []),
        (None, range(6), None, None),  # without names nothing is guessed
    ],
)
def test_indices_and_names_as_pandas_and_others_write_them(tmp_path, header, before, after, left):
    rows = [
        [*([] if before is None else [before[i]]), *z, *([] if after is None else [after[i]])] for i, z in enumerate(Z)
    ]
    write(tmp_path / "f.csv", header, rows)
    values, found = coordinates(tmp_path, "f.csv")
    if left is None:
        assert values.shape == (6, 3)
        assert found.left_out == ()
    else:
        np.testing.assert_array_equal(values, Z)
        assert list(found.left_out) == left


def test_a_header_that_only_counts_is_a_header_above_fractions(tmp_path):
    write(tmp_path / "f.csv", [0, 1, 2], [[*z, 0.5] for z in Z])
    assert coordinates(tmp_path, "f.csv")[0].shape == (6, 3)
    write(tmp_path / "g.csv", [0, 1, 2], [[3, 4, 5]])
    assert coordinates(tmp_path, "g.csv")[0].shape == (2, 3)  # whole numbers below: a row as well


def test_a_column_without_a_name_that_could_be_a_coordinate_is_an_error(tmp_path):
    write(tmp_path / "f.csv", ["", "a"], [[1.0, 0.25], [0.5, 1.0]])
    with pytest.raises(InputError, match=r"an index or a coordinate.*it has .no name., a"):
        coordinates(tmp_path, "f.csv")


def test_columns_are_chosen_by_name(tmp_path):
    rows = [[y, *z, 9.5] for z, y in zip(Z, Y, strict=True)]
    write(tmp_path / "f.csv", ["y", "a", "b, c", "d"], rows)
    (tmp_path / "f.csv").write_text((tmp_path / "f.csv").read_text().replace("b, c", '"b, c"'))
    np.testing.assert_array_equal(coordinates(tmp_path, "f.csv:a")[0], Z[:, :1])
    np.testing.assert_array_equal(coordinates(tmp_path, "f.csv:b, c")[0], Z[:, 1:])
    np.testing.assert_array_equal(coordinates(tmp_path, "f.csv:d,a")[0], np.column_stack([np.full(6, 9.5), Z[:, 0]]))
    with pytest.raises(InputError, match="no column 'x'; its header is y, a, b, c, d"):
        coordinates(tmp_path, "f.csv:a,x")
    with pytest.raises(InputError, match="'y' is the column of the labels"):
        coordinates(tmp_path, "f.csv:y,a", "f.csv:y")
    write(tmp_path / "f.csv", ["a", "a", "y"], [[*z, y] for z, y in zip(Z, Y, strict=True)])
    with pytest.raises(InputError, match="2 columns called 'a'"):
        coordinates(tmp_path, "f.csv:a")
    np.testing.assert_array_equal(coordinates(tmp_path, "f.csv", "f.csv:y")[0], Z)


def test_a_whole_column_called_like_that_of_the_labels_elsewhere_is_left_out(tmp_path):
    write(tmp_path / "f.csv", ["a", "b", "grade"], [[*z, y] for z, y in zip(Z, Y, strict=True)])
    write(tmp_path / "l.csv", ["grade"], [[y] for y in Y])
    values, found = coordinates(tmp_path, "f.csv", "l.csv:grade")
    np.testing.assert_array_equal(values, Z)
    assert found.left_out == (("grade", "called like labels"),)


@pytest.mark.parametrize(("suffix", "delimiter"), [("csv", ";"), ("csv", "\t"), ("tsv", "\t"), ("tsv", ",")])
@pytest.mark.parametrize(("encoding", "end"), [("utf-8-sig", "\r\n"), ("utf-8", "\r"), ("utf-8", "\n\n")])
def test_marks_line_ends_and_other_signs(tmp_path, suffix, delimiter, encoding, end):
    rows = [[*z, f"é{y}"] for z, y in zip(Z, Y, strict=True)]
    write(tmp_path / f"f.{suffix}", ["a", "b", "y"], rows, encoding=encoding, end=end, delimiter=delimiter)
    np.testing.assert_array_equal(coordinates(tmp_path, f"f.{suffix}", f"f.{suffix}:y")[0], Z)
    assert read_classes(f"f.{suffix}:y", tmp_path).names == ("é0", "é5")
    assert read_numbers(f"@f.{suffix}:a", tmp_path) == Z[:, 0].tolist()


def test_quoted_cells_hold_commas_and_line_ends(tmp_path):
    with (tmp_path / "f.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["a note", "a", "b"])
        writer.writerows([[f'x, "y"\nz{i}', *z] for i, z in enumerate(Z)])
    values, found = coordinates(tmp_path, "f.csv")
    np.testing.assert_array_equal(values, Z)
    assert found.left_out == (("a note", "texts"),)
    assert read_classes("f.csv:a note", tmp_path).names[0] == 'x, "y"\nz0'
    with (tmp_path / "f.csv").open("a") as file:
        file.write('q,1,"oops\n"\n')
    with pytest.raises(InputError, match=r"'oops' in line 15 of .* is not a number"):
        coordinates(tmp_path, "f.csv")


@pytest.mark.parametrize("name", ["f.csv", "f.npy", "f.npz", "f.parquet", "f.txt"])
def test_empty_files(tmp_path, name):
    if name == "f.parquet":
        pytest.importorskip("pyarrow")
    (tmp_path / name).write_bytes(b"")
    for reading in (
        lambda: read_classes(name, tmp_path),
        lambda: open_embeddings(name, tmp_path),
        lambda: read_labels(f"@{name}", tmp_path),
        lambda: read_matrix(f"@{name}", tmp_path),
    ):
        with pytest.raises(InputError, match=r"f\.|no labels|matrix"):
            reading()
    write(tmp_path / "h.csv", ["a", "y"], [])
    with pytest.raises(InputError, match="holds no labels"):
        read_classes("h.csv:y", tmp_path)


def test_arrays_that_are_no_rows_of_numbers(tmp_path):
    for array, part in (
        (np.array(3.0), "float64 of shape ()"),
        (np.array([1.0, 2]), "float64 of shape (2,)"),
        (np.array([[1 + 2j]]), "complex128 of shape (1, 1)"),
        (np.array([["a"]]), "<U1 of shape (1, 1)"),
        (np.array([["2020-01-01"]], "datetime64[D]"), "datetime64"),
    ):
        np.save(tmp_path / "z.npy", array)
        with pytest.raises(InputError) as caught:
            open_embeddings("z.npy", tmp_path)
        assert part in caught.value.message
    np.save(tmp_path / "z.npy", Z.astype(">f4"))
    np.testing.assert_array_equal(coordinates(tmp_path, "z.npy")[0], Z)
    with pytest.raises(InputError, match="holds one array without a name; leave out 'a'"):
        open_embeddings("z.npy:a", tmp_path)


def test_of_several_arrays_the_only_one_in_two_dimensions_is_meant(tmp_path):
    np.savez(tmp_path / "both.npz", z=Z, y=np.array(Y), n=np.arange(3))
    values, found = coordinates(tmp_path, "both.npz")
    np.testing.assert_array_equal(values, Z)
    assert found.columns == ("z",)
    assert found.count == 6
    with pytest.raises(InputError, match=r"has 2 arrays: name one, as in both\.npz:y; it has z, y, n"):
        read_classes("both.npz", tmp_path)
    assert read_classes("both.npz:y", tmp_path).names == ("0", "5")
    assert read_numbers("@both.npz:n", tmp_path) == [0, 1, 2]


# ---- parquet


@pytest.fixture
def parquet(tmp_path):
    pa = pytest.importorskip("pyarrow")
    from pyarrow.parquet import write_table

    def save(**columns):
        write_table(
            pa.table({k: v if isinstance(v, pa.Array) else pa.array(v) for k, v in columns.items()}),
            tmp_path / "f.parquet",
        )

    return save


def test_two_list_columns_have_to_be_named(parquet, tmp_path):
    parquet(emb=Z.tolist(), other=(-Z).tolist(), score=[0.5] * 6, y=Y)
    with pytest.raises(
        InputError, match=r"several columns: name one, as in f\.parquet:emb; it has emb, other, score, y"
    ):
        coordinates(tmp_path, "f.parquet")
    np.testing.assert_array_equal(coordinates(tmp_path, "f.parquet:other")[0], -Z)
    np.testing.assert_array_equal(coordinates(tmp_path, "f.parquet:other,score")[0][:, 2], np.full(6, 0.5))


@pytest.mark.parametrize("chunk", [2**22, 1024])
@pytest.mark.parametrize(
    ("row", "part"),
    [
        ([1.0], "row 4 of .* has 1 number in column 'emb', the first row has 2"),
        ([1.0, 2, 3], "row 4 of .* has 3 numbers in column 'emb'"),
        ([], "row 4 of .* has 0 numbers"),
        (None, "row 4 of .* has nothing in column 'emb'"),
        ([1.0, None], "row 4 of .* has an empty number in column 'emb'"),
    ],
)
def test_ragged_and_empty_lists_are_named(parquet, tmp_path, monkeypatch, chunk, row, part):
    monkeypatch.setattr(source, "CHUNK", chunk)  # 1024: two rows at once
    rows = Z.tolist()
    rows[3] = row
    if row in ([], [1.0]):
        rows[5] = [1.0] * (4 - len(row))  # the lists add up to a rectangle
    parquet(emb=rows)
    with pytest.raises(InputError, match=part):
        coordinates(tmp_path, "f.parquet")


def test_columns_of_parquet(parquet, tmp_path):
    pa = pytest.importorskip("pyarrow")
    names = pa.array(list("uuuvvv")).dictionary_encode()
    parquet(a=Z[:, 0], b=Z[:, 1], n=Y, name=names, ok=[True] * 6, __index_level_0__=range(6))
    values, found = coordinates(tmp_path, "f.parquet", "f.parquet:name")
    np.testing.assert_array_equal(values, Z)
    assert dict(found.left_out) == {
        "n": "whole numbers",
        "name": "labels",
        "ok": "true or false",
        "__index_level_0__": "index",
    }
    assert read_classes("f.parquet:name", tmp_path).names == ("u", "v")
    assert read_labels("@f.parquet:a,b", tmp_path).values.tolist() == Z.tolist()
    parquet(a=[1, 2], b=[3, 4])
    with pytest.raises(InputError, match=r"no column of coordinates; it has a, b: name them, as in f\.parquet:a,b"):
        coordinates(tmp_path, "f.parquet")
    np.testing.assert_array_equal(coordinates(tmp_path, "f.parquet:a,b")[0], [[1, 3], [2, 4]])
    parquet(a=[1.0, None, 3.0])
    with pytest.raises(InputError, match=r"row 2 of .* has nothing in column 'a'"):
        coordinates(tmp_path, "f.parquet")
    parquet(y=["a", None])
    with pytest.raises(InputError, match=r"row 2 of .* has nothing in column 'y'"):
        read_classes("f.parquet", tmp_path)


# ---- labels


@pytest.mark.parametrize(
    ("labels", "names"),
    [
        (["01", "1", "1"], ("01", "1")),
        (["1", "10", "9"], ("1", "9", "10")),  # all whole: in the order of numbers
        (["1", "10", "09"], ("09", "1", "10")),
        (["1", "+1", "1.0"], ("+1", "1", "1.0")),
        (["-1", "0", "-0"], ("-0", "-1", "0")),
        (["9223372036854775808", "9223372036854775809"], ("9223372036854775808", "9223372036854775809")),
        (["1" + "0" * 40, "1" + "0" * 39 + "1", "7"], ("7", "1" + "0" * 40, "1" + "0" * 39 + "1")),
        (["nan", "cat"], ("cat", "nan")),
    ],
)
def test_labels_that_are_written_differently_are_different_classes(tmp_path, labels, names):
    (tmp_path / "y.txt").write_text("\n".join(labels))
    write(tmp_path / "y.csv", ["y", "x"], [[y, 0] for y in labels])
    np.save(tmp_path / "y.npy", np.array(labels))
    for file in ("y.txt", "y.csv:y", "y.npy"):
        found = read_classes(file, tmp_path)
        assert found.names == names
        assert [found.names[code] for code in found.codes] == labels


def test_whole_numbers_of_any_size_keep_apart(parquet, tmp_path):
    pa = pytest.importorskip("pyarrow")
    values = [2**63, 2**63 + 1, 0]
    np.save(tmp_path / "y.npy", np.array(values, np.uint64))
    parquet(y=pa.array(values, pa.uint64()), d=pa.array(values, pa.decimal128(30)))
    for file in ("y.npy", "f.parquet:y", "f.parquet:d"):
        assert read_classes(file, tmp_path).names == ("0", str(2**63), str(2**63 + 1))
    np.save(tmp_path / "f.npy", np.array([1e19, 2e19, 1e19]))  # beyond int64
    assert read_classes("f.npy", tmp_path).names == ("10000000000000000000", "20000000000000000000")
    np.save(tmp_path / "b.npy", np.array([True, False]))
    assert read_classes("b.npy", tmp_path).names == ("False", "True")
    np.save(tmp_path / "s.npy", np.array(["é".encode(), b"a"]))
    assert read_classes("s.npy", tmp_path).names == ("a", "é")


def test_a_missing_label_among_numbers_is_an_error(tmp_path):
    (tmp_path / "y.txt").write_text("0\n1\nnan\n1\n")
    with pytest.raises(InputError, match="label 2 is nan"):
        read_classes("y.txt", tmp_path)
    write(tmp_path / "y.csv", ["y", "x"], [["a", 1], ["", 2]])
    with pytest.raises(InputError, match=r"line 3 of .* has nothing in column 'y'"):
        read_classes("y.csv:y", tmp_path)


def test_headings_and_indices_of_labels(tmp_path):
    (tmp_path / "y.csv").write_text("label\ncat\ndog\n")
    assert read_classes("y.csv", tmp_path).names == ("cat", "dog")
    (tmp_path / "y.csv").write_text(",species\n0,cat\n1,dog\n")
    assert read_classes("y.csv", tmp_path).names == ("cat", "dog")
    (tmp_path / "y.csv").write_text("y\n01\n02\n")
    assert read_classes("y.csv", tmp_path).names == ("01", "02")
    (tmp_path / "y.txt").write_text("cat\ndog\n")
    assert read_classes("y.txt", tmp_path).names == ("cat", "dog")
    (tmp_path / "y.csv").write_text("id,species\n0,cat\n1,dog\n")
    with pytest.raises(InputError, match=r"several columns: name one.*it has id, species"):
        read_classes("y.csv", tmp_path)
    with pytest.raises(InputError, match="names 2"):
        read_classes("y.csv:id,species", tmp_path)


CELLS = st.text(st.characters(codec="utf-8", exclude_characters="\x00\r"), min_size=1, max_size=8).filter(
    lambda text: text == text.strip()
)


@pytest.mark.slow
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(st.lists(CELLS, min_size=2, max_size=12))
def test_any_labels_survive_a_table(tmp_path, labels):
    with (tmp_path / "any.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([["a", "y"], *([0.5, label] for label in labels)])
    found = read_classes("any.csv:y", tmp_path)
    assert [found.names[code] for code in found.codes] == labels
    assert len(found.names) == len(set(labels))
    np.testing.assert_array_equal(coordinates(tmp_path, "any.csv", "any.csv:y")[0], np.full((len(labels), 1), 0.5))


# ---- files are read once


def folder_of(tmp_path):
    """Files for every question that takes one."""
    np.save(tmp_path / "ages.npy", np.array([20.0, 25, 30]))
    (tmp_path / "w.csv").write_text("1,.5\n.5,1\n")
    np.save(tmp_path / "points.npy", np.eye(3))
    (tmp_path / "pairs.txt").write_text("0 1\n1 2\n")
    (tmp_path / "joint.txt").write_text("0.4,0.1\n0.1,0.4\n")
    np.save(tmp_path / "images.npy", np.random.default_rng(0).normal(size=(3, 8, 8)))
    (tmp_path / "c.txt").write_text("5\n3\n2\n")
    (tmp_path / "t.txt").write_text("0.5\n1\n")
    return tmp_path


QUESTIONS = {
    "labels": lambda base: Realizable(weighting="yaware", labels="@ages.npy", sigma=5, base=base),
    "weights": lambda base: Realizable(weighting="custom", weights="@w.csv", base=base),
    "latents": lambda base: Diversity(latents="@points.npy", edges="@pairs.txt", temperature=0.5, base=base),
    "support": lambda base: Diversity(latents="@points.npy", support="@points.npy", temperature=0.5, base=base),
    "joint": lambda base: Negatives(joint="@joint.txt", negatives="@c.txt", base=base),
    "images": lambda base: Spectrum(images="images.npy", noise=0.1, base=base),
    "over": lambda base: Sweep(counts="@c.txt", over={"temperature": "@t.txt"}, base=base),
}


def fields(question):
    return {name: getattr(question, name) for name in type(question).model_fields}


@pytest.mark.parametrize("name", [pytest.param(q, marks=[pytest.mark.slow] * (q == "joint")) for q in QUESTIONS])
def test_an_answer_needs_no_file_that_the_question_named(tmp_path, name):
    first = QUESTIONS[name](folder_of(tmp_path))
    again = QUESTIONS[name](tmp_path)
    assert fields(first) == fields(again)
    sent = pickle.dumps(first)
    for file in tmp_path.iterdir():
        file.unlink()
    moved = pickle.loads(sent)
    assert fields(moved) == fields(again)
    answer, other = (json.loads(json.dumps(solve(q).to_dict())) for q in (first, moved))
    assert answer["problem"] == other["problem"]
    assert all(
        "seconds" in key or answer[key] == other[key] for key in ("value", "optimum", "verdict") if key in answer
    )


def test_a_report_shows_what_was_written(tmp_path):
    folder_of(tmp_path)
    written = QUESTIONS["labels"](tmp_path).model_dump(exclude_none=True)
    assert written["labels"] == "@ages.npy"
    assert QUESTIONS["latents"](tmp_path).model_dump()["edges"] == "@pairs.txt"
    assert Realizable(weighting="yaware", labels=[20, 25]).model_dump()["labels"] == (20.0, 25.0)
    assert Diversity(latents=[[1, 0], [0, 1]]).model_dump()["latents"] == ((1.0, 0.0), (0.0, 1.0))


def test_labels_of_compare_are_read_once_and_embeddings_stay_what_they_were(tmp_path):
    np.save(tmp_path / "z.npy", Z)
    np.save(tmp_path / "y.npy", np.array(Y))
    problem = Compare(embeddings="z.npy", labels="y.npy", base=tmp_path)
    (tmp_path / "y.npy").unlink()
    assert solve(problem).counts == (3, 3)
    np.save(tmp_path / "z.npy", Z[:, :1])
    with pytest.raises(InputError, match="changed since") as caught:
        solve(problem)
    assert caught.value.field == "embeddings"


@pytest.mark.parametrize(
    ("text", "field", "part"),
    [
        ("kind: compare\nembeddings: z.npy\nlabels: none.npy", "labels", "there is no file 'none.npy'"),
        ("kind: compare\nembeddings: none.npy\nlabels: y.npy", "embeddings", "there is no file 'none.npy'"),
        ("kind: compare\nembeddings: z.npy:q\nlabels: y.npy", "embeddings", "leave out 'q'"),
        ("kind: compare\nembeddings: z.npy\nlabels: few.txt", "labels", "3 labels for 6 embeddings"),
        ("kind: realizable\nweighting: yaware\nlabels: '@none.csv:age'", "labels", "there is no file"),
        ("kind: realizable\nweighting: custom\nweights: '@none.csv'", "weights", "there is no file"),
        ("kind: realizable\nweighting: custom\ntarget: '@none.csv'", "target", "there is no file"),
        ("kind: diversity\nlatents: '@none.npy'", "latents", "there is no file"),
        ("kind: diversity\nlatents: 'sphere:9:3'\nsupport: '@none.npy'", "support", "there is no file"),
        ("kind: negatives\njoint: '@none.txt'", "joint", "there is no file"),
        ("kind: spectrum\nimages: none", "images", "there is no file"),
        ("kind: sweep\nclasses: 4\nover: {temperature: '@none.txt'}", "over", "there is no file"),
        ("kind: imbalance\nprops: '@none.txt'", "props", "there is no file"),
        ("kind: imbalance\nprops: [0.5, 0.5]\nexpect: {value: '@none.txt'}", "expect.value.value", "is not a number"),
    ],
)
def test_validate_complains_about_missing_files(run, tmp_path, monkeypatch, text, field, part):
    np.save(tmp_path / "z.npy", Z)
    np.save(tmp_path / "y.npy", np.array(Y))
    (tmp_path / "few.txt").write_text("a\nb\na\n")
    (tmp_path / "p.yaml").write_text(text + "\n")
    monkeypatch.chdir(tmp_path)
    done = run("validate", "p.yaml")
    assert done.code == 2
    assert part in done.stderr
    assert f" {field}: " in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_good_file_with_inputs_is_valid(run, tmp_path):
    np.save(tmp_path / "z.npy", Z)
    np.save(tmp_path / "y.npy", np.array(Y))
    (tmp_path / "p.yaml").write_text("kind: compare\nembeddings: z.npy\nlabels: y.npy\n")
    assert run("validate", tmp_path / "p.yaml").code == 0


def test_the_hash_sees_pictures_and_columns(tmp_path):
    (tmp_path / "images").mkdir()
    (tmp_path / "images" / "a.png").write_bytes(b"one")
    (tmp_path / "y.csv").write_text("a,b\n1,2\n")
    written = {"images": "images", "labels": "y.csv:a,b"}
    first = content_hash(written, tmp_path)
    (tmp_path / "images" / "a.png").write_bytes(b"two")
    second = content_hash(written, tmp_path)
    (tmp_path / "y.csv").write_text("a,b\n1,3\n")
    assert len({first, second, content_hash(written, tmp_path)}) == 3


def saved(suffix):
    """A good file of each format, as bytes."""
    file = io.BytesIO()
    if suffix == ".npy":
        np.save(file, Z)
    elif suffix == ".npz":
        np.savez_compressed(file, a=Z, y=np.array(Y))
    elif suffix == ".parquet":
        parquet = pytest.importorskip("pyarrow.parquet")
        pa = pytest.importorskip("pyarrow")
        parquet.write_table(pa.table({"a": Z.tolist(), "y": Y}), file)
    elif suffix == ".pt":
        torch = pytest.importorskip("torch")
        torch.save({"a": torch.tensor(Z), "y": torch.tensor(Y)}, file)
    else:
        file.write(b'a,y\n"1",p\n2,q\n' if suffix == ".csv" else b"01\n1\n2 # no\n")
    return file.getvalue()


@pytest.mark.slow
@pytest.mark.parametrize("suffix", [".npy", ".npz", ".parquet", ".pt", ".csv", ".txt"])
@settings(suppress_health_check=list(HealthCheck), max_examples=150)
@given(
    edits=st.lists(st.tuples(st.floats(0, 1), st.integers(0, 9), st.binary(max_size=4)), max_size=4),
    key=st.sampled_from(["", ":a", ":y", ":a,y", ":nope", ":"]),
)
def test_whatever_stands_in_a_file_the_complaint_is_one_message(tmp_path, suffix, edits, key):
    data = saved(suffix)
    for where, length, new in edits:
        at = int(where * len(data))
        data = data[:at] + new + data[at + length :]
    (tmp_path / f"f{suffix}").write_bytes(data)
    name = f"f{suffix}{key}"
    for reading in (
        lambda: list(open_embeddings(name, tmp_path).chunks()),
        lambda: read_classes(name, tmp_path),
        lambda: read_labels(f"@{name}", tmp_path),
        lambda: read_matrix(f"@{name}", tmp_path),
        lambda: read_latents(f"@{name}", tmp_path),
        lambda: read_numbers(f"@{name}", tmp_path),
        lambda: read_names(f"@{name}", tmp_path),
        lambda: read_images(name, tmp_path),
    ):
        with contextlib.suppress(InputError):
            reading()


def test_numbers_too_large_for_their_squares(tmp_path):
    np.save(tmp_path / "z.npy", np.full((8, 8), 1e200))
    with pytest.raises(InputError, match="too large"):
        Spectrum(images="z.npy", base=tmp_path)
    with pytest.raises(InputError, match="column 1 is 1e\\+200; at most 1e\\+100"):
        Diversity(latents="@z.npy", base=tmp_path)
    with pytest.raises(InputError, match="matrix of numbers"):
        Diversity(latents="")


def test_a_sparse_tensor_is_no_table(tmp_path):
    torch = pytest.importorskip("torch")
    torch.save(torch.eye(3).to_sparse(), tmp_path / "z.pt")
    for reading in (lambda: open_embeddings("z.pt", tmp_path), lambda: read_classes("z.pt", tmp_path)):
        with pytest.raises(InputError, match=r"z\.pt"):
            reading()


# ---- one registry of point sets, one reader of matrices


def test_a_set_of_points_serves_labels_and_latents(run):
    np.testing.assert_array_equal(read_labels("rings:2x3").points, Diversity(latents="rings:2x3").points)
    np.testing.assert_allclose(
        read_labels("rings:7x10").points[:, 0], np.repeat(np.arange(-9, 10, 3) / 10, 10), atol=1e-15
    )
    assert Diversity(latents="circle:4").points.shape == (4, 2)
    with pytest.raises(InputError, match="row 1 has length 0"):
        Diversity(latents="line:3")
    assert "rings:7x10" in run("list", "labels").stdout


def test_a_new_set_of_points_is_known_everywhere(run, monkeypatch):
    monkeypatch.setattr(generators, "GENERATORS", dict(generators.GENERATORS))
    monkeypatch.setattr("geomsolve.reading.structures.GENERATORS", generators.GENERATORS)
    generators.register(
        generators.Generator("cross", "cross:2", "both ends of every axis", lambda parts, seed: cross(int(parts[0])))
    )
    assert run("realizable", "--weighting", "xclr", "--labels", "cross:2").code == 0
    assert Diversity(latents="cross:3").points.shape == (6, 3)
    assert "both ends" in run("list", "labels").stdout
    assert "cross" in run("realizable", "--weighting", "xclr", "--labels", "crosses:2").stderr


def cross(dim):
    return np.concatenate([np.eye(dim), -np.eye(dim)])


@pytest.mark.parametrize("name", ["m.npy", "m.npz", "m.csv", "m.tsv", "m.txt", "named.csv:a,b", "m.parquet:m"])
def test_a_matrix_in_every_format(tmp_path, name):
    matrix = np.array([[0.4, 0.1], [0.125, 0.375]])
    np.save(tmp_path / "m.npy", matrix)
    np.savez(tmp_path / "m.npz", m=matrix)
    np.savetxt(tmp_path / "m.csv", matrix, delimiter=",")
    np.savetxt(tmp_path / "m.tsv", matrix, delimiter="\t")
    (tmp_path / "m.txt").write_text("# rows\n2/5 1/10\n\n.125, 3/8  # last\n")
    (tmp_path / "named.csv").write_text("i,b,a\n0,.1,.4\n1,.375,.125\n")
    if "parquet" in name:
        pa = pytest.importorskip("pyarrow")
        from pyarrow.parquet import write_table

        write_table(pa.table({"m": matrix.tolist()}), tmp_path / "m.parquet")
    np.testing.assert_array_equal(read_matrix(f"@{name}", tmp_path).values, matrix)


def test_lists_of_every_format(tmp_path):
    np.savez(tmp_path / "v.npz", v=np.array([1.0, 2]), w=np.eye(2))
    assert read_numbers("@v.npz:v", tmp_path) == [1, 2]
    (tmp_path / "one.csv").write_text("n\n3\n4*0.25\n")
    assert read_numbers("@one.csv", tmp_path) == [3, 0.25, 0.25, 0.25, 0.25]
    (tmp_path / "two.csv").write_text('name,n\n"a, b",3\nc,4\n')
    assert read_names("@two.csv:name", tmp_path) == ["a, b", "c"]
    with pytest.raises(InputError, match="a list is one column, but 'name,n' names 2"):
        read_numbers("@two.csv:name,n", tmp_path)
    (tmp_path / "l.txt").write_text("1\n")
    with pytest.raises(InputError, match="plain list; leave out 'x'"):
        read_numbers("@l.txt:x", tmp_path)
