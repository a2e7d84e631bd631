"""Wu and Tu (2023), appendix D.2: named entities by tags of BIOES, each word for itself."""

import math

import pytest
import torch

from strukt.data.constituents.binarisation import EMPTY
from strukt.data.vocabulary import Vocabulary
from strukt.tasks.common.spans.layer import GoldSpans
from strukt.tasks.ner.tag_spans import TagSpans


def test_words_are_projected_to_tags_of_bioes_without_a_crf():
    torch.manual_seed(0)
    layer = TagSpans(4, Vocabulary.labels([EMPTY, "LOC", "PER"]), "bioes", "softmax").double()
    assert layer.tags == ["O", *(f"{mark}-{kind}" for kind in ("LOC", "PER") for mark in "BIES")]
    torch.nn.init.normal_(layer.score.weight)
    words, lengths = torch.randn(2, 5, 4, dtype=torch.float64), [5, 3]
    gold = [["O", "B-PER", "I-PER", "E-PER", "S-LOC"], ["B-LOC", "E-LOC", "O"]]
    spans = GoldSpans(*torch.tensor([(0, 1, 4, 2), (0, 4, 5, 1), (1, 0, 2, 1)]).unbind(-1))
    weight, bias = layer.score.weight.tolist(), layer.score.bias.tolist()
    losses, best = [], []
    for sentence, tags, length in zip(words.tolist(), gold, lengths, strict=True):
        best.append([])
        for word, tag in zip(sentence[:length], tags, strict=True):
            products = [sum(w * x for w, x in zip(row, word, strict=True)) for row in weight]
            scores = [product + b for product, b in zip(products, bias, strict=True)]
            losses.append(math.log(sum(map(math.exp, scores))) - scores[layer.tags.index(tag)])
            best[-1].append(scores.index(max(scores)))
    found = layer.loss([words], spans, torch.tensor(lengths))
    assert found.item() == pytest.approx(sum(losses) / len(losses), rel=1e-5)
    modes = layer.distribution(words, torch.tensor(lengths)).mode
    assert [row[:length] for row, length in zip(modes.tolist(), lengths, strict=True)] == best
