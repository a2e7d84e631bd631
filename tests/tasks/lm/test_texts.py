"""Distributions over texts: whatever they are made of, they keep the same laws."""

import itertools

import pytest
import torch

from strukt import HMM
from strukt.automata import containing, matching
from strukt.errors import SettingError
from strukt.nn import CompoundPCFG, KneserNey, NeuralHMM, NeuralPCFG, Transformer
from strukt.nn.causal import CausalLanguageModel
from strukt.nn.recurrent import RecurrentLanguageModel
from strukt.tasks.lm.texts.hmm import HiddenMarkovText
from strukt.tasks.lm.texts.left_to_right import LeftToRightText
from strukt.tasks.lm.texts.ngram import CountedText
from strukt.tasks.lm.texts.pcfg import GrammaticalText

V = 5
SYMBOLS = "abcde"


def counted():
    model = KneserNey(V, 3)
    model.count(list(torch.randint(V, (40, 6))))
    return CountedText(SYMBOLS, model)


def causal():
    encoder = Transformer(8, 8, 1, 2, causal=True)
    return LeftToRightText(SYMBOLS, CausalLanguageModel(V, 8, encoder).eval())


TEXTS = {
    "hmm": lambda: HiddenMarkovText(SYMBOLS, NeuralHMM(6, V, rank=3, size=8).eval()()),
    "lstm": lambda: LeftToRightText(SYMBOLS, RecurrentLanguageModel(V, 8).eval()),
    "transformer": causal,
    "ngram": counted,
}


@pytest.fixture(params=TEXTS)
def text(request):
    torch.manual_seed(0)
    return TEXTS[request.param]()


def test_texts_of_a_length_sum_to_one(text):
    every = torch.cartesian_prod(*[torch.arange(V)] * 3)
    log_probs, _ = text.stream(every, torch.full((len(every),), 3))
    assert log_probs.exp().sum().item() == pytest.approx(1, abs=1e-5)


def test_words_make_up_the_text(text):
    x, lengths = torch.randint(V, (3, 6)), torch.tensor([6, 2, 0])
    words = text.word_log_probs(x, lengths)
    torch.testing.assert_close(words.sum(1), text.stream(x, lengths)[0], atol=1e-5, rtol=0, check_dtype=False)
    assert (words[1, 2:] == 0).all()


def test_a_text_in_pieces_is_the_same_text(text):
    x, full = torch.randint(V, (3, 9)), torch.full((3,), 9)
    whole, _ = text.stream(x, full)
    total, state = torch.zeros(3, dtype=whole.dtype), None
    for start, end in ((0, 1), (1, 5), (5, 9)):
        part, state = text.stream(x[:, start:end], torch.full((3,), end - start), state)
        total = total + part
    torch.testing.assert_close(total, whole, atol=1e-5, rtol=0)


def test_samples_are_as_frequent_as_they_are_probable(text):
    drawn = text.sample(20_000, 2)
    every = torch.cartesian_prod(torch.arange(V), torch.arange(V))
    expected = text.stream(every, torch.full((len(every),), 2))[0].exp()
    found = torch.bincount(drawn[:, 0] * V + drawn[:, 1], minlength=V * V) / len(drawn)
    assert (found - expected).abs().max() < 0.015
    assert text.sample(2, 0).shape == (2, 0)


@pytest.mark.parametrize("rank", [None, pytest.param(3, marks=pytest.mark.slow)])
def test_sentences_of_a_grammar_are_as_frequent_as_they_are_probable(rank):
    torch.manual_seed(0)
    text = GrammaticalText(SYMBOLS, NeuralPCFG(2, 3, V, rank=rank, size=8).eval())
    with torch.no_grad():
        drawn = text.sample(4000, 3)
        lengths = (drawn >= 0).sum(1)
        every = torch.cartesian_prod(torch.arange(V), torch.arange(V))
        expected = text.stream(every, torch.full((len(every),), 2))[0].exp()
    pairs = drawn[lengths == 2]
    found = torch.bincount(pairs[:, 0] * V + pairs[:, 1], minlength=V * V) / len(drawn)
    assert (found - expected).abs().max() < 0.02
    assert lengths.min() == 2


GUIDED = {
    "hmm": TEXTS["hmm"],
    "pcfg": lambda: GrammaticalText(SYMBOLS, NeuralPCFG(2, 3, V, size=8).eval()),
    "lowrank-pcfg": lambda: GrammaticalText(SYMBOLS, NeuralPCFG(2, 3, V, rank=3, size=8).eval()),
}


@pytest.mark.parametrize("kind", GUIDED)
def test_texts_that_meet_a_constraint_are_as_probable_as_enumerated(kind):
    torch.manual_seed(0)
    text, longest, end = GUIDED[kind](), 3, V - 1
    constraint = containing([[0]], V) & matching("(a|b|c)( [a-d])*", SYMBOLS, separator=" ")
    guide = text.guide(constraint, longest, end)
    chances = {}
    for n in range(0 if kind == "hmm" else 2, longest + 1):
        rows = list(itertools.product(range(V - 1), repeat=n))
        ended = [(*row, end) if kind == "hmm" and n < longest else row for row in rows]
        with torch.no_grad():
            found, _ = text.stream(torch.tensor(ended), torch.full((len(rows),), len(ended[0])))
        chances |= dict(zip(rows, found.exp().tolist(), strict=True))
    met = {row: chance for row, chance in chances.items() if constraint.accepts(row)}
    total = sum(met.values())
    assert 0 < len(met) < len(chances)
    assert guide.log_prob(guide.start()).exp().item() == pytest.approx(total / sum(chances.values()), rel=1e-4)
    for row, chance in met.items():
        state, product = guide.start(), 1.0
        for word in [*row, end][:longest]:
            product *= guide.predict(state)[0, word].exp().item()
            state = guide.advance(state, torch.tensor([[word]]))
        assert product == pytest.approx(chance / total, rel=1e-4)
    drawn = [tuple(word for word in row if word not in (-1, end)) for row in guide.sample(40).tolist()]
    assert set(drawn) <= set(met)


def test_texts_that_know_no_constraint_say_so():
    with pytest.raises(SettingError, match="a constraint needs a model with hidden states or a grammar"):
        counted().guide(containing([[0]], V), 3, V - 1)
    compound = GrammaticalText(SYMBOLS, CompoundPCFG(2, 3, V, size=8, latent=4))
    with pytest.raises(SettingError, match="a grammar with the same rules for all sentences"):
        compound.guide(containing([[0]], V), 3, V - 1)


def test_a_grammar_gives_a_tree_to_every_sentence():
    torch.manual_seed(0)
    text = GrammaticalText(SYMBOLS, NeuralPCFG(2, 3, V, size=8).eval())
    trees = text.trees(torch.randint(V, (3, 4)), torch.tensor([4, 1, 2]))
    assert [len(spans) for spans in trees] == [7, 1, 3]
    for span in [span for spans in trees for span in spans]:
        assert span.label[:-1] == ("T" if span.end == span.start + 1 else "NT")


def test_the_graph_of_states_has_those_that_are_used_most():
    """A chain that stays in states 1 and 2, and leaves state 0 at once."""
    matrix = torch.tensor([[0.0, 1.0, 0.0], [0.0, 0.75, 0.25], [0.0, 1.0, 0.0]])
    hmm = HMM(torch.tensor([0.0, -9.0, -9.0]), matrix.log(), torch.eye(3).log())
    graph = HiddenMarkovText(["a", "b", "c"], hmm).state_graph()
    assert [name.split()[:2] for name in graph.names] == [["1:", "b"], ["2:", "c"], ["0:", "a"]]
    expected = torch.tensor([[0.75, 0.25, 0.0], [1.0, 0.0, 0.0], [1.0, 0.0, 0.0]])
    assert torch.allclose(torch.tensor(graph.weights), expected)
