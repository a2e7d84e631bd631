"""JSON lines with a text: the annotation is a new member; everything else stays as it was written."""

import gzip
import io
import json
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests import tiny_corpora
from tests.scale.commands import parts, predict, text, together, whole

from strukt.data.conllu import entity_notes
from strukt.scale import json_rows

ROW = '{{"id": {number}.50,  "text": {text}, "tags": ["a", {{"x": 1}}] }}\n'


def write(path, texts):
    lines = [ROW.format(number=number, text=json.dumps(text)) for number, text in enumerate(texts)]
    path.write_text("".join(lines), encoding="utf-8")
    return path


def test_objects_stay_as_they_are_written(tagger, words, tmp_path):
    rows = write(tmp_path / "corpus.jsonl", [" ".join(forms) for forms in words])
    assert predict(tagger, rows, "-o", f"{tmp_path}/out/", "--shard_size", 900) == 0
    assert len(parts(tmp_path / "out")) > 3
    before = rows.read_text().splitlines()
    after = together(tmp_path / "out").decode().splitlines()
    found = [json.loads(line)["strukt"] for line in after]
    assert "".join(found) == whole(tagger, text(tmp_path / "corpus.txt", words)).decode()
    for old, new, annotation in zip(before, after, found, strict=True):
        assert new == f'{old.removesuffix(" }")}, "strukt": {json.dumps(annotation, ensure_ascii=False)} }}'


def test_compressed_with_several_lines_or_none_and_another_key(tagger, tmp_path):
    rows = ["the cat\n\nsees it\r\n", None, "", "a dog"]
    packed = "".join(json.dumps({"body": row}) + "\n" for row in rows).encode()
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(packed))
    assert predict(tagger, tmp_path / "a.jsonl.gz", "-o", tmp_path / "out", "--column", "body") == 0
    first, *nothing, last = (json.loads(line)["strukt"] for line in together(tmp_path / "out").splitlines())
    assert nothing == [None, None]
    assert [first.count("# text = "), last.count("# text = ")] == [2, 1]


def test_a_byte_order_mark_is_no_sentence(tagger, tmp_path):
    rows = write(tmp_path / "a.jsonl", ["\ufeff", "\n\ufeff\ufeff", "\ufeffthe cat", "\ufeffa dog"])
    assert predict(tagger, rows, "-o", f"{tmp_path}/out/") == 0
    *nothing, cat, dog = (json.loads(line)["strukt"] for line in together(tmp_path / "out").splitlines())
    assert nothing == [None, None]
    assert [text.splitlines()[0] for text in (cat, dog)] == ["# text = the cat", "# text = a dog"]


def test_entities_are_read_from_tokens_unless_a_column_is_named(ner, tmp_path):
    (tmp_path / "a.jsonl").write_text('{"tokens": ["Ada", "spoke"], "text": "Ada spoke ."}\n')
    assert predict(ner, tmp_path / "a.jsonl", "-o", f"{tmp_path}/tokens/") == 0
    assert predict(ner, tmp_path / "a.jsonl", "-o", f"{tmp_path}/rows/", "--column", "text") == 0
    assert json.loads(together(tmp_path / "tokens")).keys() == {"tokens", "text", "entities"}
    row = json.loads(together(tmp_path / "rows"))
    assert json.loads(row["strukt"])["tokens"] == ["Ada", "spoke", "."]


def test_each_row_declares_its_entities(pipeline, tmp_path, monkeypatch):
    """The annotation of each row can be read on its own; rows that are read apart have other identifiers."""
    monkeypatch.setattr(json_rows, "ROWS", 3)
    sentences = [" ".join(each.forms) for each in tiny_corpora.layers(10)]
    rows = write(tmp_path / "a.jsonl", [f"{sentences[0]}\n{sentences[1]}", *sentences[2:]])
    assert predict(pipeline, rows, "-o", f"{tmp_path}/out/", "--shard_size", 500) == 0
    assert len(parts(tmp_path / "out")) > 1
    texts = [json.loads(line)["strukt"] for line in together(tmp_path / "out").splitlines()]
    for each in texts:
        assert each.count("global.Entity") == 1
        assert any(sentence.entities for sentence in entity_notes.read(io.BytesIO(each.encode())))
    groups = {*re.findall(r"\((e\w+)\.", "".join(texts))}
    assert len(groups) == 3  # of at most 3 rows each; their lines are counted from 1 again


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"body": "a"}', "the object has no 'text' but body; choose one with --column"),
        ('{"text": 1}', "'text' is 1; give text, or null"),
        ('{"text": "a", "strukt": 1}', "the object has the key 'strukt' already"),
        ('{"text": "a"', "the line is not JSON"),
        ("[]", 'the line is not a JSON object but []; write {"text": "..."}'),
        ('{"text": "a\\u0000b"}', "the line holds a NUL byte"),
    ],
)
def test_a_faulty_line_is_named_and_nothing_half_written(tagger, tmp_path, capsys, line, message):
    path = tmp_path / "a.jsonl"
    path.write_text('{"text": "fine\\ntoo"}\n' * 3 + line + "\n")
    assert predict(tagger, path, "-o", f"{tmp_path}/out/", "--shard_size", 25) == 2
    shown = capsys.readouterr().err
    assert f"{path}:4: " in shown
    assert message in shown
    assert len(parts(tmp_path / "out")) < len(path.read_text()) // 25 + 1


@settings(max_examples=12)
@given(st.lists(st.sampled_from(["a", "b c", "", None, "d\ne"]), min_size=1), st.integers(1, 90))
def test_each_line_is_in_one_part(tagger, tmp_path_factory, rows, size):
    folder = tmp_path_factory.mktemp("rows")
    write(folder / "a.jsonl", rows)
    assert predict(tagger, folder / "a.jsonl", "-o", folder / "out", "--shard_size", size) == 0
    found = [json.loads(line) for line in together(folder / "out").splitlines()]
    assert [row["text"] for row in found] == rows
    assert [row["strukt"] is None for row in found] == [not (row or "").strip() for row in rows]
