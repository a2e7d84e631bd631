"""Reverse dictionaries by given vectors (Hill et al. 2016; Niculae, Martins and Cardie 2018) against loops."""

import io

import numpy as np
import pytest
import torch
from tests import tiny_corpora
from tests.fidelity.dense_tree_lstm import arc_scores, latent_trees, root_state

from strukt.data.classes import labelled
from strukt.nn.estimators import SparseMAP
from strukt.tasks.dictionary import Config
from strukt.tasks.dictionary.model import ReverseDictionary

DEFINITIONS = list(labelled.read(io.BytesIO(b"cat\ttame beast\ndog\tloud barker\nowl\tnight bird\n")))
WORDS = ["cat", "dog", "owl", "yak", "emu"]
"""Those with vectors: two of them are defined nowhere."""

GIVEN = np.random.default_rng(7).normal(size=(len(WORDS), 6)).astype(np.float32)


@pytest.fixture
def model(tmp_path):
    """A model in double precision, under which both trees of each definition have weight."""
    lines = (f"{word} {' '.join(map(str, row))}\n" for word, row in zip(WORDS, GIVEN.tolist(), strict=True))
    (tmp_path / "vectors.txt").write_text("".join(lines))
    config = tiny_corpora.small(Config(model="latent-tree", vectors=str(tmp_path / "vectors.txt")))
    config.latent.hidden, config.latent.arc_size = 5, 3
    torch.manual_seed(0)
    model = ReverseDictionary.from_corpus(config, DEFINITIONS).double().eval()
    model.tree_reader.latent.estimator = SparseMAP(None, 1e-12)
    with torch.no_grad():
        model.tree_reader.scorer.score.weight *= 0.1
    for sentence in DEFINITIONS:
        assert len(latent_trees(arc_scores(*read(model, sentence)))) == 2
    return model


def read(model, sentence):
    """The weights of the reader of trees, and the vectors of the words."""
    weights = {name.removeprefix("tree_reader."): value for name, value in model.named_parameters()}
    batch = model.collate([sentence], with_targets=False)
    x = model.encoder(batch.inputs, batch.lengths)[0]
    return {name: value.detach().numpy() for name, value in weights.items()}, x.detach().numpy()


def cosines(model, sentence):
    """Those of E_p g(x) = sum over h of g(x; h) p(h | x) with the vector of each word."""
    weights, x = read(model, sentence)
    expected = np.zeros(GIVEN.shape[1])
    for p, heads in latent_trees(arc_scores(weights, x)):
        g = weights["score.weight"] @ root_state(weights, x, heads) + weights["score.bias"]
        expected += p * g / np.sqrt(g @ g)
    norm = np.sqrt(expected @ expected)
    return {
        word: expected @ v / (norm * np.sqrt(v @ v))
        for word, v in zip(WORDS, GIVEN.astype(float), strict=True)
    }


def test_a_definition_is_an_expected_vector_near_that_of_its_word(model):
    wanted = np.mean([1 - cosines(model, sentence)[sentence.label] for sentence in DEFINITIONS])
    assert model.loss(model.collate(DEFINITIONS)).item() == pytest.approx(wanted, abs=1e-6)


def test_all_words_with_vectors_are_ranked_by_their_cosine(model):
    ranks = []
    for sentence, found in zip(DEFINITIONS, model.predict_batch(model.collate(DEFINITIONS)), strict=True):
        wanted = cosines(model, sentence)
        assert found.ranking == sorted(wanted, key=wanted.__getitem__, reverse=True)
        assert found.probabilities == pytest.approx(wanted, abs=1e-6)
        ranks.append(1 + sum(value > wanted[sentence.label] for value in wanted.values()))
    [unseen] = labelled.read(io.BytesIO(b"yak\ttame beast\n"))
    wanted = cosines(model, unseen)
    ranks.append(1 + sum(value > wanted["yak"] for value in wanted.values()))
    scores = model.evaluate([*DEFINITIONS, unseen])
    assert scores["median rank"] == np.median(ranks)
    assert scores["accuracy@1"] == 100 * np.mean(np.array(ranks) == 1)
    assert scores["accuracy@10"] == scores["accuracy@100"] == 100.0
