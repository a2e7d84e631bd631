"""The Transformers of Wu and Tu (2023), Tables 1 and 3, in their tasks: options, sizes, start and dropout."""

import dataclasses
import io

import pytest
import torch
from tests import tiny_corpora

from strukt.cli.configuration import parse
from strukt.configurations import configurations
from strukt.data import conllu
from strukt.data.classes import labelled
from strukt.errors import SettingError
from strukt.nn import PublishedTransformer
from strukt.tasks import classify, mlm
from strukt.tasks.classify.model import Classifier
from strukt.tasks.common.config import TaskConfig
from strukt.tasks.common.encoder.build import build_encoder, count_vocabularies
from strukt.tasks.common.encoder.config import EncoderConfig, MeanFieldConfig, TransformerConfig
from strukt.tasks.common.ranges import require_valid
from strukt.tasks.mlm.model import MaskedLanguageModel
from strukt.tasks.tag.model import Tagger

SENTENCES = tiny_corpora.trees(10)

POSITIONS = 512
NUMBERS = {
    "tag-ptb": POSITIONS * 512 + 5 * (4 * 14 * 32 * 512 + 2 * 2048 * 512 + 2048 + 512 + 4 * 512),
    "tag-ewt": 3_155_456,
    "ner-conll2003": POSITIONS * 256 + 3 * (4 * 16 * 16 * 256 + 2 * 512 * 256 + 512 + 256 + 4 * 256),
    "mlm-ptb": 23_809_408,
    "mlm-bllip": POSITIONS * 256 + 4 * (4 * 14 * 128 * 256 + 2 * 2048 * 256 + 2048 + 256 + 4 * 256),
    "classify-sst2": POSITIONS * 256 + 8 * (4 * 10 * 256 * 256 + 2 * 512 * 256 + 512 + 256 + 4 * 256),
    "classify-sst5": POSITIONS * 128 + 4 * (4 * 14 * 256 * 128 + 2 * 1024 * 128 + 1024 + 128 + 4 * 128),
    "cogs": 100_000 + 2 * 17 * 16,
}
"""Numbers of the encoder beside the vectors of words: positions, and of each layer four matrices for each head, a
feed-forward network of two with biases, and two norms; for COGS distances of keys (in 100,000) and of values."""


def encoder_of(name, *options):
    """The encoder of a shipped configuration, of four words."""
    shipped = configurations()[f"published/{name}-transformer"]
    config = parse(shipped.task, ["--config", shipped.name, *options]).config
    require_valid(config)
    return build_encoder(config.encoder, count_vocabularies(config.encoder, "abcC"), None)


def size(module):
    return sum(parameter.numel() for parameter in module.parameters())


@pytest.mark.parametrize("name", NUMBERS)
def test_numbers_of_published_transformers(name):
    encoder = encoder_of(name)
    words = encoder.embeddings.words
    assert words.num_embeddings == 4 + 2  # padding, which is never read, and the unknown word
    assert size(encoder) == size(words) + size(encoder.context) == size(words) + NUMBERS[name]


def test_the_transformer_of_cogs_may_have_distances_of_keys_alone():
    assert size(encoder_of("cogs", "--encoder.transformer.distance_values=false").context) == 100_000


def published(**options):
    transformer = TransformerConfig(published=True)
    return EncoderConfig(**{"kind": "transformer", "hidden": 4, "heads": 2, "transformer": transformer} | options)


def test_the_published_transformer_is_one_option():
    encoder = published()
    of_words = {"characters": "none", "affixes": 0, "normalise": False, "word_dropout": 0.0}
    expected = EncoderConfig("transformer", hidden=4, heads=2, words=8, minimum_count=1, **of_words)
    expected.transformer = TransformerConfig(published=True, norm_first=False)
    assert encoder == expected
    assert dataclasses.replace(encoder) == encoder
    assert encoder.outer_dropout == 0.0
    require_valid(TaskConfig(encoder=encoder))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"words": 9}, "--encoder.words is 9; --encoder.transformer.published true sets it to 8"),
        ({"kind": "bilstm"}, "--encoder.transformer.published is True, .* needs --encoder.kind transformer"),
    ],
)
def test_the_published_transformer_has_no_options_of_ours(options, message):
    with pytest.raises(SettingError, match=message):
        require_valid(TaskConfig(encoder=published(**options)))


@pytest.mark.parametrize("kind", ["transformer", "pt"])
def test_published_encoders_know_all_words_or_those_that_are_frequent(kind):
    given = {"transformer": TransformerConfig(), "pt": MeanFieldConfig(published=True)} if kind == "pt" else {}
    assert published(kind=kind, **given).minimum_count == 1
    frequent = published(kind=kind, minimum_count=3, **given)
    require_valid(TaskConfig(encoder=frequent))
    assert frequent.minimum_count == 3


def test_a_published_transformer_normalises_behind_and_nothing_else_can_be_chosen():
    encoder = published()
    encoder.transformer.norm_first = True
    with pytest.raises(SettingError, match=r"norm_first is True; .*transformer.published true sets it to False"):
        require_valid(TaskConfig(encoder=encoder))


def test_a_task_has_no_dropout_around_the_published_transformer():
    config = tiny_corpora.tag_config()
    config.encoder = published(dropout=0.5)
    model = Tagger.from_corpus(config, SENTENCES).train()
    batch = model.collate(list(SENTENCES))
    assert model.loss(batch) != model.loss(batch)
    model.encoder.context.eval()
    training = model.loss(batch)
    torch.testing.assert_close(model.eval().loss(batch), training)


def test_words_of_taggers_start_alike_and_those_of_masked_language_models_do_not():
    """Xavier uniform, a range of sqrt(6 / (words + size)); and standard normal."""
    torch.manual_seed(0)
    sentences = [conllu.from_forms([str(number) for number in range(198)])]
    encoder = build_encoder(published(hidden=50), count_vocabularies(published(), sentences[0].forms), None)
    bound = (6 / (200 + 100)) ** 0.5
    assert encoder.embeddings.words.weight.abs().max().item() == pytest.approx(bound, rel=0.01)
    config = mlm.Config(word_scores="direct", encoder=published(hidden=50))
    model = MaskedLanguageModel.from_corpus(config, sentences)
    assert model.encoder.embeddings.words.weight[1:].std().item() == pytest.approx(1.0, rel=0.02)


@pytest.mark.parametrize("kind", ["pt", "transformer", "bilstm"])
def test_the_matrix_of_a_published_classifier_starts_uniform_by_xavier(kind):
    torch.manual_seed(0)
    parts = {"pt": {"pt": MeanFieldConfig(published=True)}, "bilstm": {"transformer": TransformerConfig()}}
    config = classify.Config(encoder=published(kind=kind, hidden=100, **parts.get(kind, {})))
    sentences = list(labelled.read(io.BytesIO(b"yes\ta b\nno\tb a\n")))
    weight = Classifier.from_corpus(config, sentences).score.weight
    bound = 200**-0.5 if kind == "bilstm" else (6 / (200 + 2)) ** 0.5
    assert weight.abs().max().item() == pytest.approx(bound, rel=0.03)


def test_hidden_words_are_scored_by_products_with_their_vectors():
    torch.manual_seed(0)
    config = mlm.Config(word_scores="direct", encoder=published())
    model = MaskedLanguageModel.from_corpus(config, SENTENCES).eval()
    assert isinstance(model.encoder.context, PublishedTransformer)
    assert size(model) == size(model.encoder) + len(model.words)
    x = torch.randn(8)
    rows = model.encoder.embeddings.words.weight.tolist()
    expected = [
        sum(a * b for a, b in zip(row, x.tolist(), strict=True)) + bias
        for row, bias in zip(rows, model.bias.tolist(), strict=True)
    ]
    torch.testing.assert_close(model._scores(x), torch.tensor(expected))
