"""What a user may ask: lists in every spelling, class problems, data sets; and every way to get them wrong."""

from __future__ import annotations

import io
import math
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from geomsolve import Imbalance, InputError
from geomsolve.reading.datasets import EXAMPLES, dataset
from geomsolve.reading.lists import read_names, read_numbers
from geomsolve.reading.numbers import MOST_ITEMS

# --- lists -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("0.7,0.2,0.1", [0.7, 0.2, 0.1]),
        ("0.7 0.2 0.1", [0.7, 0.2, 0.1]),
        ("  0.7,  0.2\n0.1 ", [0.7, 0.2, 0.1]),
        ("1e-1,.9", [0.1, 0.9]),
        ("1/3,2/3", [1 / 3, 2 / 3]),
        ("3*0.25,1/4", [0.25] * 4),
        ("2*1/4,1/2", [0.25, 0.25, 0.5]),
        ("0*5,1", [1.0]),
        ("", []),
        ("inf", [math.inf]),
        ("5000,2997", [5000.0, 2997.0]),
    ],
)
def test_lists(text, numbers):
    assert read_numbers(text) == numbers


def test_nan_is_read_for_the_caller_to_judge():
    assert math.isnan(read_numbers("nan")[0])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0.7,abc", r"'abc' is not a number"),
        ("1/0", r"'1/0' is not a number"),
        ("1/2/3", r"is not a number"),
        ("1_000", r"is not a number"),
        ("0.5,0.5 # half", r"'#' is not a number"),
        ("x*0.5", r"'x\*0.5' is no repeat; write a count"),
        ("-2*0.5", r"is no repeat"),
        ("2*", r"is not a number"),
        (f"{MOST_ITEMS + 1}*0.1", r"repeats too often; at most 10,000,000"),
        ("99999999999999999999*0.1", r"repeats too often"),
        ("@nowhere.txt", r"there is no file 'nowhere.txt'"),
        ("@", r"there is no file"),
    ],
)
def test_bad_lists(text, message):
    with pytest.raises(ValueError, match=message):
        read_numbers(text)


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), max_size=20), st.sampled_from([",", " ", ", ", "\n"]))
def test_any_numbers_survive_writing_and_reading(numbers, separator):
    assert read_numbers(separator.join(map(repr, numbers))) == numbers


def test_files(tmp_path):
    (tmp_path / "plain.txt").write_text("0.7\n0.2 # rare\n\n# nothing here\n0.1\n")
    (tmp_path / "one.csv").write_text("0.5\n1/4\n0.25\n")
    (tmp_path / "table.csv").write_text("class,count\n a , 5 \nb,3\n\nc,2\n")
    (tmp_path / "table.tsv").write_text("class\tcount\na\t5\nb\t3\n")
    (tmp_path / "bom.txt").write_bytes("\ufeff0.7\r\n0.3\r\n".encode())
    np.save(tmp_path / "ints.npy", np.array([5, 3, 2]))
    np.save(tmp_path / "floats.npy", np.array([0.5, 0.5], dtype=np.float32))
    for text, numbers in (
        ("@plain.txt", [0.7, 0.2, 0.1]),
        ("@one.csv", [0.5, 0.25, 0.25]),
        ("@table.csv:count", [5, 3, 2]),
        ("@table.tsv:count", [5, 3]),
        ("@bom.txt", [0.7, 0.3]),
        ("@ints.npy", [5, 3, 2]),
        ("@floats.npy", [0.5, 0.5]),
    ):
        assert read_numbers(text, tmp_path) == numbers
    assert read_numbers(f"@{tmp_path / 'plain.txt'}") == [0.7, 0.2, 0.1]


def test_a_quoted_header_with_a_comma(tmp_path):
    (tmp_path / "q.csv").write_text('"name, long","n"\n"a, b",3\nc,4\n')
    assert read_numbers("@q.csv:n", tmp_path) == [3, 4]
    assert read_names("@q.csv:name, long", tmp_path) == ["a, b", "c"]


def test_bad_files(tmp_path):
    (tmp_path / "bad.txt").write_text("0.7\n0.2,oops\n")
    (tmp_path / "table.csv").write_text("class,count\na,5\nb,\n")
    (tmp_path / "empty.csv").write_text("")
    (tmp_path / "binary.txt").write_bytes(b"\xff\xfe\x00\x01")
    (tmp_path / "junk.npy").write_bytes(b"not an array")
    (tmp_path / "none.npy").write_bytes(b"")
    np.save(tmp_path / "matrix.npy", np.eye(2))
    np.save(tmp_path / "words.npy", np.array(["a"]))
    np.save(tmp_path / "objects.npy", np.array([{}], dtype=object), allow_pickle=True)
    for text, message in (
        ("@bad.txt", r"'oops' in line 2 of '.*bad.txt' is not a number"),
        ("@table.csv", r"has several columns: name one, as in @table.csv:class; it has class, count"),
        ("@table.csv:size", r"has no column 'size'; its header is class, count"),
        ("@table.csv:count", r"line 3 of '.*table.csv' has nothing in column 'count'"),
        ("@empty.csv:count", r"its header is an empty file"),
        ("@binary.txt", r"is not a text file"),
        ("@junk.npy", r"is no one-dimensional array of numbers"),
        ("@none.npy", r"is no one-dimensional array of numbers"),
        ("@matrix.npy", r"shape \(2, 2\)"),
        ("@words.npy", r"is no one-dimensional array of numbers"),
        ("@objects.npy", r"is no one-dimensional array of numbers"),
    ):
        with pytest.raises(ValueError, match=message):
            read_numbers(text, tmp_path)


def test_standard_input(monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO("0.7\n0.2\n0.1\n"))
    assert read_numbers("-") == [0.7, 0.2, 0.1]
    monkeypatch.setattr("sys.stdin", io.StringIO("0.7\nx\n"))
    with pytest.raises(ValueError, match="'x' in line 2 of standard input"):
        read_numbers("-")


def test_names_may_hold_spaces(tmp_path):
    assert read_names("no DR, mild,severe") == ["no DR", "mild", "severe"]
    (tmp_path / "names.csv").write_text("name,n\nno DR,5\nmild,3\n")
    assert read_names("@names.csv:name", tmp_path) == ["no DR", "mild"]


def test_names_in_a_file_stand_one_a_line_and_may_hold_spaces(tmp_path):
    (tmp_path / "names.txt").write_text("no DR\nmild, or so\n\nsevere\n")
    assert read_names("@names.txt", tmp_path) == ["no DR", "mild, or so", "severe"]


# --- classes ---------------------------------------------------------------------------------------------------------


def test_proportions_are_kept():
    problem = Imbalance(props="0.7,0.2,0.1")
    assert problem.proportions == pytest.approx((0.7, 0.2, 0.1), abs=1e-15)
    assert problem.class_counts is None
    assert problem.class_names == ("1", "2", "3")
    assert problem.notices == ()
    assert problem.loss.name == "supcon"


@pytest.mark.parametrize("props", [[0.7, 0.2, 0.1], (0.7, 0.2, 0.1), np.array([0.7, 0.2, 0.1]), ["0.7", "0.2,0.1"]])
def test_sequences_of_any_kind_are_taken(props):
    assert Imbalance(props=props).proportions == pytest.approx((0.7, 0.2, 0.1), abs=1e-15)


def test_a_sum_within_a_thousandth_is_renormalised_exactly_and_said():
    problem = Imbalance(props=[0.333, 0.333, 0.333])
    assert problem.proportions == pytest.approx([1 / 3] * 3, abs=1e-15)
    assert math.fsum(problem.proportions) == pytest.approx(1.0, abs=1e-15)
    assert "sum to 0.999" in problem.notices[0]


def test_whole_numbers_are_counts_and_said():
    problem = Imbalance(props="6,3,3")
    assert problem.class_counts == (6, 3, 3)
    assert problem.proportions == (0.5, 0.25, 0.25)
    assert "taken as counts" in problem.notices[0]


def test_counts_are_silent():
    problem = Imbalance(counts=[6, 3, 3])
    assert problem.class_counts == (6, 3, 3)
    assert problem.notices == ()


def test_data_sets_bring_their_names():
    problem = Imbalance(dataset="aptos2019")
    assert problem.class_names[0] == "no DR"
    assert problem.class_counts == (1805, 370, 999, 193, 295)


def test_own_names_win():
    assert Imbalance(props=[0.5, 0.5], names="cats, dogs").class_names == ("cats", "dogs")
    assert Imbalance(dataset="creditcard-fraud", names=["good", "bad"]).class_names == ("good", "bad")


@pytest.mark.parametrize(
    ("problem", "field", "message"),
    [
        ({"props": "0.7,-0.2,0.5"}, "props", "must be positive numbers, but number 2 is -0.2"),
        ({"props": "0.7,0,0.3"}, "props", "number 2 is 0"),
        ({"props": "0.5,nan,0.5"}, "props", "number 2 is nan"),
        ({"props": "0.5,inf"}, "props", "number 2 is inf"),
        ({"props": "abc"}, "props", "'abc' is not a number"),
        ({"props": ""}, "props", "the list is empty"),
        ({"props": []}, "props", "the list is empty"),
        ({"props": "1.0"}, "props", "one class"),
        ({"props": "5"}, "props", "one class"),
        ({"props": "0.7,0.2,0.2"}, "props", "sum to 1.1, not 1"),
        ({"props": "1,1.5"}, "props", "sum to 2.5, not 1"),
        ({"props": "0.5,1"}, "props", "sum to 1.5, not 1"),
        ({"props": [True, False]}, "props", "True is not a number"),
        ({"props": [[0.5, 0.5]]}, "props", "is not a number"),
        ({"props": 3}, "props", "wanted a list of numbers, got 3"),
        ({"props": {"a": 1}}, "props", "one class"),
        ({"counts": "5,2.5"}, "counts", "whole numbers, but number 2 is 2.5"),
        ({"counts": "5,0"}, "counts", "number 2 is 0"),
        ({"counts": "5,-3"}, "counts", "number 2 is -3"),
        ({"counts": "5"}, "counts", "one class"),
        ({"dataset": "cifar10-tl:100"}, "dataset", "did you mean 'cifar10-lt:100'"),
        ({"dataset": "cifar10-lt"}, "dataset", "imbalance factor from 1 to 5000"),
        ({"dataset": "cifar10-lt:0.0001"}, "dataset", "imbalance factor"),
        ({"dataset": "cifar10-lt:nan"}, "dataset", "imbalance factor"),
        ({"dataset": "cifar100-lt:501"}, "dataset", "from 1 to 500"),
        ({"dataset": "cifar10-lt:10:linear"}, "dataset", "exp, step"),
        ({"dataset": "cifar10-lt:10:exp:x"}, "dataset", "exp, step"),
        ({"props": "0.5,0.5", "names": "a,b,c"}, "", "3 names for 2 classes"),
        ({"props": "0.5,0.5", "names": "a,a"}, "names", "'a' stands twice"),
        ({"props": "0.5,0.5", "names": "a,"}, "names", "a name is empty"),
        ({}, "", "exactly one of props, counts, labels or dataset; found nothing"),
        ({"props": "0.5,0.5", "counts": "3,3"}, "", "found props and counts"),
        ({"props": "0.5,0.5", "tolerance": 0}, "tolerance", "wanted more than 0"),
        ({"props": "0.5,0.5", "tolerance": "tight"}, "tolerance", "tight"),
        ({"props": "0.5,0.5", "seed": -1}, "seed", "wanted at least 0"),
        ({"props": "0.5,0.5", "porps": 1}, "porps", "did you mean 'props'"),
        ({"props": "0.5,0.5", "loss": 3}, "loss", "got 3"),
        ({"props": "0.5,0.5", "loss": {"name": 3}}, "loss.name", "got 3"),
    ],
)
def test_bad_problems(problem, field, message):
    with pytest.raises(InputError, match=message) as caught:
        Imbalance(**problem)
    assert caught.value.field == field


def test_problems_are_frozen():
    problem = Imbalance(props="0.5,0.5")
    with pytest.raises(ValueError, match="frozen"):
        problem.seed = 3


# --- data sets -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "counts"),
    [
        ("cifar10-lt:10", (5000, 3871, 2997, 2320, 1796, 1391, 1077, 834, 645, 500)),
        ("cifar10-lt:50", (5000, 3237, 2096, 1357, 878, 568, 368, 238, 154, 100)),
        ("cifar10-lt:100", (5000, 2997, 1796, 1077, 645, 387, 232, 139, 83, 50)),
        ("cifar10-lt:200", (5000, 2775, 1540, 854, 474, 263, 146, 81, 45, 25)),
        ("cifar10-lt:100:step", (5000,) * 5 + (50,) * 5),
        ("ham10000", (6705, 1113, 1099, 514, 327, 142, 115)),
        ("isic2019", (4522, 12875, 3323, 867, 2624, 239, 253, 628)),
        ("eyepacs", (25810, 2443, 5292, 873, 708)),
        ("aptos2019", (1805, 370, 999, 193, 295)),
        ("ddr", (6266, 630, 4477, 236, 913)),
        ("creditcard-fraud", (284315, 492)),
    ],
)
def test_published_class_counts(name, counts):
    found = dataset(name)
    assert found.counts == counts
    assert len(found.names) == len(set(found.names)) == len(counts)
    assert found.source


@pytest.mark.parametrize(("factor", "total"), [(10, 19573), (50, 12608), (100, 10847), (200, 9502)])
def test_published_totals_of_long_tailed_cifar100(factor, total):
    counts = dataset(f"cifar100-lt:{factor}").counts
    assert len(counts) == 100
    assert sum(counts) == total
    assert (max(counts), min(counts)) == (500, int(500 / factor))


def test_names_of_ham10000_and_isic2019_go_with_their_counts():
    assert dict(zip(dataset("ham10000").names, dataset("ham10000").counts, strict=True))["df"] == 115
    assert dict(zip(dataset("isic2019").names, dataset("isic2019").counts, strict=True))["NV"] == 12875


@pytest.mark.parametrize("name", EXAMPLES)
def test_every_listed_data_set_exists(name):
    assert len(dataset(name).counts) >= 2


def test_factor_one_is_balanced():
    assert set(dataset("cifar10-lt:1").counts) == {5000}


@pytest.mark.parametrize(
    ("make", "field", "words"),
    [
        (lambda: Imbalance.model_validate({"props": [0.5, 0.6]}), "props", "sum to 1.1"),
        (lambda: Imbalance.model_validate({"props": [0.5, 0.5], "dims": 2}), "dims", "did you mean 'dim'?"),
        (lambda: Imbalance.model_validate_json('{"props": [0.5, 0.6]}'), "props", "sum to 1.1"),
        (lambda: Imbalance.model_validate_json('{"props": '), "", "Invalid JSON"),
        (lambda: Imbalance.model_validate_strings({"props": "x"}), "props", "'x' is not a number"),
        (lambda: Imbalance.model_validate(3), "", "dictionary"),
    ],
)
def test_a_question_made_in_any_way_complains_in_one_shape(make, field, words):
    with pytest.raises(InputError, match=re.escape(words)) as caught:
        make()
    assert caught.value.field == field


def test_a_question_made_of_data_is_the_one_made_of_names():
    made = Imbalance(props=[0.7, 0.3], loss={"name": "supcon", "temperature": 0.5})
    assert Imbalance.model_validate({"props": [0.7, 0.3], "loss": {"name": "supcon", "temperature": 0.5}}) == made
    assert Imbalance.model_validate_json(made.model_dump_json()) == made
