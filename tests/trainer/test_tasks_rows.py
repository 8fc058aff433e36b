"""Rows are read as they were written, split for good, and refused with the place named."""

import json
from pathlib import Path

import pytest

from rewards.errors import ConfigurationError
from trainer.tasks import Row, read_rows, write_rows
from trainer.tasks.rows import choose_rows, read_jsonl, split_rows

ROW = {"prompt": "What is 1 + 1?", "spec": {"type": "math", "answer": "2"}}


def write(path: Path, *records: object) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def test_rows_survive_writing_and_reading(tmp_path: Path) -> None:
    rows = [
        Row("a", "Größe\u2028?", {"type": "math", "answer": "1"}, "1", {"level": 2}),
        Row("b", [{"role": "user", "content": "hi"}], [{"type": "math", "answer": "1"}]),
    ]
    write_rows(tmp_path / "rows.jsonl", rows)
    assert read_rows(tmp_path / "rows.jsonl") == rows


def test_rows_without_id_are_numbered(tmp_path: Path) -> None:
    rows = read_rows(write(tmp_path / "mine.jsonl", ROW, ROW))
    assert [row.id for row in rows] == ["mine-1", "mine-2"]


def test_blank_lines_are_skipped(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text(f"\n{json.dumps(ROW)}\n\n")
    assert len(read_rows(path)) == 1


@pytest.mark.parametrize(
    ("record", "complaint"),
    [
        ({"prompt": "x"}, "lacks 'spec'"),
        ({**ROW, "prompt": 3}, "has the prompt 3"),
        ({**ROW, "prompt": ""}, "has the prompt ''"),
        ({**ROW, "prompt": [{"role": "user"}]}, "list of messages"),
        ({**ROW, "spec": "math"}, "has the spec 'math'"),
        ({**ROW, "meta": 1}, "the meta 1"),
        ({**ROW, "gold": 2}, "has the gold 2"),
        ([1], r"line 2 holds '\[1\]'"),
    ],
)
def test_a_bad_row_is_refused_with_its_place(
    tmp_path: Path, record: object, complaint: str
) -> None:
    with pytest.raises(ConfigurationError, match=complaint) as caught:
        read_rows(write(tmp_path / "rows.jsonl", ROW, record))
    assert "rows.jsonl" in str(caught.value)
    assert "2" in str(caught.value)


def test_two_rows_of_one_id_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="'a'"):
        read_rows(write(tmp_path / "rows.jsonl", {**ROW, "id": "a"}, {**ROW, "id": "a"}))


def test_no_json_is_refused_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_text("{}\n{oops\n")
    with pytest.raises(ConfigurationError, match="line 2 is no JSON"):
        read_jsonl(tmp_path / "x.jsonl")


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"gone\.jsonl"):
        read_jsonl(tmp_path / "gone.jsonl")


def rows_named(*ids: str) -> list[Row]:
    return [Row(name, "x", {}) for name in ids]


def test_about_a_tenth_is_held_out() -> None:
    train, test = split_rows(rows_named(*map(str, range(1000))))
    assert 70 < len(test) < 130
    assert len(train) + len(test) == 1000


def test_a_row_keeps_its_side_when_the_file_grows() -> None:
    _, few = split_rows(rows_named(*map(str, range(200))))
    _, many = split_rows(rows_named(*map(str, range(400))))
    assert {row.id for row in few} <= {row.id for row in many}


@pytest.mark.parametrize("count", [2, 3, 5])
def test_small_files_still_have_both_sides(count: int) -> None:
    train, test = split_rows(rows_named(*map(str, range(count))))
    assert train
    assert test


def test_one_row_cannot_be_split() -> None:
    with pytest.raises(ConfigurationError, match="1 row cannot be split"):
        split_rows(rows_named("only"))


def test_a_choice_of_rows_does_not_depend_on_the_order_of_the_file() -> None:
    rows = rows_named(*map(str, range(100)))
    chosen = choose_rows(rows, 10)
    assert chosen == choose_rows(rows[::-1], 10)[::-1]


def test_a_choice_of_rows_is_not_the_head_of_the_file() -> None:
    rows = rows_named(*(f"{i:03}" for i in range(100)))
    assert len(choose_rows(rows, 10)) == 10
    assert any(int(row.id) >= 50 for row in choose_rows(rows, 10))


def test_a_choice_of_more_rows_than_there_are_is_all_of_them() -> None:
    rows = rows_named("b", "a")
    assert choose_rows(rows, 10) == rows
