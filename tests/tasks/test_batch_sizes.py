"""Batches of every task, in training, evaluation and prediction: bounded by what the encoder reads of them."""

import copy
import warnings

import pytest
import torch
from tests import tiny_corpora
from tests.tiny_models import ENCODED, OTHERS, SHORT, TREES, URL

from strukt.tasks.common.encoded_model import EncodedModel
from strukt.tasks.common.structured_model import StructuredModel
from strukt.tasks.lm.model import LanguageModel
from strukt.tasks.nli.model import EntailmentModel
from strukt.tasks.tag.model import Tagger
from strukt.train.batch_order import Batches
from strukt.train.checkpoints import Progress

TOKENS = 60
CASES = [
    *((task, "bilstm") for task in ENCODED | OTHERS),
    *(
        pytest.param((task, "pretrained"), marks=() if task == "tag" else pytest.mark.slow)
        for task in ENCODED
    ),
]


@pytest.fixture(scope="module")
def pretrained(tmp_path_factory):
    pytest.importorskip("transformers")
    from tests import tiny_pretrained

    folder = tmp_path_factory.mktemp("bert")
    tiny_pretrained.save("bert", folder)
    return str(folder)


@pytest.fixture(params=CASES, ids="-".join)
def case(request):
    """A model and its sentences."""
    task, kind = request.param
    model_class, config, sentences = (ENCODED | OTHERS)[task]
    config = copy.deepcopy(config)
    config.trainer.tokens = TOKENS
    if task != "mlm" and task in ENCODED:
        config.encoder.kind = kind
    if kind == "pretrained":
        config.encoder.pretrained = request.getfixturevalue("pretrained")
    torch.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a grammar leaves sentences of one word out
        trainable = list(model_class.trainable(config, sentences))
    model = model_class.from_corpus(config, trainable)
    return model, trainable, sentences


def padded(inputs):
    return next(inputs[name] for name in ("pieces", "form", "words") if name in inputs).numel()


def fits(size, sentences):
    return size <= TOKENS or sentences == 1


def epoch(model, sentences, number, batch=0):
    place = Progress(epoch=number, batch=batch)
    return Batches(sentences, model.sizes(sentences), model.config.trainer, place)


def test_every_batch_of_an_epoch_is_within_the_bound_and_none_is_larger_than_was_counted(case):
    model, sentences, _ = case
    size_of = dict(zip(map(id, sentences), model.sizes(sentences), strict=True))
    for batch in epoch(model, sentences, 0):
        size = padded(model.collate(batch).inputs)
        assert fits(size, len(batch))
        assert size <= len(batch) * max(size_of[id(sentence)] for sentence in batch)


def test_one_sentence_is_as_large_as_was_counted(case):
    model, sentences, _ = case
    model.eval()  # nothing is hidden
    for sentence, size in zip(sentences, model.sizes(sentences), strict=True):
        assert padded(model.collate([sentence]).inputs) == size


def test_evaluation_and_prediction_keep_the_bound(case):
    """What is read is noted on its way into the encoder, or out of `collate` where there is none."""
    model, _, sentences = case
    model.calibrate(sentences)
    noted = []
    if isinstance(model, EncodedModel):
        rows = 2 if isinstance(model, EntailmentModel) else 1
        model.encoder.register_forward_pre_hook(
            lambda _, args: noted.append((padded(args[0]), len(args[1]) // rows))
        )
    else:
        collate = model.collate
        model.collate = lambda group: note(noted, collate(group))
    model.measure(sentences)
    annotates = not isinstance(model, LanguageModel) or model.config.model != "pcfg"
    assert len(list(model.predict(sentences))) == len(sentences) or not annotates
    assert len(list(model.diagrams(sentences))) == len(sentences)
    if isinstance(model, StructuredModel) and model.few is not None:
        assert len(model.ambiguous(sentences, 3)) == 3
        model.structures(sentences[0])
    assert noted
    assert all(fits(size, count) for size, count in noted), noted


def note(noted, batch):
    noted.append((padded(batch.inputs), len(batch.sentences)))
    return batch


def test_a_sentence_longer_than_the_bound_is_read_alone(pretrained):
    config = tiny_corpora.tag_config()
    config.encoder.kind, config.encoder.pretrained, config.trainer.tokens = "pretrained", pretrained, TOKENS
    sentences = [*TREES, URL, *SHORT]
    model = Tagger.from_corpus(config, sentences)
    [size] = model.sizes([URL])
    assert size > TOKENS
    assert [batch for batch in epoch(model, sentences, 0) if URL in batch] == [[URL]]
    assert len(list(model.predict(sentences))) == len(sentences)
