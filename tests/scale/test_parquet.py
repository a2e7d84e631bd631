"""Parquet: the annotation is a new column; everything else stays as it was."""

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.scale.commands import parts, predict, text, whole

from strukt.errors import DataError
from strukt.scale import parquet

pyarrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed; get it with the extra scale")
pq = pytest.importorskip("pyarrow.parquet")


def write(path, texts, groups=7, **columns):
    columns = {"id": list(range(len(texts))), "text": texts, **columns}
    pq.write_table(pyarrow.table(columns), path, row_group_size=groups)
    return path


def test_rows_and_columns_stay(tagger, words, tmp_path):
    lines = [" ".join(forms) for forms in words]
    table = write(tmp_path / "corpus.parquet", lines, score=[number / 7 for number in range(len(lines))])
    assert predict(tagger, table, "-o", f"{tmp_path}/out/", "--shard_size", 200) == 0
    assert len(parts(tmp_path / "out")) > 3
    found = pyarrow.concat_tables(map(pq.read_table, parts(tmp_path / "out")))
    assert found.drop_columns(["strukt"]).equals(pq.read_table(table))
    expected = whole(tagger, text(tmp_path / "corpus.txt", words)).decode()
    assert "".join(found.column("strukt").to_pylist()) == expected


def test_a_row_may_have_several_lines_or_none(tagger, tmp_path):
    rows = ["the cat\n\nsees it\r\n", None, "", " \n ", "a dog"]
    predict(tagger, write(tmp_path / "a.parquet", rows), "-o", f"{tmp_path}/out/")
    [part] = parts(tmp_path / "out")
    first, *nothing, last = pq.read_table(part).column("strukt").to_pylist()
    assert nothing == [None] * 3
    assert [first.count("# text = "), last.count("# text = ")] == [2, 1]
    assert "\r" not in first


def test_a_file_without_rows(tagger, tmp_path):
    table = pyarrow.table({"text": pyarrow.array([], pyarrow.string())})
    pq.write_table(table, tmp_path / "a.parquet")
    assert predict(tagger, tmp_path / "a.parquet", "-o", f"{tmp_path}/out/") == 0
    [part] = parts(tmp_path / "out")
    assert pq.read_table(part).column_names == ["text", "strukt"]


def test_another_column(tagger, tmp_path):
    path = write(tmp_path / "a.parquet", [1, 2], body=["the cat", "a dog"])
    assert predict(tagger, path, "-o", tmp_path / "out", "--column", "body") == 0
    [part] = parts(tmp_path / "out")
    assert "cat" in pq.read_table(part).column("strukt").to_pylist()[0]


def test_a_faulty_row_is_named(tagger, tmp_path, capsys):
    path = write(tmp_path / "a.parquet", ["fine", None, "two\nlines", "a\0b", "fine"])
    assert predict(tagger, path, "-o", f"{tmp_path}/out/") == 2
    assert f"{path}:4: the line holds a NUL byte" in capsys.readouterr().err
    assert parts(tmp_path / "out") == []


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"body": ["a"]}, "has no column 'text', only body; choose one with --column"),
        ({"text": [1]}, "has int64 in the column 'text'; expected text"),
        ({"text": ["a"], "strukt": ["b"]}, "has a column 'strukt' already"),
    ],
)
def test_columns_that_cannot_be(tmp_path, columns, message):
    pq.write_table(pyarrow.table(columns), tmp_path / "a.parquet")
    with pytest.raises(DataError, match=message):
        parquet.cuts(str(tmp_path / "a.parquet"), "text", 100)


def test_what_is_no_parquet(tagger, tmp_path, capsys):
    (tmp_path / "a.parquet").write_text("text\n")
    assert predict(tagger, tmp_path / "a.parquet", "-o", f"{tmp_path}/out/") == 2
    assert "cannot be read as Parquet" in capsys.readouterr().err
    assert predict(tagger, tmp_path / "a.parquet") == 2
    assert "predictions for Parquet go into a folder; give one with -o FOLDER/" in capsys.readouterr().err


@settings(max_examples=40)
@given(st.lists(st.sampled_from(["a", "b c", "", None, "d\ne"])), st.integers(1, 9), st.integers(1, 60))
def test_each_row_is_in_one_piece(tmp_path_factory, rows, groups, size):
    """Whatever the row groups: a stand-in annotates, which writes each line in capitals."""
    folder = tmp_path_factory.getbasetemp()
    table = pyarrow.table({"text": pyarrow.array(rows, pyarrow.string())})
    pq.write_table(table, folder / "rows.parquet", row_group_size=groups)
    path = str(folder / "rows.parquet")
    cuts = parquet.cuts(path, "text", size)
    found, count = [], 0
    for start, stop in pairwise(cuts):
        count += parquet.annotate(path, "text", start, stop, folder / "part.parquet", _capitals)
        found += pq.read_table(folder / "part.parquet").to_pylist()
    assert found == [{"text": row, "strukt": row.upper() + "\n" if row else None} for row in rows]
    assert count == sum(row.count("\n") + 1 for row in rows if row)


def _capitals(stream, _):
    return (line.decode().upper() for line in stream)
