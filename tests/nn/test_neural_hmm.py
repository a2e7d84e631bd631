"""Hidden Markov models from vectors: what they are made of, dropout, and that they learn."""

import math
import re

import pytest
import torch

from strukt.distributions import HMM, Blocked, Dense, Embedded, LowRank
from strukt.nn import NeuralHMM, SoftplusFeatures

BLOCKS = torch.tensor([2, 0, 1, 2, 0])
X = torch.tensor([[0, 1, 2, 3], [4, 4, 0, 1]])
LENGTHS = torch.tensor([4, 3])


def model(**options):
    torch.manual_seed(0)
    return NeuralHMM(**{"states": 6, "words": 5, "size": 8, **options})


@pytest.mark.parametrize(
    ("options", "transition", "emission"),
    [
        ({}, Dense, Embedded),
        ({"rank": 3}, LowRank, Embedded),
        ({"features": SoftplusFeatures(8, 4)}, LowRank, Embedded),
        ({"rank": 3, "blocks": BLOCKS}, LowRank, Blocked),
        ({"vectors": "plain"}, Dense, Embedded),
        ({"vectors": "plain", "rank": 3, "features": "exponential"}, LowRank, Embedded),
        ({"vectors": "tied"}, Dense, Embedded),
        ({"vectors": "tied", "rank": 3, "blocks": BLOCKS}, LowRank, Blocked),
    ],
)
def test_all_parameters_have_gradients(options, transition, emission):
    layer = model(**options)
    hmm = layer()
    assert isinstance(hmm, HMM)
    assert isinstance(hmm.transition, transition)
    assert isinstance(hmm.emission, emission)
    hmm.log_prob(X, LENGTHS).sum().backward()
    for name, parameter in layer.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.isfinite().all(), name
        assert parameter.grad.any(), name


COUNTS = torch.tensor([9, 0, 3, 1, 40])


def test_scores_are_products_of_vectors_and_biases_of_words():
    layer = model()
    layer.begin_with(COUNTS)
    hmm = layer()
    expected = (layer.leaving(layer.before) @ layer.after.mT).softmax(1)
    torch.testing.assert_close(hmm.transition.dense(), expected)
    first = (layer.starting(layer.start) @ layer.after.mT).squeeze(0)
    torch.testing.assert_close(hmm.initial, first)
    words = (layer.saying(layer.emitting) @ layer.word_vectors.mT + layer.bias).log_softmax(1)
    torch.testing.assert_close(hmm.emission.table(), words.mT)


def test_features_of_both_vectors_are_those_of_one_map():
    layer = model(rank=3)
    before = layer.leaving(layer.before) / 8**0.5
    products = layer.features(before).exp() @ layer.features(layer.after).exp().mT
    torch.testing.assert_close(layer().transition.dense(), products / products.sum(1, keepdim=True))


def test_tied_vectors_are_one_table():
    shapes = [tuple(parameter.shape) for parameter in model(vectors="tied").parameters()]
    assert shapes.count((6, 8)) == 1
    assert [name for name in model(vectors="tied").state_dict() if "after" in name or "emitting" in name] == []


def test_blocks_are_assigned_and_saved():
    layer, other = model(blocks=BLOCKS), model(blocks=BLOCKS)
    layer.assign(torch.tensor([0, 1, 2, 2, 1]))
    other.load_state_dict(layer.state_dict())
    torch.testing.assert_close(layer().emission.table(), other().emission.table())
    assert other().emission.table()[0].isfinite().tolist() == [True, True, False, False, False, False]


def test_blocks_are_copied_so_that_assigning_changes_one_model():
    blocks = torch.tensor([2, 0, 1, 2, 0])
    layer, other = model(blocks=blocks), model(blocks=blocks)
    layer.assign(torch.tensor([0, 1, 2, 2, 1]))
    assert blocks.tolist() == other.blocks.tolist() == [2, 0, 1, 2, 0]
    assert layer.blocks.tolist() == [0, 1, 2, 2, 1]


@pytest.mark.parametrize("blocks", [[0, 1, 2, 1], [0, 1, 0, 1, 0], [0, 1, 2, 3, 0]])
def test_assigned_blocks_are_those_that_there_are(blocks):
    with pytest.raises(ValueError, match=r"expected \(5,\) and all of 0 to 2"):
        model(blocks=BLOCKS).assign(torch.tensor(blocks))
    with pytest.raises(ValueError, match="this model has no blocks"):
        model().assign(BLOCKS)


@pytest.mark.parametrize("options", [{}, {"blocks": BLOCKS}])
def test_dropout_leaves_out_states_and_features_and_normalises_again(options):
    layer = model(rank=8, state_dropout=0.5, feature_dropout=0.25, **options)
    whole = layer.eval()()
    assert (whole.states, whole.transition.source.shape[1]) == (6, 8)
    layer.train()
    chosen = set()
    for _ in range(8):
        kept = layer()
        assert (kept.states, kept.transition.source.shape[1]) == (3, 6)
        torch.testing.assert_close(kept.transition.dense().sum(1), torch.ones(3))
        places = [int((whole.initial - value).abs().argmin()) for value in kept.initial]
        assert places == sorted(places)
        chosen.add(tuple(places))
        if options:
            assert [place // 2 for place in places] == [0, 1, 2]
    assert len(chosen) > 1


def test_the_last_state_and_feature_are_never_left_out():
    layer = model(rank=1, states=1, state_dropout=0.9, feature_dropout=0.9)
    assert layer().states == 1


@pytest.mark.parametrize("states", [8, 5000])
def test_states_differ_at_the_start_however_many_they_are(states):
    layer = model(states=states, words=999, size=64)
    scores = layer.saying(layer.emitting) @ layer.word_vectors.mT
    assert scores.var(0).mean() > 0.25
    transition = layer.leaving(layer.before) @ layer.after.mT
    assert transition.var(0).mean() > 0.25


@pytest.mark.parametrize("blocks", [None, BLOCKS])
def test_it_begins_with_the_frequencies_of_words(blocks):
    layer = model(blocks=blocks)
    scores = layer.saying(layer.emitting) @ layer.word_vectors.mT
    layer.begin_with(COUNTS)
    frequencies = (COUNTS + 1) / (COUNTS + 1).sum()
    torch.testing.assert_close(layer.bias.softmax(0), frequencies)
    torch.testing.assert_close(layer().emission.table(), model_of(scores + layer.bias, blocks))


def model_of(scores, blocks):
    """The log-probabilities of words, whose scores in a state are given, `(words, states)`."""
    if blocks is not None:
        of_states = torch.arange(len(scores)) // (len(scores) // 3)
        scores = scores.masked_fill(of_states[:, None] != blocks, -math.inf)
    return scores.log_softmax(1).mT


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"state_dropout": 1.0}, "state_dropout is 1.0; expected a number from 0 to below 1"),
        ({"feature_dropout": -0.1}, "feature_dropout is -0.1"),
        ({"temperature": 0.0}, "temperature is 0.0; expected a number above 0"),
        ({"vectors": "tight"}, "vectors is 'tight'; expected one of layers, plain, tied"),
        ({"states": 0}, "states is 0"),
        ({"rank": 0}, "rank is 0"),
        ({"blocks": BLOCKS, "states": 7}, "3 blocks; expected (5,), and a divisor of the 7 states"),
        ({"blocks": BLOCKS[:4]}, "blocks has shape (4,)"),
        ({"blocks": 2 * BLOCKS}, "blocks holds [0, 2, 4]; expected every number from 0"),
        ({"blocks": BLOCKS - 1}, "blocks holds [-1, 0, 1]; expected every number from 0"),
        ({"blocks": BLOCKS[:0]}, "blocks holds []; expected every number from 0"),
        ({"blocks": BLOCKS.double()}, "blocks is of type torch.float64; expected a LongTensor"),
    ],
)
def test_errors_say_what_is_wrong(options, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        model(**options)


def test_counts_are_those_of_all_words_and_not_negative():
    with pytest.raises(ValueError, match=re.escape("counts has shape (1,); expected (5,)")):
        model().begin_with(COUNTS[:1])
    with pytest.raises(ValueError, match=r"counts holds -9\.0 at position 0; expected finite numbers"):
        model().begin_with(COUNTS * torch.tensor([-1.0, 1, 1, 1, 1]))
