"""The loss of a batch is that of its parts, weighed by what it is a mean over."""

import pytest
import torch
from tests import tiny_corpora
from tests.tasks import test_classifier, test_cogs, test_sort_count

from strukt.tasks.chunk_counter import ChunkCounter
from strukt.tasks.classifier import Classifier
from strukt.tasks.cogs_parser import SemanticParser
from strukt.tasks.constituency_parser import ConstituencyParser
from strukt.tasks.entity_model import EntityModel
from strukt.tasks.parser import Parser
from strukt.tasks.sorter import Sorter
from strukt.tasks.tagger import Tagger


def cogs_config():
    config = test_cogs.config()
    config.average = "sentences"
    return config


CASES = {
    "parser": (Parser, tiny_corpora.dependency_config(), tiny_corpora.trees(9)),
    "tagger": (Tagger, tiny_corpora.tag_config(), tiny_corpora.trees(9)),
    "tagger by sentences": (Tagger, tiny_corpora.tag_config(average="sentences"), tiny_corpora.trees(9)),
    "classifier": (Classifier, test_classifier.config(), test_classifier.SENTENCES),
    "constituents": (ConstituencyParser, tiny_corpora.constituency_config(), tiny_corpora.phrases(8)),
    "entities by sentences": (
        EntityModel,
        tiny_corpora.ner_config(criterion="flat", average="sentences"),
        tiny_corpora.nested(8),
    ),
    "cogs": (SemanticParser, test_cogs.config(), test_cogs.SENTENCES),
    "cogs by sentences": (SemanticParser, cogs_config(), test_cogs.SENTENCES),
    "sort": (Sorter, test_sort_count.config("sort"), test_sort_count.corpus("sort", 8)),
    "count": (ChunkCounter, test_sort_count.config("count"), test_sort_count.corpus("count", 8)),
}


@pytest.mark.parametrize("case", CASES)
def test_the_loss_is_that_of_its_parts(case):
    kind, config, sentences = CASES[case]
    torch.manual_seed(0)
    model = kind.from_corpus(config, sentences).double().eval()
    parts = [sentences[:3], sentences[3:]]
    weights = [len(part) if model.mean_over == "sentences" else sum(map(len, part)) for part in parts]
    whole, *losses = (model.loss(model.collate(part)).item() for part in (sentences, *parts))
    mean = sum(weight * loss for weight, loss in zip(weights, losses, strict=True)) / sum(weights)
    assert whole == pytest.approx(mean, rel=1e-6)
