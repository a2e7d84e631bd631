"""Changed bytes of files of every format are read, or give a DataError with file and line."""

import pytest
from hypothesis import given, settings
from tests.data.logical_forms import random_logical_forms
from tests.data.sources import stream
from tests.fuzz.grammars import mutated, mutations, read_or_refused

from strukt.data import brackets, columns, conllu, listops
from strukt.data.classes import labelled, pairs
from strukt.data.entities import json_lines, layers
from strukt.data.logical_forms import cogs

CONLLU = """\
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

"""
BRACKETS = """\
(ROOT (S (NP (PRP It)) (VP (VBZ works))))
(ROOT
  (S
    (NP-SBJ (-NONE- *))
    (VP (VB Go) (PRT (RP on)))))

( (NP=2 (-LRB- -LRB-) (NN Governor-LRB-s-RRB-)
        (-RRB- -RRB-)))

"""
COLUMNS = "@paulwalk\tO\n's\tO\n#\tO\nEmpire\tB-location\nState\tI-location\n\n’😂\tO\nESB\tB-location\n\t\n"
LAYERS = "the\tB-PER\tO\t\nQueen\tI-PER\tB-PER\t\nof\tI-PER\tO\t\nSpain\tI-PER\tB-LOC\t\n\n"
FORMATS = {
    brackets: BRACKETS,
    cogs: "".join(f"{line}\n" for line in random_logical_forms.lines(4)[5:]),
    columns: COLUMNS,
    conllu: CONLLU,
    json_lines: '{"id": 1.50,"tokens": ["K\\u00f6ln"],  "entities": [{"start": 0, "end": 1, "type": "A"}]}\n',
    labelled: "good\ta  fine film\tp=0.9\nbad\ta dull one \n",
    layers: LAYERS,
    listops: "9\t[MAX 2 9 [MIN 4 7 ] 0 ]\n_\t( ( ( [SM 6 ) 5 ) ] )\tarity=2\n[LAST 7 1 ]\n",
    pairs: "A man's dog.\tIt barks.\tneutral\nA\tB\t-\tp=0.5\n",
}


@pytest.mark.parametrize("module", FORMATS, ids=lambda module: module.__name__.rpartition(".")[2])
def test_changed_bytes_are_read_or_give_file_and_line(module):
    @settings(max_examples=3 * settings().max_examples)
    @given(mutations)
    def check(changes):
        content = mutated(FORMATS[module].encode() * 2, changes)
        read_or_refused(lambda content: list(module.read(stream(content, "fuzz"))), content, "fuzz")

    check()
