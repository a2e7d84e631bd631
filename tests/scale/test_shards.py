"""Names of parts, and which process does which shard."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strukt.data import corpus
from strukt.errors import DataError
from strukt.scale.shards import Input, selected, shards, unfinished, written_for_text


@given(st.integers(1, 9), st.integers(0, 30))
def test_each_shard_is_done_by_one_process(count, total):
    found = [selected(range(total), number, count) for number in range(1, count + 1)]
    assert sorted(shard for share in found for shard in share) == list(range(total))
    assert max(map(len, found)) - min(map(len, found)) <= 1


def test_names_stand_in_order_however_many_there_are():
    many = Input("a.txt", "text", 0, 0)
    names = [shard.part for shard in shards([many], [range(100_002)], corpus.WORDS)]
    assert names == sorted(names)
    assert names[-1] == "part-100000.conllu"


@pytest.mark.parametrize(
    ("format", "readers", "plain", "suffix"),
    [
        ("text", corpus.TREES, False, ".ptb"),
        ("text", corpus.TEXTS, False, ".conllu"),
        ("text", corpus.TEXTS, True, ".txt"),
        ("columns", corpus.WORDS, False, ".conll"),
        ("cogs", corpus.LOGICAL_FORMS, False, ".tsv"),
        ("parquet", corpus.WORDS, True, ".parquet"),
    ],
)
def test_the_name_tells_the_format(format, readers, plain, suffix):
    [shard] = shards([Input("a", format, 9, 0)], [[0, 9]], readers, plain)
    assert shard.part == f"part-00000{suffix}"


@pytest.mark.parametrize(
    "readers", [corpus.WORDS, corpus.TREES, corpus.ENTITIES, corpus.CLASSES, corpus.LISTS]
)
def test_what_text_becomes_is_what_its_reader_gives(readers, tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("[MAX 2 9 ]\n")
    [sentence] = readers["text"](str(path))
    (tmp_path / "b").write_text(str(sentence))
    [again] = readers[written_for_text(readers)](str(tmp_path / "b"))
    assert str(again) == str(sentence)


def test_a_format_that_the_model_does_not_read(tmp_path):
    (tmp_path / "a.ptb").write_text("(S (A a))\n")
    with pytest.raises(DataError, match="has the format brackets; expected one of conllu, columns, text"):
        Input.of(str(tmp_path / "a.ptb"), None, corpus.WORDS)


def test_finished_is_what_is_there_by_name(tmp_path):
    found = shards([Input("a.txt", "text", 9, 0)], [[0, 3, 6, 9]], corpus.WORDS)
    (tmp_path / found[1].part).touch()
    (tmp_path / f".{found[2].part}.host.1").touch()
    assert unfinished(tmp_path, found) == [found[0], found[2]]
    with pytest.raises(DataError, match="cannot be read"):
        unfinished(tmp_path / "none", found)
