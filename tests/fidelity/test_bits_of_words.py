"""Binary codes of words (Wang et al. 2023, as section 2.2 of Wang and Utiyama 2024 has it): equations 4 to 8."""

import math

import pytest
import torch
from tests import tiny_corpora
from tests.fidelity.test_bits import loss_of_one

from strukt.nn import HashLayer
from strukt.tasks.tag.model import Tagger
from strukt.tasks.tag.token_codes import code_loss

SIZE, BITS, LENGTHS = 5, 3, [4, 2]
SENTENCES = tiny_corpora.trees(5)


def normal(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def head_scores(hash_layer, h, k):
    """Equation 4 for one sentence and one head."""
    size = math.ceil(SIZE / BITS)
    query, key = hash_layer.query[k], hash_layer.key[k]
    return [[(query @ left) @ (key @ right) / math.sqrt(size) for right in h] for left in h]


def normed(x, norm):
    deviation = x - x.mean()
    return norm.weight * deviation / (deviation.pow(2).mean() + norm.eps).sqrt() + norm.bias


def gelu(x):
    return x * (1 + torch.erf(x / math.sqrt(2))) / 2


def test_one_head_is_one_bit():
    """Equation 5, the attention, goes into the vectors; the diagonal of its scores into codes (6 and 7)."""
    torch.manual_seed(0)
    layer, words = HashLayer(SIZE, BITS).double(), normal(2, 4, SIZE)
    vectors, bits = layer(words, torch.tensor(LENGTHS))
    head = math.ceil(SIZE / BITS)
    for item, length in enumerate(LENGTHS):
        h = list(words[item, :length])
        scores = [head_scores(layer.hash, h, k) for k in range(BITS)]
        values = [layer.value.weight @ each + layer.value.bias for each in h]
        for i in range(length):
            mixed = []
            for k in range(BITS):
                weights = [score.exp() for score in scores[k][i]]
                mine = [value[k * head : (k + 1) * head] for value in values]
                mixed.append(sum(w / sum(weights) * v for w, v in zip(weights, mine, strict=True)))
                torch.testing.assert_close(bits[item, i, k], scores[k][i][i], rtol=1e-12, atol=1e-12)
            attended = layer.output.weight @ torch.cat(mixed) + layer.output.bias
            middle = normed(h[i] + attended, layer.attention_norm)
            first, _, second = layer.feed_forward
            hidden = second.weight @ gelu(first.weight @ middle + first.bias) + second.bias
            expected = normed(middle + hidden, layer.feed_forward_norm)
            torch.testing.assert_close(vectors[item, i], expected, rtol=1e-10, atol=1e-12)


def cosine(scores, code):
    """Equation 8."""
    product = sum(s * c for s, c in zip(scores, code, strict=True))
    return product / (scores.pow(2).sum().sqrt() * math.sqrt(len(code)))


def dense_loss(variant, first, second, alike):
    total = 0.0
    for mine, other in ((first, second), (second, first)):
        codes = [[1 if s > 0 else -1 for s in scores] for scores in other]
        for i, scores in enumerate(mine):
            similar = [cosine(scores, code) for code in codes]
            total = total + loss_of_one(variant, i, similar, alike)
    return total / len(alike)


@pytest.mark.parametrize("variant", ["self", "sup", "hash", "max"])
def test_words_are_compared_by_the_cosine_of_scores_and_codes(variant):
    first, second = normal(7, BITS, seed=1).requires_grad_(), normal(7, BITS, seed=2).requires_grad_()
    alike = [0, 1, 0, 2, 1, 0, 3]
    found = code_loss(first, second, torch.tensor(alike), variant)
    expected = dense_loss(variant, first, second, alike)
    torch.testing.assert_close(found, expected, rtol=1e-12, atol=1e-12)
    gradients = [torch.autograd.grad(loss, (first, second)) for loss in (found, expected)]
    torch.testing.assert_close(*gradients, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("code_labels", ["words", "tags"])
def test_the_loss_of_tags_and_that_of_codes_are_added(code_labels):
    config = tiny_corpora.tag_config(criterion="bits", bits=4, code_labels=code_labels, code_weight=0.7)
    torch.manual_seed(0)
    model = Tagger.from_corpus(config, SENTENCES).double().eval()
    batch = model.collate(SENTENCES)
    words, lengths = model.encoder(batch.inputs, batch.lengths), batch.lengths.tolist()
    vectors, bits = model.codes.layer(words, batch.lengths)
    rows, task, alike = [], [], []
    for item, (sentence, length) in enumerate(zip(SENTENCES, lengths, strict=True)):
        for i in range(length):
            scores = model.score.weight @ vectors[item, i] + model.score.bias
            tag = model.vocabularies["labels"].index(sentence.column("xpos")[i])
            task.append(scores.exp().sum().log() - scores[tag])
            alike.append(sentence.forms[i] if code_labels == "words" else tag)
            rows.append(bits[item, i])
    assert len({*alike}) < len(alike), "some words are alike"
    expected = sum(task) / len(task) + 0.7 * dense_loss("hash", rows, rows, alike)
    torch.testing.assert_close(model.loss(batch), expected, rtol=1e-10, atol=1e-12)
