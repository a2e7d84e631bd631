"""Published scaled HMMs: their sizes, counted in parameters, and that they learn where they are small."""

import dataclasses

import pytest
from tests import tiny_corpora
from tests.tasks import learning

from strukt.cli.configuration import parse
from strukt.nn import NeuralHMM
from strukt.tasks.lm.model import LanguageModel
from strukt.tasks.lm.networks import source_of

WORDS = 10_000
NETWORK = 2 * (256 * 256 + 256) + 2 * 256
"""The numbers of a network of two layers of 256 with LayerNorm."""


def published(name):
    return parse("lm", ["--config", f"published/{name}"]).config


def parameters(config):
    return sum(parameter.numel() for parameter in source_of(config, WORDS).parameters())


def test_the_draft_has_two_vectors_a_state_and_one_matrix_of_features():
    """U and V of section 3, W of section 4; each state has a third vector for its emissions, and two networks."""
    config = published("lm-hmm-2021")
    assert config.rank * 4 == config.states == 16_384
    states = (3 * config.states + 1) * 256
    assert parameters(config) == states + config.rank * 256 + 2 * NETWORK + WORDS * 257


def test_the_very_large_model_has_one_vector_a_state():
    """O(h^2 + h |Z| + h |X|): a vector for each state and word, three networks, and a bias for each word."""
    config = published("lm-hmm-2020")
    assert (config.states, config.states // config.blocks) == (2**15, 256)
    assert parameters(config) == config.states * 256 + 256 + 3 * NETWORK + WORDS * 257


@pytest.mark.parametrize(("name", "sizes"), [("lm-hmm-2021", {"rank": 8}), ("lm-hmm-2020", {"blocks": 4})])
def test_small_ones_learn(name, sizes):
    config = dataclasses.replace(published(name), states=32, size=16, **sizes)
    sentences = tiny_corpora.trees(40)
    model, losses = learning.learned(LanguageModel, config, sentences, 60, 1e-2)
    assert isinstance(model.source, NeuralHMM)
    assert losses[-1] < 0.8 * losses[0]
