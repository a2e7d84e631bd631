"""Wu and Tu (2023), appendix D.4: COGS by tags, and three ways to predict parents."""

import math
from pathlib import Path

import pytest
import torch

from strukt.data.logical_forms import cogs
from strukt.tasks.cogs.parent_attention import ParentAttention

COGS = Path(__file__).parents[3] / "shared" / "data" / "cogs"


def in_published_scheme(name):
    """The sentences of a file of COGS; all must be expressed, and come back as they were."""
    if not COGS.is_dir():
        pytest.skip("the corpus of COGS is not here")
    sentences = [sentence.in_scheme("published") for sentence in cogs.read(COGS / f"{name}.tsv.gz")]
    assert [str(sentence) for sentence in sentences if sentence.tags is None] == []
    return sentences


@pytest.mark.parametrize("name", ["dev", "test"])
def test_published_tags_say_all_of_cogs(name):
    assert len(in_published_scheme(name)) == 3000


@pytest.mark.slow
def test_what_of_the_generalisation_set_the_training_set_cannot_show():
    train, gen = in_published_scheme("train"), in_published_scheme("gen")
    assert len(train) == 24155

    def values(sentence):
        return set(zip(sentence.tags.parent, sentence.tags.role, sentence.tags.category, strict=True))

    triples = set().union(*map(values, train))
    offsets = {offset for offset, _, _ in triples}
    unseen_offset = [sentence for sentence in gen if not offsets.issuperset(sentence.tags.parent)]
    unseen = [sentence for sentence in gen if not values(sentence) <= triples]
    rest = [sentence for sentence in gen if values(sentence) <= triples and sentence.case != "prim_to_inf_arg"]
    assert (len(gen), len(unseen_offset), len(unseen)) == (21000, 1176, 2044)
    assert round(100 * len(rest) / len(gen), 1) == 85.5


def test_parents_by_attention_are_chosen_by_one_scaled_head():
    torch.manual_seed(0)
    layer = ParentAttention(4).double()
    words, lengths = torch.randn(2, 5, 4, dtype=torch.float64), [5, 3]
    query, key = layer.query.weight.tolist(), layer.key.weight.tolist()
    query_bias, key_bias = layer.query.bias.tolist(), layer.key.bias.tolist()
    found = layer(words, torch.tensor(lengths)).softmax(-1)

    def projected(word, weight, bias):
        products = [sum(w * x for w, x in zip(row, word, strict=True)) for row in weight]
        return [product + b for product, b in zip(products, bias, strict=True)]

    for item, length in enumerate(lengths):
        keys = [projected(word, key, key_bias) for word in words[item, :length].tolist()]
        for place in range(length):
            asked = projected(words[item, place].tolist(), query, query_bias)
            scores = [sum(q * k for q, k in zip(asked, of_word, strict=True)) / math.sqrt(4) for of_word in keys]
            total = sum(math.exp(score) for score in scores)
            expected = [math.exp(score) / total for score in scores] + [0.0] * (5 - length)
            assert found[item, place].tolist() == pytest.approx(expected, rel=1e-5)
