"""The reverse dictionary: words by their definitions."""

import io
from dataclasses import replace

import numpy as np
import pytest
from tests import tiny_corpora
from tests.tasks import learning

from strukt.data.classes import labelled
from strukt.errors import DataError
from strukt.tasks.dictionary import Config
from strukt.tasks.dictionary.model import VECTORS, ReverseDictionary
from strukt.train import saved_model

WORDS = [f"word{number}" for number in range(14)]
LINES = "".join(f"{word}\tthe thing of number {number} here\n" for number, word in enumerate(WORDS))
SENTENCES = list(labelled.read(io.BytesIO(LINES.encode())))


@pytest.fixture(scope="module", params=["encoder", "latent-tree"])
def model(request):
    config = tiny_corpora.small(Config(model=request.param))
    config.encoder.normalise, config.encoder.word_dropout = False, 0.0
    config.latent.hidden = 32
    return learning.learned(ReverseDictionary, config, SENTENCES, 60, rate=2e-2)[0]


def test_definitions_are_learned_by_heart(model):
    scores = model.evaluate(SENTENCES)
    assert {name: scores[name] for name in ("accuracy@1", "accuracy@10", "median rank")} == {
        "accuracy@1": 100.0,
        "accuracy@10": 100.0,
        "median rank": 1.0,
    }
    assert [sentence.label for sentence in model.predict(SENTENCES)] == WORDS


def test_words_that_are_not_known_come_last(model):
    [stranger] = labelled.read(io.BytesIO(b"stranger\tthe thing of number 3 here\n"))
    scores = model.evaluate([stranger, SENTENCES[3]])
    assert scores["median rank"] == (15 + 1) / 2
    assert scores["accuracy@100"] == 50.0  # there are fifteen places, and the stranger has none of them
    assert scores["accuracy@10"] == 50.0


def test_the_most_probable_words_are_drawn(model):
    [picture] = model.diagrams(SENTENCES[5:6])
    assert len(picture.columns) == 12
    assert picture.columns[0] == "word5"
    assert picture.values[0] == sorted(picture.values[0], reverse=True)


def test_few_words_are_in_the_order_of_their_probabilities(model):
    [found] = model.predict_batch(model.collate(SENTENCES[5:6]))
    few = dict(list(found.probabilities.items())[:7])
    picture = replace(found, probabilities=few).diagram(SENTENCES[5])
    assert picture.title == "probability of each word"
    assert picture.columns == sorted(few, key=few.__getitem__, reverse=True)


def test_ten_words_are_noted_with_their_probabilities(model):
    [sentence] = model.predict(SENTENCES[5:6], probabilities=True)
    [picture] = model.diagrams(SENTENCES[5:6])
    word, definition, first, *others = str(sentence).rstrip().split("\t")
    assert (word, definition) == ("word5", "the thing of number 5 here")
    values = [f"{value:.4f}" for value in picture.values[0]]
    assert first == f"p={values[0]}"
    assert others == [
        f"{rank}={name} {value}"
        for rank, name, value in zip(range(2, 11), picture.columns[1:], values[1:], strict=False)
    ]
    [again] = labelled.read(io.BytesIO(str(sentence).encode()))
    assert (again.label, again.forms) == ("word5", SENTENCES[5].forms)


@pytest.fixture(scope="module", params=["encoder", pytest.param("latent-tree", marks=pytest.mark.slow)])
def by_vectors(request, tmp_path_factory):
    """A model whose vectors are gone once it has learned."""
    path = tmp_path_factory.mktemp("vectors") / "vectors.txt"
    rows = np.random.default_rng(0).normal(size=(len(WORDS), 8)).round(4)
    lines = (
        f"{word} {' '.join(map(str, row))}\n" for word, row in zip([*WORDS[1:], "new"], rows, strict=True)
    )
    path.write_text("".join(lines))
    config = tiny_corpora.small(Config(model=request.param, vectors=str(path)))
    config.encoder.normalise, config.encoder.word_dropout = False, 0.0
    config.latent.hidden = 32
    with pytest.warns(
        UserWarning, match="1 of 14 definitions are of words without a vector in --vectors, and are left out"
    ):
        known = ReverseDictionary.trainable(config, SENTENCES)
    assert [sentence.label for sentence in known] == WORDS[1:]
    model, losses = learning.learned(ReverseDictionary, config, known, 60, rate=2e-2)
    assert losses[-1] < 0.3 * losses[0]
    path.unlink()
    return model


def test_vectors_of_definitions_are_learned(by_vectors):
    scores = by_vectors.evaluate(SENTENCES[1:])
    assert scores["accuracy@1"] > 80
    assert scores["median rank"] == 1.0
    assert by_vectors.evaluate(SENTENCES[:1])["median rank"] == 15  # it has no vector
    assert ("trees" in scores) == (by_vectors.config.model == "latent-tree")


def test_cosines_are_noted_and_drawn(by_vectors):
    [sentence] = by_vectors.predict(SENTENCES[5:6], probabilities=True)
    [picture] = by_vectors.diagrams(SENTENCES[5:6])
    assert picture.title == "cosine with each word"
    assert str(sentence).split("\t")[2] == f"cos={picture.values[0][0]:.4f}"
    assert len(str(sentence).split("\t")) == 12


def test_a_saved_model_keeps_the_vectors(by_vectors, tmp_path):
    saved_model.save(by_vectors, tmp_path / "model")
    again = saved_model.load(tmp_path / "model")
    first, second = (list(map(str, found.predict(SENTENCES, True))) for found in (by_vectors, again))
    assert first == second
    assert len({path.stat().st_mode for path in (tmp_path / "model").rglob("*") if path.is_file()}) == 1
    (tmp_path / "model" / "encoder" / VECTORS).unlink()
    with pytest.raises(DataError, match=r"vectors.safetensors: the vectors of words cannot be read"):
        saved_model.load(tmp_path / "model")


def test_no_word_has_a_vector(tmp_path):
    (tmp_path / "vectors.txt").write_text("other 1 2\n")
    with pytest.raises(DataError, match="none of its words has a vector in"):
        ReverseDictionary.trainable(Config(train="a.tsv", vectors=str(tmp_path / "vectors.txt")), SENTENCES)
