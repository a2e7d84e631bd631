"""The options that `--encoder.pt.published true` sets, and the sizes of the configurations that are shipped."""

from __future__ import annotations

import dataclasses

import pytest
import torch
from tests import tiny_corpora
from tests.fidelity.dense_probabilistic_transformer import Model, mean_field
from tests.fidelity.masks import Masks

from strukt.cli.configuration import parse
from strukt.configurations import configurations
from strukt.errors import SettingError
from strukt.nn import ProbabilisticTransformer, Updates
from strukt.tasks.common.config import OptimizerConfig, TaskConfig
from strukt.tasks.common.encoder.build import build_encoder, count_vocabularies
from strukt.tasks.common.encoder.config import EncoderConfig, MeanFieldConfig
from strukt.tasks.common.ranges import require_valid
from strukt.tasks.tag.model import Tagger
from strukt.train.training import Training

SENTENCES = tiny_corpora.trees(10)

NUMBERS = {
    "cogs": 147_456,
    "mlm-ptb": 6_291_456,
    "mlm-bllip": 6_291_456,
    "tag-ptb": 3_145_728,
    "tag-ewt": 2_359_296,
    "ner-conll2003": 9_437_184,
    "classify-sst2": 5_242_880 + 512 * 1024 * 10,
    "classify-sst5": 271_360 + 256 * 512 * 18,
}
"""Numbers of the encoder beside the table of label scores: 2g + 2 tables, and those of a root."""


@pytest.mark.parametrize("name", NUMBERS)
def test_numbers_of_published_models(name):
    """Beside a score for each word and label, the encoder has the ternary scores and nothing else."""
    shipped = configurations()[f"published/{name}"]
    config = parse(shipped.task, ["--config", shipped.name]).config
    require_valid(config)
    vocabularies = count_vocabularies(config.encoder, ["a", "b", "c", "C"])
    encoder = build_encoder(config.encoder, vocabularies, None)
    table = len(vocabularies["words"]) * 2 * config.encoder.hidden
    assert len(vocabularies["words"]) == 4 + 2  # padding, which is never read, and the unknown word
    assert sum(parameter.numel() for parameter in encoder.parameters()) == table + NUMBERS[name]


def published(**options):
    return EncoderConfig(kind="pt", hidden=4, heads=2, layers=2, **options)


def test_the_published_model_is_one_option():
    encoder = published(pt=MeanFieldConfig(published=True))
    expected = published(words=8, characters="none", affixes=0, normalise=False, word_dropout=0.0)
    expected.minimum_count, expected.pt = 1, MeanFieldConfig(True, "table", "updates")
    assert encoder == expected
    assert dataclasses.replace(encoder) == encoder
    require_valid(TaskConfig(encoder=encoder))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"words": 9}, "--encoder.words is 9; --encoder.pt.published true sets it to 8"),
        ({"characters": "lstm"}, "--encoder.characters is lstm; .* sets it to none"),
        ({"pt": MeanFieldConfig(published=True, shared=True)}, "--encoder.pt.shared is True; .* to False"),
        (
            {"pt": MeanFieldConfig(published=True, decomposition="weighted")},
            "weighted is not published; choose full, uv or uvw",
        ),
        (
            {"pt": MeanFieldConfig(published=True, decomposition="biased")},
            "biased is not published; choose full, uv or uvw",
        ),
    ],
)
def test_the_published_model_has_no_options_of_ours(options, message):
    with pytest.raises(SettingError, match=message):
        require_valid(TaskConfig(encoder=published(**({"pt": MeanFieldConfig(published=True)} | options))))


@pytest.mark.parametrize("options", [{}, {"label_damping": 0.3, "head_damping": 0.2}])
def test_dropout_acts_on_heads_and_label_scores(options):
    """Dropout of the probabilities of heads, and of the scores of words and of the root after each update."""
    torch.manual_seed(0)
    layer = ProbabilisticTransformer(4, 2, 2, 3, root_labels=3, updates=Updates(**options)).double()
    layer.dropout = Masks()
    s = torch.randn(5, 4, dtype=torch.float64)
    out = layer(s[None])
    t = torch.einsum("afcl,bfcl->fcab", layer.ternary.left, layer.ternary.right)
    model = Model(t, 3, 2, root=layer.root.table)
    model.beta_z, model.beta_h = options.get("label_damping", 0.0), options.get("head_damping", 0.0)
    model.dropout = [mask[0] for mask in layer.dropout.drawn]
    expected = mean_field(model, s)
    assert len(layer.dropout.drawn) == 2 * 3
    torch.testing.assert_close(out.scores[0], expected["scores"])
    torch.testing.assert_close(out.root_scores[0], expected["root_scores"])


def test_dropout_acts_nowhere_else():
    """Without that in mean field, a published tagger scores in training as it does in prediction."""
    config = tiny_corpora.tag_config()
    config.encoder = published(pt=MeanFieldConfig(published=True), dropout=0.5)
    model = Tagger.from_corpus(config, SENTENCES).train()
    batch = model.collate(list(SENTENCES))
    assert model.loss(batch) != model.loss(batch)
    model.encoder.context.mean_field.dropout.p = 0.0
    training = model.loss(batch)
    torch.testing.assert_close(model.eval().loss(batch), training)


@pytest.mark.parametrize("decomposition", ["full", "uv", "uvw"])
def test_the_regulariser_is_the_norm_of_all_scores(decomposition):
    """lambda |T|, of T from its factors; the root's scores are not in it, as in the published settings."""
    torch.manual_seed(0)
    layer = ProbabilisticTransformer(4, 2, 1, 3, decomposition=decomposition, root_labels=2).double()
    names = {"full": "table", "uv": "left right", "uvw": "left right weights"}[decomposition].split()
    formula = {"full": "afcb->fcab", "uv": "afcl,bfcl->fcab", "uvw": "afxl,bfxl,fcl->fcab"}[decomposition]
    parts = [getattr(layer.ternary, name) for name in names]
    squares = sum(value**2 for value in torch.einsum(formula, *parts).flatten())
    torch.testing.assert_close(layer.norm(), squares**0.5)
    torch.testing.assert_close(layer.penalty(), squares)
    expected = torch.autograd.grad(squares**0.5, parts)
    for name, gradient in zip(names, expected, strict=True):
        found = torch.autograd.grad(layer.norm(), getattr(layer.ternary, name))[0]
        torch.testing.assert_close(found, gradient)


def test_the_regulariser_of_a_new_model_of_words():
    """8 x 16 x 384^2 numbers of deviation 1/8: 0.27 at the start of MLM on PTB, where the square would be 147."""
    torch.manual_seed(0)
    layer = ProbabilisticTransformer(384, 16, 1, 64)
    with torch.no_grad():
        assert 5e-4 * layer.norm().item() == pytest.approx(0.2715, rel=0.01)
        assert 5e-4 * layer.penalty().item() == pytest.approx(147.5, rel=0.02)


def test_the_loss_has_the_norm_or_the_squares():
    config = tiny_corpora.tag_config()
    config.encoder = published(pt=MeanFieldConfig(published=True, penalty=0.5))
    model = Tagger.from_corpus(config, SENTENCES)
    torch.testing.assert_close(model.penalty(), 0.5 * model.encoder.context.mean_field.norm())
    config.encoder = published(pt=MeanFieldConfig(penalty=0.5, penalised="squares"))
    model = Tagger.from_corpus(config, SENTENCES)
    torch.testing.assert_close(model.penalty(), 0.5 * model.encoder.context.mean_field.penalty())


def test_adam_with_l2():
    """Kingma and Ba (2015) with the gradient of weight decay in that of the loss, unlike AdamW."""
    config = tiny_corpora.tag_config()
    config.optimizer = OptimizerConfig(kind="adam", learning_rate=0.1, beta2=0.999, weight_decay=0.3)
    model = Tagger.from_corpus(config, SENTENCES)
    optimizer = Training(model, SENTENCES).configure_optimizers()
    weight = next(iter(model.parameters()))
    x = weight.detach().double().clone()
    m, v = torch.zeros_like(x), torch.zeros_like(x)
    for step in range(1, 4):
        weight.grad = torch.full_like(weight, 0.1 * step)
        optimizer.step()
        gradient = 0.1 * step + 0.3 * x
        m, v = 0.9 * m + 0.1 * gradient, 0.999 * v + 0.001 * gradient**2
        x -= 0.1 * (m / (1 - 0.9**step)) / ((v / (1 - 0.999**step)).sqrt() + 1e-8)
    torch.testing.assert_close(weight.detach().double(), x, rtol=1e-4, atol=1e-5)


def test_the_rate_is_constant_and_halved_after_5_epochs_without_gain():
    config = tiny_corpora.tag_config()
    config.optimizer = OptimizerConfig(schedule="halving")
    training = Training(Tagger.from_corpus(config, SENTENCES), SENTENCES)
    rates = []
    accuracies = [50, 60, 60, 55, 59, 58, 57, 61, 60, 60, 60, 60, 60, 60, 60, 60, 60, 60]
    for epoch, accuracy in enumerate(accuracies, start=1):
        rates.append(training.rate())
        training.progress.history.append({"epoch": epoch, "accuracy": accuracy})
    assert rates == [1.0] * 7 + [0.5] * 6 + [0.25] * 5
