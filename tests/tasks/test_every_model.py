"""What models of all tasks keep: sentences do not touch each other in batches, and a saved model says the same."""

import re
import warnings

import pytest
import torch
from tests import tiny_corpora
from tests.tiny_models import CLASSES, ENCODED, OTHERS, PAIRS, TREES

from strukt.errors import DataError
from strukt.tasks import classify, nli
from strukt.tasks.classify.model import Classifier
from strukt.tasks.constituency.model import ConstituencyParser
from strukt.tasks.lm.model import LanguageModel
from strukt.tasks.ner.model import EntityModel
from strukt.tasks.nli.model import EntailmentModel
from strukt.tasks.tag.model import Tagger
from strukt.train import saved_model

PHRASES, NESTED = tiny_corpora.phrases(12), tiny_corpora.nested(12)

MORE = {
    "tag crf": (Tagger, tiny_corpora.tag_config(criterion="crf"), TREES),
    "constituency bits": (ConstituencyParser, tiny_corpora.constituency_config(criterion="bits"), PHRASES),
    "constituency published": (
        ConstituencyParser, tiny_corpora.constituency_config(criterion="bits-published"), PHRASES
    ),
    "ner flat": (EntityModel, tiny_corpora.ner_config(criterion="flat"), NESTED),
    "classify trees": (Classifier, tiny_corpora.small(classify.Config(model="latent-tree")), CLASSES),
    "nli crf": (EntailmentModel, tiny_corpora.small(nli.Config(size=8, attention="crf")), PAIRS),
}  # fmt: skip
MODELS = ENCODED | OTHERS | MORE
NUMBER = re.compile(r"\d+\.\d+")


@pytest.fixture(scope="module", params=MODELS)
def case(request):
    """A model with random weights that are far from 0, and some sentences."""
    kind, config, sentences = MODELS[request.param]
    torch.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a grammar leaves sentences of one word out
        trainable = list(kind.trainable(config, sentences))
    model = kind.from_corpus(config, trainable)
    for module in model.modules():
        for parameter in module.parameters(recurse=False):
            if parameter.requires_grad and parameter.dim() > 1:
                torch.nn.init.normal_(parameter)
        if isinstance(module, torch.nn.Embedding) and module.padding_idx is not None:
            torch.nn.init.zeros_(module.weight[module.padding_idx])
    model.calibrate(trainable)
    return model.eval(), trainable[:12]


def test_a_batch_gives_the_predictions_of_its_items(case):
    model, sentences = case
    together = list(map(str, model.predict(sentences)))
    apart = [str(next(iter(model.predict([sentence])))) for sentence in sentences]
    assert len(set(together)) > 4
    assert [NUMBER.sub("#", text) for text in together] == [NUMBER.sub("#", text) for text in apart]
    numbers = [[float(number) for text in texts for number in NUMBER.findall(text)] for texts in (together, apart)]
    assert numbers[0] == pytest.approx(numbers[1], abs=1e-3)


def test_a_saved_model_predicts_the_same(case, tmp_path):
    model, sentences = case
    saved_model.save(model, tmp_path / "model")
    loaded = saved_model.load(tmp_path / "model")
    assert loaded.config == model.config
    assert list(map(str, loaded.predict(sentences))) == list(map(str, model.predict(sentences)))
    assert list(loaded.diagrams(sentences, True)) == list(model.diagrams(sentences, True))


@pytest.mark.parametrize(
    "name", [name for name, (kind, _, _) in MODELS.items() if not issubclass(kind, LanguageModel)]
)
def test_no_model_is_built_from_an_empty_corpus(name):
    kind, config, _ = MODELS[name]
    with pytest.raises(DataError, match="holds no sentence to train on"):
        kind.from_corpus(config, [])


@pytest.mark.parametrize("kind", [Classifier, EntailmentModel])
def test_sentences_without_a_class_name_the_format_that_has_one(kind):
    with pytest.raises(DataError, match="this task needs a file of sentences with classes"):
        kind.labels_of(None, TREES)
