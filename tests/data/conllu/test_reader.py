"""Reading, annotating and making CoNLL-U; the package `conllu` and whole treebanks are the oracles."""

import gzip
import io
import pickle
import sys

import conllu as oracle
import pytest
from tests.data.sources import shared

from strukt.data import conllu
from strukt.errors import DataError

FILES = [
    "ud-english-ewt/en_ewt-ud-dev.conllu.gz",
    "ud-chinese-gsd/ud-v2.17/zh_gsd-ud-test.conllu.gz",
    "ud-vietnamese-vtb/vi_vtb-ud-train.conllu.gz",
    "gum/dep/GUM_academic_art.conllu.gz",
]

TEXT = """\
# sent_id = 1
# text = Don't go!
1-2	Don't	_	_	_	_	_	_	_	_
1	Do	do	AUX	VB	Mood=Imp	3	aux	3:aux	_
2	n't	not	PART	RB	_	3	advmod	3:advmod	_
3	go	go	VERB	VB	Mood=Imp	0	root	0:root	SpaceAfter=No
3.1	you	you	PRON	PRP	_	_	_	3:nsubj	_
4	!	!	PUNCT	.	_	3	punct	3:punct	_

"""


def read(text):
    return list(conllu.read(io.BytesIO(text.encode())))


@pytest.mark.parametrize("name", FILES)
def test_treebanks_go_round_to_the_byte_and_words_equal_those_of_the_package_conllu(name):
    path = shared(name)
    text = gzip.decompress(path.read_bytes()).decode()
    assert "".join(str(sentence) for sentence in conllu.read(path)) == text
    expected = oracle.parse_incr(io.StringIO(text), fields=conllu.COLUMNS)
    for sentence, tokens in zip(conllu.read(path), expected, strict=True):
        rows = [token for token in tokens if isinstance(token["id"], int)]
        assert [(word.id, word.head) for word in sentence.words] == [(row["id"], row["head"]) for row in rows]
        for column in ("form", "lemma", "upos", "xpos", "deprel"):
            assert sentence.column(column) == ["_" if row[column] is None else row[column] for row in rows]
        assert len(tokens) == len(rows) + len(sentence.multiword_tokens) + len(sentence.empty_nodes)
        conllu.require_tree(sentence)


def test_everything_in_a_sentence():
    [sentence] = read(TEXT)
    assert str(sentence) == TEXT
    assert sentence.forms == ["Do", "n't", "go", "!"]
    assert len(sentence) == 4
    assert sentence.heads == [3, 3, 0, 3]
    assert sentence.deprels == ["aux", "advmod", "root", "punct"]
    assert sentence.arcs[2] == (0, "root")
    assert sentence.comments == ["# sent_id = 1", "# text = Don't go!"]
    assert sentence.multiword_tokens == [["1-2", "Don't", *["_"] * 8]]
    assert sentence.empty_nodes == [["3.1", "you", "you", "PRON", "PRP", "_", "_", "_", "3:nsubj", "_"]]
    assert sentence.words[2] == conllu.Word(
        3, "go", "go", "VERB", "VB", "Mood=Imp", 0, "root", "0:root", "SpaceAfter=No", 6
    )
    rows = [line.split("\t") for line in TEXT.splitlines() if line[:1].isdecimal()]
    for index, name in enumerate(conllu.COLUMNS):
        assert sentence.column(name) == [row[index] for row in rows if row[0].isdecimal()]


def test_missing_heads_are_none_and_refused_only_when_asked_for():
    sentence = conllu.from_forms(["Stop"], path="made.conllu", line=7)
    assert sentence.words[0].head is None
    assert sentence.column("head") == ["_"]
    with pytest.raises(DataError, match=r"^made\.conllu:7: word 1, 'Stop', has no head; fill in"):
        _ = sentence.heads


def test_annotated_changes_the_named_columns_and_no_other_byte():
    [sentence] = read(TEXT)
    annotated = sentence.annotated(upos=["A", "B", "C", "D"], head=[0, 1, 1, "1"])
    expected = TEXT
    for old, new in [("AUX", "A"), ("PART", "B"), ("VERB", "C"), ("PUNCT", "D")]:
        expected = expected.replace(old, new)
    for old, new in [
        ("\t3\taux", "\t0\taux"),
        ("\t3\tadv", "\t1\tadv"),
        ("\t0\tro", "\t1\tro"),
        ("\t3\tpu", "\t1\tpu"),
    ]:
        expected = expected.replace(old, new)
    assert str(annotated) == expected
    assert str(sentence) == TEXT, "the original stays as it is"
    assert (annotated.path, annotated.line) == (sentence.path, sentence.line)


def test_with_misc_keeps_what_stands_there_and_replaces_its_own_key():
    [sentence] = read(TEXT)
    once = sentence.with_misc(p=["0.1", "0.2", "0.3", "0.4"])
    assert once.column("misc") == ["p=0.1", "p=0.2", "SpaceAfter=No|p=0.3", "p=0.4"]
    twice = once.with_misc(p=["0.5"] * 4, q=[1, 2, 3, 4])
    assert twice.column("misc")[2] == "SpaceAfter=No|p=0.5|q=3"
    assert twice.annotated(misc=sentence.column("misc")) == sentence


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"tag": ["X"] * 4}, "CoNLL-U has no column 'tag'; choose one of id, form"),
        ({"upos": ["X"] * 3}, "upos: got 3 values for 4 words"),
        ({"upos": ["X", "X", "X", ""]}, "upos: '' cannot be written to a column"),
        ({"head": [0, 1, 1, 5]}, "HEAD is 5 in a sentence of 4 words"),
        ({"id": [1, 2, 3, 4]}, "id: the numbering of the words cannot be replaced"),
    ],
)
def test_annotated_refuses(columns, message):
    [sentence] = read(TEXT)
    with pytest.raises((ValueError, DataError), match=message):
        sentence.annotated(**columns)


@pytest.mark.parametrize("text", [TEXT, "0.1" + "\t_" * 9 + "\n\n"])
def test_annotated_has_the_words_of_its_text(text):
    [sentence] = read(text)
    n = len(sentence)
    changed = sentence.annotated(head=["_", *range(n - 1)][:n], upos=["X"] * n, misc=["a=b"] * n)
    [again] = read(str(changed))
    assert changed.words == again.words


def test_from_forms_with_spaces_and_comments():
    sentence = conllu.from_forms(["chủ tịch", "#"], ["# text = chủ tịch #"])
    assert sentence.forms == ["chủ tịch", "#"]
    [again] = read(str(sentence))
    assert again == sentence


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([],), "forms: got no word"),
        (("It works",), "forms: got the string 'It works'; give a list with a value for each word"),
        ((["a", ""],), "forms: '' cannot"),
        ((["a\tb"],), "cannot be written to a column"),
        ((["a"], ["no mark"]), "comments: got one that is not"),
    ],
)
def test_from_forms_refuses(arguments, message):
    with pytest.raises(ValueError, match=message):
        conllu.from_forms(*arguments)


def test_sentence_is_given_as_soon_as_its_blank_line_is_there():
    class Pipe(io.RawIOBase):
        """Gives one chunk at a time and fails when asked for more than it has."""

        def __init__(self):
            self.chunks = [TEXT.encode()]

        def readable(self):
            return True

        def readinto(self, buffer):
            chunk = self.chunks.pop()
            buffer[: len(chunk)] = chunk
            return len(chunk)

    assert str(next(conllu.read(Pipe()))) == TEXT


@pytest.mark.skipif(sys.platform == "win32", reason="needs the module resource")
def test_memory_does_not_grow_with_the_file(tmp_path):
    import tracemalloc

    path = tmp_path / "long.conllu.gz"
    with gzip.open(path, "wt", compresslevel=1, encoding="utf-8") as stream:
        for _ in range(1500):
            stream.write(TEXT)
    tracemalloc.start()
    count = sum(1 for _ in conllu.read(path))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert count == 1500
    assert peak < 500_000


def test_sources_of_all_kinds(tmp_path, monkeypatch):
    path = tmp_path / "one.conllu"
    path.write_text(TEXT, encoding="utf-8", newline="")
    packed = tmp_path / "packed"
    packed.write_bytes(gzip.compress(TEXT.encode()))
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(TEXT.encode())))
    with open(path, encoding="ascii") as text_stream, open(path, "rb") as byte_stream:
        for source in [str(path), path, packed, "-", text_stream, byte_stream, io.StringIO(TEXT)]:
            assert [str(sentence) for sentence in conllu.read(source)] == [TEXT]
        assert not byte_stream.closed


def test_equality_hash_pickle_and_repr():
    [sentence] = read(TEXT)
    [other] = read(TEXT)
    assert sentence == other
    assert hash(sentence) == hash(other)
    assert sentence != sentence.annotated(upos=["X"] * 4)
    assert sentence != TEXT
    assert pickle.loads(pickle.dumps(sentence)).words == sentence.words
    assert repr(sentence) == "<conllu sentence of 4 words, <stream>:1>"
