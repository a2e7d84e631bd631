"""The task lm: what is learned, how it is measured, and what else it can be asked."""

import math

import pytest
import torch
from tests import tiny_corpora
from tests.tasks import learning

from strukt.data import conllu
from strukt.errors import SettingError
from strukt.tasks.config import OptimizerConfig, TrainerConfig
from strukt.tasks.language_model import END, LanguageModel
from strukt.tasks.lm import Config

KINDS = ["lowrank-hmm", "hmm", "lstm", "ngram"]
SENTENCES = tiny_corpora.trees(40)


def config(model, **options):
    return Config(
        model=model,
        optimizer=OptimizerConfig(averaging=0),
        trainer=TrainerConfig(epochs=1, tokens=80),
        **{"states": 16, "rank": 6, "size": 16, "order": 3, "context": 8, "dropout": 0.1} | options,
    )


def trained(kind, **options):
    if kind == "ngram":
        sentences = LanguageModel.trainable(config(kind, **options), SENTENCES)
        model = LanguageModel.from_corpus(config(kind, **options), sentences)
        model.calibrate(sentences)
        return model.eval()
    return learning.learned(LanguageModel, config(kind, **options), SENTENCES, steps=60, rate=2e-2)[0]


@pytest.fixture(scope="module", params=KINDS)
def model(request):
    return trained(request.param)


def test_it_learns(model):
    words = {form for sentence in SENTENCES for form in sentence.forms}
    assert model.evaluate(SENTENCES)["perplexity"] < len(words) / 2


def test_perplexity_is_that_of_words_and_ends(model):
    text, total, count = model.text(), 0.0, 0
    for sentence in SENTENCES:
        numbers = torch.tensor([model.words.indices([*sentence.forms, END])])
        total += float(text.word_log_probs(numbers, torch.tensor([numbers.shape[1]])).sum())
        count += numbers.shape[1]
    scores = model.evaluate(SENTENCES)
    assert scores["perplexity"] == pytest.approx(math.exp(-total / count), rel=1e-4)
    assert scores["bits"] == pytest.approx(-total / count / math.log(2), rel=1e-4)
    assert scores["unknown"] == 0
    assert model.quality({"perplexity": 3.0}) > model.quality({"perplexity": 4.0})


def test_unknown_words_are_counted(model):
    strange = conllu.from_forms(["the", "gnu"])
    assert model.evaluate([strange])["unknown"] == pytest.approx(100 / 3)


@pytest.mark.parametrize("kind", KINDS)
def test_a_stream_is_learned_and_measured_in_pieces(kind):
    options = config(kind, text="stream")
    pieces = LanguageModel.trainable(options, SENTENCES)
    words = [form for sentence in SENTENCES for form in [*sentence.forms, END]]
    assert [form for piece in pieces for form in piece.forms] == words
    assert {len(piece) for piece in pieces[:-1]} == {8}
    model = trained(kind, text="stream")
    model.config.trainer.tokens = 8  # one stream at a time, so that there is but one beginning
    numbers = torch.tensor([model.words.indices(words)])
    whole = float(model.text().stream(numbers, torch.tensor([len(words)]))[0])
    assert model.evaluate(SENTENCES)["perplexity"] == pytest.approx(math.exp(-whole / len(words)), rel=1e-3)


def test_sentences_are_made_up_of_its_words(model):
    torch.manual_seed(1)
    made = model.generate(50, 12)
    assert len(made) == 50
    assert all(len(words) <= 12 and END not in words for words in made)
    assert {word for words in made for word in words} <= set(model.words.symbols)
    assert sum(len(words) < 12 for words in made) > 10


def test_the_probability_of_each_word_is_noted(model):
    (noted,) = model.predict(SENTENCES[:1])
    numbers = torch.tensor([model.words.indices([*SENTENCES[0].forms, END])])
    expected = model.text().word_log_probs(numbers, torch.tensor([numbers.shape[1]])).exp()[0, :-1]
    notes = [float(misc.removeprefix("p=")) for misc in noted.column("misc")]
    assert notes == pytest.approx(expected.tolist(), abs=1e-4)


@pytest.mark.parametrize("kind", ["lowrank-hmm", "hmm"])
def test_missing_words_are_filled_in(kind):
    model = trained(kind)
    given = [["the", "_", "sees", "a", "dog"], ["a", "cat"], ["_", "_"]]
    filled = list(model.infill(map(conllu.from_forms, given), "_"))
    for words, found in zip(given, filled, strict=True):
        assert len(found) == len(words)
        assert all(new == old for old, new in zip(words, found, strict=True) if old != "_")
        assert "_" not in found
        assert END not in found
    nouns_and_adjectives = {*tiny_corpora.NOUNS, *tiny_corpora.ADJECTIVES}
    assert filled[0][1] in nouns_and_adjectives


@pytest.mark.parametrize("kind", ["lstm", "ngram"])
def test_models_without_states_cannot_fill_in(kind):
    with pytest.raises(SettingError, match="--infill needs a model with hidden states .* MODEL is " + kind):
        next(trained(kind).infill([conllu.from_forms(["the", "_"])], "_"))


def test_a_picture_shows_states_or_bits(model):
    (picture,) = model.diagrams(SENTENCES[:1])
    assert list(picture.columns) == [*SENTENCES[0].forms, END]
    if model.config.model in ("hmm", "lowrank-hmm"):
        assert 2 <= len(picture.rows) <= 12
        assert all(0 <= value <= 1 for row in picture.values for value in row)
    else:
        assert list(picture.rows) == ["bits"]


def test_rare_words_are_one_unknown_word():
    model = LanguageModel.from_corpus(config("hmm", minimum_count=30), SENTENCES)
    assert len(model.words) < 8
    assert model.words.index("wet") == model.words.index("gnu")
