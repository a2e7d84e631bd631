"""Attachment scores equal those of the CoNLL 2018 evaluation; a short transcription of it is the oracle."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.fuzz.grammars import heads

from strukt.metrics.attachment_scores import CONTENT_RELATIONS, AttachmentScore

RELATIONS = [
    "nsubj", "nsubj:pass", "obj", "det", "punct", "case", "conj", "cc", "root", "aux:pass", "flat:name",
]  # fmt: skip


class Word:
    """A word as in conll18_ud_eval.py: it knows its parent word, not the number of its head."""

    def __init__(self, index, deprel):
        self.index = index
        self.deprel = deprel.split(":")[0]
        self.is_content_deprel = self.deprel in CONTENT_RELATIONS
        self.parent = None


def load_words(arcs):
    """The words of one sentence, parents linked as `load_conllu` does."""
    words = [Word(index, deprel) for index, (_, deprel) in enumerate(arcs)]
    for word, (head, _) in zip(words, arcs, strict=True):
        word.parent = words[head - 1] if head else None
    return words


def alignment_score(pairs, key, keep=lambda word: True):
    """`alignment_score` of the official script, when gold and system words are the same."""
    aligned = {id(system): gold for gold, system in pairs}
    gold_count = sum(keep(gold) for gold, _ in pairs)
    system_count = sum(keep(system) for _, system in pairs)

    def in_gold(word):
        return None if word is None else aligned[id(word)]

    correct = sum(
        key(gold, lambda word: word) == key(system, in_gold) for gold, system in pairs if keep(gold)
    )
    precision = correct / system_count if system_count else 0.0
    recall = correct / gold_count if gold_count else 0.0
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def official(gold_sentences, system_sentences):
    pairs = []
    for gold, system in zip(gold_sentences, system_sentences, strict=True):
        pairs += zip(load_words(gold), load_words(system), strict=True)
    return {
        "UAS": 100 * alignment_score(pairs, lambda word, ga: ga(word.parent)),
        "LAS": 100 * alignment_score(pairs, lambda word, ga: (ga(word.parent), word.deprel)),
        "CLAS": 100
        * alignment_score(
            pairs, lambda word, ga: (ga(word.parent), word.deprel), lambda word: word.is_content_deprel
        ),
    }


@st.composite
def sentence_pair(draw):
    length = draw(st.integers(1, 7))
    labels = st.lists(st.sampled_from(RELATIONS), min_size=length, max_size=length)
    gold, system = draw(heads(length)), draw(heads(length))
    mixed = [a if draw(st.booleans()) else b for a, b in zip(gold, system, strict=True)]
    return list(zip(gold, draw(labels), strict=True)), list(zip(mixed, draw(labels), strict=True))


@given(st.lists(sentence_pair(), min_size=1, max_size=4))
def test_equals_the_official_evaluation(pairs):
    score = AttachmentScore()
    for gold, system in pairs:
        score.update(gold, system)
    expected = official([gold for gold, _ in pairs], [system for _, system in pairs])
    assert score.result() == pytest.approx(expected)


def test_nothing_yet():
    assert AttachmentScore().result() == {"UAS": 0.0, "LAS": 0.0, "CLAS": 0.0}


def test_content_relations_are_those_of_the_official_script():
    functional = {"aux", "cop", "mark", "det", "clf", "case", "cc"}
    universal = "acl advcl advmod amod appos aux case cc ccomp clf compound conj cop csubj dep det discourse"
    universal += (
        " dislocated expl fixed flat goeswith iobj list mark nmod nsubj nummod obj obl orphan parataxis"
    )
    universal += " punct reparandum root vocative xcomp"
    assert set(universal.split()) - functional - {"punct"} == CONTENT_RELATIONS


def test_sentences_that_differ_in_length_change_nothing():
    score = AttachmentScore()
    with pytest.raises(ValueError, match="gold has 2 arcs, predicted 1; expected one for each word"):
        score.update([(2, "det"), (0, "root")], [(2, "det")])
    assert (score.right_heads, score.right_arcs, score.gold_content) == (0, 0, 0)


@pytest.mark.parametrize("arcs", [[2, 0], [(2, 1), (0, 3)], [(2, None), (0, None)], [("2", "det"), ("0", "root")]])
def test_arcs_without_relations_are_refused(arcs):
    score = AttachmentScore()
    with pytest.raises(ValueError, match=r"gold holds .*; expected a head and a relation, such as \(2, 'nsubj'\)"):
        score.update(arcs, arcs)
    assert score.words == 0
