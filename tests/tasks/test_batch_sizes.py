"""Batches of every task, in training, evaluation and prediction: bounded by what the encoder reads of them."""

import copy
import io
import warnings

import pytest
import torch
from tests import tiny_corpora
from tests.data import random_logical_forms

from strukt.data import conllu, labelled, listops, pairs
from strukt.data.list_expressions import expressions, parse
from strukt.tasks import classify, cogs, count, dictionary, lm, mlm, nli, sort
from strukt.tasks import listops as listops_task
from strukt.tasks.chunk_counter import ChunkCounter
from strukt.tasks.classifier import Classifier
from strukt.tasks.cogs_parser import SemanticParser
from strukt.tasks.constituency_parser import ConstituencyParser
from strukt.tasks.encoded_model import EncodedModel
from strukt.tasks.entailment_model import EntailmentModel
from strukt.tasks.entity_model import EntityModel
from strukt.tasks.language_model import LanguageModel
from strukt.tasks.list_model import ListModel
from strukt.tasks.masked_language_model import MaskedLanguageModel
from strukt.tasks.parser import Parser
from strukt.tasks.reverse_dictionary import ReverseDictionary
from strukt.tasks.sorter import Sorter
from strukt.tasks.structured_model import StructuredModel
from strukt.tasks.tagger import Tagger
from strukt.train.resume import Progress
from strukt.train.schedule import Batches

TOKENS = 60
TREES = tiny_corpora.trees(30)
URL = conllu.from_forms(["www." + "abcdefgh" * 4]).annotated(
    xpos=["NN"], upos=["X"], head=[0], deprel=["root"]
)
SHORT = [conllu.from_forms(["oh"]).annotated(xpos=["UH"], upos=["X"], head=[0], deprel=["root"])] * 20
LINES = "".join(f"{'good' if n % 2 else 'bad'}\t{'a very ' * (n % 7)}dull film\n" for n in range(30))
CLASSES = list(labelled.read(io.BytesIO(LINES.encode())))
OPPOSITES = "".join(
    f"{'a ' * (n % 9)}man\tso{'o' * (n % 4)} he\t{'no' if n % 2 else 'yes'}\n" for n in range(30)
)
PAIRS = list(pairs.read(io.BytesIO(OPPOSITES.encode())))
LISTS = "".join(f"{parse(text).value}\t{text}\n" for text in expressions(30, ["[MIN", "[MAX"], 4, 3, 12, 0))
NUMBERS = [conllu.from_forms(list("0110100110"[: 1 + n % 10])) for n in range(40)]
SIZES = {"states": 8, "rank": 4, "size": 8, "nonterminals": 4, "preterminals": 4, "context": 8}

ENCODED = {
    "tag": (Tagger, tiny_corpora.tag_config(), [*TREES, URL, *SHORT]),
    "dependency": (Parser, tiny_corpora.dependency_config(), [*TREES, URL, *SHORT]),
    "constituency": (ConstituencyParser, tiny_corpora.constituency_config(), tiny_corpora.phrases(30)),
    "ner": (EntityModel, tiny_corpora.ner_config(), tiny_corpora.nested(30)),
    "ner bits": (EntityModel, tiny_corpora.ner_config(criterion="bits"), tiny_corpora.nested(30)),
    "classify": (Classifier, tiny_corpora.small(classify.Config()), CLASSES),
    "dictionary": (ReverseDictionary, tiny_corpora.small(dictionary.Config()), CLASSES),
    "nli": (EntailmentModel, tiny_corpora.small(nli.Config(size=8)), PAIRS),
    "nli trees": (EntailmentModel, tiny_corpora.small(nli.Config(size=8, model="latent-tree")), PAIRS),
    "cogs": (
        SemanticParser,
        tiny_corpora.small(cogs.Config(hide=0.5)),
        random_logical_forms.read(random_logical_forms.lines(30, depth=1)),
    ),
    "listops": (
        ListModel,
        tiny_corpora.small(listops_task.Config(arc_size=8, size=8)),
        list(listops.read(io.BytesIO(LISTS.encode()))),
    ),
}
OTHERS = {
    "mlm": (MaskedLanguageModel, tiny_corpora.small(mlm.Config()), [*TREES, URL, *SHORT]),
    "sort": (Sorter, sort.Config(size=8), NUMBERS),
    "count": (ChunkCounter, count.Config(size=8), NUMBERS),
    "lm": (LanguageModel, lm.Config(model="lowrank-hmm", **SIZES), TREES),
    "lm stream": (LanguageModel, lm.Config(model="lstm", text="stream", **SIZES), TREES),
    "lm pcfg": (LanguageModel, lm.Config(model="pcfg", **SIZES), tiny_corpora.phrases(40)),
}
CASES = [*((task, "bilstm") for task in ENCODED | OTHERS), *((task, "pretrained") for task in ENCODED)]


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
    return inputs["pieces" if "pieces" in inputs else "words"].numel()


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


def test_nothing_is_lost_or_doubled_and_the_order_is_that_of_seed_and_epoch(case):
    model, sentences, _ = case
    orders = [epoch(model, sentences, number).order(number) for number in (0, 0, 1)]
    assert orders[0] == orders[1] != orders[2]
    for order in orders:
        assert sorted(index for batch in order for index in batch) == list(range(len(sentences)))
    assert list(epoch(model, sentences, 1, batch=2)) == list(epoch(model, sentences, 1))[2:]


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
