"""Spans with binary codes as published (Wang and Utiyama 2024): equations 2 and 9 to 21, over all trees."""

import itertools
import math

import pytest
import torch

from strukt.cli.configuration import parse
from strukt.configurations import configurations
from strukt.data.vocabulary import Vocabulary
from strukt.tasks.common import ranges
from strukt.tasks.common.spans.layer import GoldSpans
from strukt.tasks.common.spans.published_codes import PublishedCodes
from strukt.tasks.constituency import Config

SIZE, BITS, WORDS = 5, 2, 3
LABELS = Vocabulary(["", "NP", "VP"])
LENGTHS = [3, 2, 1]
PRETRAINED = {"bert-large-cased": 1024, "xlnet-large-cased": 1024, "bert-base-chinese": 768}
"""Sizes of the vectors of the pretrained models."""
VARIANTS = ("self", "sup", "hash", "max")
EVERY = pytest.mark.parametrize("variant", VARIANTS)

TREES = {1: [[(1, 1)]], 2: [[(1, 2), (1, 1), (2, 2)]]}
"""All binary trees over a few words: spans from a first to a last word, both counted from 1."""
TREES[3] = [[(1, 3), (1, 1), *[(i + 1, j + 1) for i, j in TREES[2][0]]], [(1, 3), *TREES[2][0], (3, 3)]]

GOLD = [(TREES[3][1], [1, 0, 1, 2, 1]), (TREES[2][0], [2, 1, 2]), (TREES[1][0], [1])]
"""The tree of each sentence, with the label of each of its spans."""


def layer(variant="max", size=SIZE, bits=BITS):
    torch.manual_seed(0)
    built = PublishedCodes(Config(criterion="bits-published", bits=bits, variant=variant), size, LABELS)
    return built.double()


def vectors(seed):
    """Vectors of the words of three sentences, and zeros behind their ends."""
    generator = torch.Generator().manual_seed(seed)
    found = 1.5 * torch.randn(len(LENGTHS), WORDS, SIZE, generator=generator, dtype=torch.float64)
    for item, length in enumerate(LENGTHS):
        found[item, length:] = 0.0
    return found


def gold():
    """The trees between fenceposts, as a batch holds them."""
    rows = [
        (item, first - 1, last, label)
        for item, (spans, labels) in enumerate(GOLD)
        for (first, last), label in zip(spans, labels, strict=True)
    ]
    return GoldSpans(*torch.tensor(rows).unbind(-1))


def bit_scores(model, h):
    """Equation 11 for one sentence: by first word, last word, bit and value."""
    size = math.ceil(SIZE / BITS)
    g = {}
    for left, right in itertools.combinations_with_replacement(range(1, len(h) + 1), 2):
        for k in range(BITS):
            query = [sum(w * x for w, x in zip(row, h[left - 1], strict=True)) for row in model.hash.query[k]]
            key = [sum(w * x for w, x in zip(row, h[right - 1], strict=True)) for row in model.hash.key[k]]
            product = sum(a * b for a, b in zip(query, key, strict=True))
            g[left, right, k, +1], g[left, right, k, -1] = product / math.sqrt(size), torch.zeros(())
    return g


def coded_trees(length):
    """Every tree, each of its spans with every code."""
    for tree in TREES[length]:
        for codes in itertools.product(itertools.product((-1, +1), repeat=BITS), repeat=len(tree)):
            yield list(zip(tree, codes, strict=True))


def tree_score(tree, g):
    """Equations 9 and 10."""
    total = torch.zeros((), dtype=torch.float64)
    for (left, right), code in tree:
        for k, value in enumerate(code):
            total = total + g[left, right, k, value]
    return total


def marginals(g, length):
    """Equation 12: of span and bit together, by the probabilities of all trees (equation 2)."""
    trees = list(coded_trees(length))
    weights = torch.stack([tree_score(tree, g) for tree in trees]).exp()
    mu = dict.fromkeys(g, torch.zeros((), dtype=torch.float64))
    for tree, probability in zip(trees, weights / weights.sum(), strict=True):
        for (left, right), code in tree:
            for k, value in enumerate(code):
                mu[left, right, k, value] = mu[left, right, k, value] + probability
    return mu


def code_of(mu, left, right):
    """Equation 13: the side with the larger marginal."""
    return [+1 if mu[left, right, k, +1] > mu[left, right, k, -1] else -1 for k in range(BITS)]


def similarity(mu, span, code):
    """Equation 14."""
    return sum(mu[(*span, k, value)] for k, value in enumerate(code)) / BITS


def loss_of_one(variant, i, s, labels):
    """Equations 15 and 17 to 19; ``s[j]`` is the similarity of the i-th span or word to the j-th."""
    positive = [j for j, label in enumerate(labels) if label == labels[i]]
    negative = [j for j, label in enumerate(labels) if label != labels[i]]
    every = sum(s[j].exp() for j in negative + positive)
    others = sum(s[j].exp() for j in [*negative, i])
    if variant == "self":
        return -(s[i].exp() / every).log()
    if variant == "sup":
        return -sum((s[p].exp() / every).log() for p in positive) / len(positive)
    if variant == "hash":
        return -(s[i].exp() / others).log()
    return -(sum(s[p].exp() for p in positive) / others).log()


def dense_loss(model, views, variant):
    """Equation 20: spans of all sentences of the batch are compared, each view with the codes of the other."""
    every = [(item, span) for item, (spans, _) in enumerate(GOLD) for span in spans]
    labels = [label for _, of_tree in GOLD for label in of_tree]
    mus = [
        [marginals(bit_scores(model, h[:length]), length) for h, length in zip(view, LENGTHS, strict=True)]
        for view in views
    ]
    total = torch.zeros((), dtype=torch.float64)
    for mine, other in (mus, mus[::-1]):
        codes = [code_of(other[item], *span) for item, span in every]
        for i, (item, span) in enumerate(every):
            total = total + loss_of_one(
                variant, i, [similarity(mine[item], span, code) for code in codes], labels
            )
    return total / len(every)


@pytest.mark.parametrize(
    "variant", [pytest.param(each, marks=pytest.mark.slow if each in ("self", "max") else ()) for each in VARIANTS]
)
def test_the_published_loss_is_that_of_all_pairs_of_spans(variant):
    model, views = layer(variant), [vectors(1).requires_grad_(), vectors(2).requires_grad_()]
    found = model.loss(views, gold(), torch.tensor(LENGTHS))
    expected = dense_loss(model, views, variant)
    torch.testing.assert_close(found, expected, rtol=1e-10, atol=1e-12)
    leaves = [model.hash.query, model.hash.key, *views]
    gradients = [torch.autograd.grad(loss, leaves) for loss in (found, expected)]
    torch.testing.assert_close(*gradients, rtol=1e-8, atol=1e-10)


def test_codes_of_predicted_spans_are_the_sides_with_the_larger_marginals():
    model, h = layer(), vectors(3)
    for item, spans in enumerate(model.best_spans(h, torch.tensor(LENGTHS))):
        mu = marginals(bit_scores(model, h[item, : LENGTHS[item]]), LENGTHS[item])
        for span in spans:
            code = code_of(mu, span.start + 1, span.end)
            assert span.code == sum(1 << k for k, value in enumerate(code) if value > 0)


def test_a_code_means_the_label_that_most_often_had_it():
    """Equation 21."""
    model, counts = layer(), {}
    batches = [(vectors(seed), gold(), torch.tensor(LENGTHS)) for seed in range(6)]
    model.calibrate(batches)
    for h, _, _ in batches:
        for item, (spans, labels) in enumerate(GOLD):
            mu = marginals(bit_scores(model, h[item, : LENGTHS[item]]), LENGTHS[item])
            for span, label in zip(spans, labels, strict=True):
                code = sum(1 << k for k, value in enumerate(code_of(mu, *span)) if value > 0)
                counts.setdefault(code, dict.fromkeys(LABELS.symbols, 0))[LABELS.symbols[label]] += 1
    assert counts.keys() == {*model.codes}
    for code, of_label in counts.items():
        assert of_label[model.label(code)] == max(of_label.values())


@pytest.mark.parametrize(
    ("name", "numbers"),
    [
        ("constituency-bits-bert", 2 * 12 * 86 * 1024),
        ("constituency-bits-xlnet", 2 * 12 * 86 * 1024),
        ("constituency-bits-chinese", 2 * 12 * 64 * 768),
        ("ner-bits", 2 * 8 * 128 * 1024),
    ],
)
def test_the_configurations_of_codes_have_the_published_sizes(name, numbers):
    configuration = configurations()[f"published/{name}"]
    config = parse(configuration.task, ["--config", configuration.name]).config
    ranges.require_valid(config)
    built = PublishedCodes(config, PRETRAINED[config.encoder.pretrained], LABELS)
    assert sum(parameter.numel() for parameter in built.parameters()) == numbers
    assert (config.criterion, config.variant, config.encoder.dropout) == ("bits-published", "max", 0)
