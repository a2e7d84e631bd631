"""Emissions in blocks, tied vectors and Brown clusters against loops over Chiu and Rush (2020), Brown (1992)."""

import math
from collections import Counter
from itertools import pairwise

import pytest
import torch
from tests.fidelity.test_scaled_hmm import dot, evidence, layer_norm, linear, softmax

from strukt.data.brown import brown_clusters
from strukt.nn import NeuralHMM

SIZE, STATES, WORDS = 3, 6, 7
BLOCKS = [2, 0, 1, 2, 0, 1, 1]
"""The block of each word; of three blocks each has two states."""


def model(**options):
    torch.manual_seed(0)
    blocks = torch.tensor(BLOCKS)
    hmm = NeuralHMM(STATES, WORDS, size=SIZE, blocks=blocks, vectors="tied", **options).double()
    for parameter in hmm.parameters():
        torch.nn.init.normal_(parameter)
    return hmm


def relu(x):
    return [max(value, 0.0) for value in x]


def network(layers, x):
    """f(E) = g(ReLU(E W_1)), g(D) = LayerNorm(ReLU(D W_2) + D)."""
    hidden = relu(linear(layers[0], x))
    second = relu(linear(layers[2].added[0], hidden))
    return layer_norm(layers[2].norm, [a + b for a, b in zip(second, hidden, strict=True)])


def tables(hmm, kept):
    """Start, transitions and emissions of some states, of which only those of its block emit a word."""
    vectors = [hmm.before.tolist()[z] for z in kept]
    start, words, bias = hmm.start.tolist()[0], hmm.word_vectors.tolist(), hmm.bias.tolist()
    first = softmax([dot(network(hmm.starting, x), start) for x in vectors])
    transition = [softmax([dot(network(hmm.leaving, x), y) for y in vectors]) for x in vectors]
    emission = []
    for z, x in zip(kept, vectors, strict=True):
        row = [dot(network(hmm.saying, x), words[w]) + bias[w] for w in range(WORDS)]
        own = [w for w in range(WORDS) if BLOCKS[w] == z // 2]
        inside = dict(zip(own, softmax([row[w] for w in own]), strict=True))
        emission.append([inside.get(w, 0.0) for w in range(WORDS)])
    return first, transition, emission


def test_blocks_of_tied_vectors_are_their_equations():
    hmm, words = model().eval(), [4, 0, 1, 2, 2, 6]
    first, transition, emission = tables(hmm, range(STATES))
    found = hmm()
    torch.testing.assert_close(found.initial.softmax(0), torch.tensor(first).double())
    torch.testing.assert_close(found.transition.dense(), torch.tensor(transition).double())
    torch.testing.assert_close(found.emission.table().exp(), torch.tensor(emission).double().mT)
    expected = math.log(evidence(first, transition, emission, words))
    assert found.log_prob(torch.tensor(words)).item() == pytest.approx(expected, abs=1e-12)


def test_state_dropout_keeps_as_many_states_of_each_block():
    hmm, words = model(state_dropout=0.5), [4, 0, 1, 2, 2, 6]
    torch.manual_seed(1)
    found = hmm().log_prob(torch.tensor(words)).item()
    torch.manual_seed(1)
    kept = [2 * block + place for block, place in enumerate(torch.rand(3, 2).argsort(1)[:, 0].tolist())]
    assert found == pytest.approx(math.log(evidence(*tables(hmm, kept), words)), abs=1e-12)


def mutual_information(clusters, pairs):
    """Brown et al. (1992), section 3: the average mutual information of neighbours, of words so far."""
    total, lefts, rights, joint = sum(pairs.values()), Counter(), Counter(), Counter()
    for (first, second), count in pairs.items():
        lefts[clusters.get(first)] += count
        rights[clusters.get(second)] += count
        if first in clusters and second in clusters:
            joint[clusters[first], clusters[second]] += count
    return sum(n / total * math.log(n * total / (lefts[a] * rights[b])) for (a, b), n in joint.items())


def merged(clusters, kept, gone):
    return {word: kept if cluster == gone else cluster for word, cluster in clusters.items()}


def greedy(texts, count):
    """Each word in order of frequency; where there are too many clusters the best two of them are merged."""
    pairs = Counter(pair for text in texts for pair in pairwise(text))
    frequency = Counter(word for pair in pairs.elements() for word in pair)
    clusters = {}
    for word in sorted(frequency, key=lambda word: (-frequency[word], word)):
        clusters[word] = word
        present = sorted(set(clusters.values()))
        if len(present) > count:
            choices = [(a, b) for place, a in enumerate(present) for b in present[place + 1 :]]
            clusters = merged(
                clusters, *max(choices, key=lambda pair: mutual_information(merged(clusters, *pair), pairs))
            )
    return clusters


@pytest.mark.parametrize("seed", range(4))
def test_merged_clusters_lose_the_least_mutual_information(seed):
    generator = torch.Generator().manual_seed(seed)
    weights = torch.rand(9, generator=generator) + 0.1
    texts = [torch.multinomial(weights, 50, True, generator=generator).tolist() for _ in range(3)]
    found, expected = brown_clusters(texts, 9, 3), greedy(texts, 3)
    together = [(a, b) for a in range(9) for b in range(9)]
    assert [found[a] == found[b] for a, b in together] == [expected[a] == expected[b] for a, b in together]
