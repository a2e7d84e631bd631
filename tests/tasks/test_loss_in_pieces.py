"""The loss of a batch is that of its parts, weighted by what it is a mean over."""

import pytest
import torch
from tests import tiny_corpora
from tests.tasks.classify import test_model as classification
from tests.tasks.cogs import test_model as semantic_parsing
from tests.tasks.common.numbers import test_model as numbers
from tests.tasks.listops import test_model as expressions
from tests.tasks.lm import test_model as texts

from strukt.tasks.classify.model import Classifier
from strukt.tasks.cogs.model import SemanticParser
from strukt.tasks.constituency.model import ConstituencyParser
from strukt.tasks.count.model import ChunkCounter
from strukt.tasks.dependency.model import Parser
from strukt.tasks.listops.model import ListModel
from strukt.tasks.lm.model import LanguageModel
from strukt.tasks.ner.model import EntityModel
from strukt.tasks.sort.model import Sorter
from strukt.tasks.tag.model import Tagger


def cogs_config():
    config = semantic_parsing.config()
    config.average = "sentences"
    return config


CASES = {
    "parser": (Parser, tiny_corpora.dependency_config(), tiny_corpora.trees(9)),
    "tagger": (Tagger, tiny_corpora.tag_config(), tiny_corpora.trees(9)),
    "tagger by sentences": (Tagger, tiny_corpora.tag_config(average="sentences"), tiny_corpora.trees(9)),
    "classifier": (Classifier, classification.config(), classification.SENTENCES),
    "constituents": (ConstituencyParser, tiny_corpora.constituency_config(), tiny_corpora.phrases(8)),
    "entities by sentences": (
        EntityModel,
        tiny_corpora.ner_config(criterion="flat", average="sentences"),
        tiny_corpora.nested(8),
    ),
    "cogs": (SemanticParser, semantic_parsing.config(), semantic_parsing.SENTENCES),
    "cogs by sentences": (SemanticParser, cogs_config(), semantic_parsing.SENTENCES),
    "sort": (Sorter, numbers.config("sort"), numbers.corpus("sort", 8)),
    "values": (
        ListModel,
        expressions.config(target="value", structure="flat", reads="words"),
        expressions.SENTENCES[:8],
    ),
    "texts": (LanguageModel, texts.config("lstm"), texts.SENTENCES[:8]),
    "grammar": (LanguageModel, texts.config("pcfg"), texts.SENTENCES[:8]),
    "count": (ChunkCounter, numbers.config("count"), numbers.corpus("count", 8)),
}


@pytest.mark.parametrize("case", CASES)
def test_the_loss_is_that_of_its_parts(case):
    kind, config, sentences = CASES[case]
    torch.manual_seed(0)
    model = kind.from_corpus(config, sentences).double().eval()
    parts = [sentences[:3], sentences[3:]]
    weights = list(map(model.weight, parts))
    whole, *losses = (model.loss(model.collate(part)).item() for part in (sentences, *parts))
    mean = sum(weight * loss for weight, loss in zip(weights, losses, strict=True)) / sum(weights)
    assert whole == pytest.approx(mean, rel=1e-6)
