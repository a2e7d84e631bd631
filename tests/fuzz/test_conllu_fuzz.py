"""CoNLL-U of a random grammar goes round; changed bytes parse or give a DataError with file and line."""

import io

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.fuzz.grammars import attempt, conllu_file, mutated, mutations, read_or_refused, text

from strukt.data import check, conllu

REAL = """\
# newdoc id = weblog-juancole.com_juancole_20051114085100_ENG_20051114_085100
# sent_id = weblog-1
# text = It's where they don't eat.
1-2	It's	_	_	_	_	_	_	_	_
1	It	it	PRON	PRP	Case=Nom|Gender=Neut|Number=Sing|Person=3	0	root	0:root	_
2	's	be	AUX	VBZ	Mood=Ind|Number=Sing|Person=3|Tense=Pres	1	cop	1:cop	_
3	where	where	ADV	WRB	PronType=Rel	7	advmod	7:advmod	_
4	they	they	PRON	PRP	Case=Nom|Number=Plur|Person=3	7	nsubj	7:nsubj	_
5-6	don't	_	_	_	_	_	_	_	_
5	do	do	AUX	VBP	Mood=Ind|Tense=Pres|VerbForm=Fin	7	aux	7:aux	_
6	n't	not	PART	RB	Polarity=Neg	7	advmod	7:advmod	_
7	eat	eat	VERB	VB	VerbForm=Inf	1	advcl:relcl	1:advcl:relcl	SpaceAfter=No
7.1	chủ tịch	eat	VERB	VB	VerbForm=Inf	_	_	1:conj:and|7:conj	CopyOf=7
8	.	.	PUNCT	.	_	1	punct	1:punct	_

""".encode()


def named(content):
    stream = io.BytesIO(content)
    stream.name = "fuzz.conllu"
    return stream


def read(content):
    return list(conllu.read(named(content)))


def read_trees(content):
    return [conllu.require_tree(sentence) for sentence in conllu.read(named(content))]


@given(conllu_file())
def test_round_trip(content):
    assert "".join(map(str, conllu.read(io.BytesIO(content)))).encode() == content


@given(conllu_file())
def test_annotating_with_what_is_there_changes_nothing(content):
    for sentence in conllu.read(io.BytesIO(content)):
        columns = {name: sentence.column(name) for name in conllu.COLUMNS[1:]}
        assert str(sentence.annotated(**columns)) == str(sentence)


@given(conllu_file(), st.data())
def test_annotating_changes_the_named_column_of_words_only(content, data):
    for sentence in conllu.read(io.BytesIO(content)):
        tags = data.draw(st.lists(text, min_size=len(sentence), max_size=len(sentence)))
        annotated = sentence.annotated(upos=tags)
        assert annotated.column("upos") == tags
        for name in conllu.COLUMNS:
            if name != "upos":
                assert annotated.column(name) == sentence.column(name)
        assert annotated.comments == sentence.comments
        assert annotated.multiword_tokens == sentence.multiword_tokens
        assert annotated.empty_nodes == sentence.empty_nodes


@settings(max_examples=5 * settings().max_examples)
@given(mutations)
def test_changed_bytes_parse_or_give_file_and_line(changes):
    sentences = read_or_refused(read, mutated(REAL + REAL, changes), "fuzz.conllu") or []
    for sentence in sentences:
        _, error = attempt(conllu.require_tree, sentence)
        assert error is None or error.line is not None


@settings(max_examples=3 * settings().max_examples)
@given(st.binary(max_size=300))
def test_any_bytes_parse_or_give_a_data_error(content):
    _, error = attempt(read, content)
    assert error is None or str(error).startswith("fuzz.conllu:")


@given(mutations)
def test_check_agrees_with_reading(changes):
    content = mutated(REAL + REAL, changes)
    report = check.check("dependency", named(content), "conllu")
    _, error = attempt(read_trees, content)
    if error is None:
        assert report.problem_count == 0
    else:
        first = next(problem for problem in report.problems if not problem.repaired)
        assert str(first) == str(error)


@given(st.lists(text, min_size=1, max_size=5))
def test_every_form_of_the_grammar_can_be_made(forms):
    assert conllu.from_forms(forms).forms == forms


@pytest.mark.parametrize("byte", [b"\x0b", b"\x0c", b"\x1c", "\x85".encode(), "\u2028".encode()])
def test_only_a_line_feed_ends_a_line(byte):
    content = REAL.replace(b"where", b"wh" + byte + b"re", 1)
    [sentence] = conllu.read(io.BytesIO(content))
    assert str(sentence).encode() == content
