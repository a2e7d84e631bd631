"""From documents to sentences and back."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("spacy", reason='needs spaCy: pip install "strukt[spacy]"')

import spacy

from strukt.data.conllu.dependency_trees import find_cycle
from strukt.spacy import sentences
from strukt.spacy.attributes import set_tree
from strukt.spacy.tokens import sentence_tokens

NLP = spacy.blank("en")


@given(st.text(st.sampled_from("ab \n\t.\u2003\u200b"), max_size=20))
def test_tokens_of_any_text_are_read_once_but_for_white_space(text):
    doc = NLP(text)
    (tokens,) = sentence_tokens(doc)
    assert (tokens.start, tokens.end) == (0, len(doc))
    assert list(tokens.words) == [token.i for token in doc if not token.is_space]
    assert ["".join(sentence.forms) for sentence in sentences(doc)] == (
        ["".join(text.split())] if text.split() else []
    )


@given(st.lists(st.sampled_from(["w", " ", "\n"]), min_size=1, max_size=8), st.randoms())
def test_trees_over_words_are_trees_over_tokens(forms, random):
    doc = spacy.tokens.Doc(NLP.vocab, words=forms, spaces=[False] * len(forms))
    (tokens,) = sentence_tokens(doc)
    order = random.sample(range(1, len(tokens.words) + 1), len(tokens.words))
    heads = {word: random.choice(order[:rank]) if rank else 0 for rank, word in enumerate(order)}
    over_words = [heads[word] for word in sorted(heads)]
    over_tokens = tokens.heads(over_words)
    set_tree(doc, over_tokens, tokens.labels(["root" if head == 0 else "x" for head in over_words]))
    assert [token.head.i for token in doc] == over_tokens
    assert not find_cycle([0 if head == token else head + 1 for token, head in enumerate(over_tokens)])
    roots = [token for token in doc if token.head == token]
    assert {token.dep_ for token in roots} == {"ROOT"}
    assert len(roots) == (1 if tokens.words else len(doc))
    for token in doc:
        if token.is_space and tokens.words:
            before = [word for word in tokens.words if word < token.i]
            assert token.head.i == (before[-1] if before else tokens.words[0])
