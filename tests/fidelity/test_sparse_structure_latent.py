"""Latent dependency TreeLSTMs (Niculae, Martins and Cardie 2018) against sums over all trees."""

import numpy as np
import pytest
import torch
from tests.fidelity.dense_tree_lstm import arc_scores, class_probability, expected_state, latent_trees
from torch import nn

from strukt.tasks.classify import LatentTreeConfig
from strukt.tasks.tree_reader import TreeReader

SIZE, WORDS, LABEL, STEP = 4, 4, 1, 1e-6


class Latent(nn.Module):
    """A reader of latent trees and a layer of classes, in double precision."""

    def __init__(self, detach):
        super().__init__()
        torch.manual_seed(3)
        reader = TreeReader(SIZE, LatentTreeConfig(arc_size=3, hidden=5, detach=detach))
        self.network, self.scorer, self.score = reader.network, reader.scorer, nn.Linear(5, 3)
        self.double()
        self._reader = [reader]

    def read(self, vectors):
        lengths = torch.tensor([vectors.shape[1]])
        return self._reader[0](vectors, lengths, None)

    def loss(self, vectors):
        mixture = self.read(vectors)
        return -mixture.log_likelihood(self.score(mixture.outputs).log_softmax(-1))[0, LABEL]

    def weights(self):
        return {name: value.detach().numpy() for name, value in self.named_parameters()}


@pytest.fixture
def vectors():
    generator = torch.Generator().manual_seed(5)
    return torch.randn(1, WORDS, SIZE, generator=generator, dtype=torch.float64)


@pytest.mark.parametrize("detach", [False, True])
def test_the_likelihood_is_a_sum_over_the_trees_of_sparsemap(vectors, detach):
    model = Latent(detach)
    x, weights = vectors[0].numpy(), model.weights()
    eta = arc_scores(weights, x)
    assert 1 < len(latent_trees(eta)) < 64
    wanted = -np.log(class_probability(weights, x, eta, LABEL))
    assert model.loss(vectors).item() == pytest.approx(wanted, abs=1e-8)


def test_an_expected_vector_is_a_sum_over_the_trees_of_sparsemap(vectors):
    model = Latent(False)
    x, weights = vectors[0].numpy(), model.weights()
    mixture = model.read(vectors)
    found = mixture.expected(mixture.outputs)[0].detach().numpy()
    np.testing.assert_allclose(found, expected_state(weights, x, arc_scores(weights, x)), atol=1e-8)


@pytest.mark.parametrize("detach", [False, True])
def test_gradients_reach_the_encoder_through_the_scores_of_trees(vectors, detach):
    model = Latent(detach)
    x, weights = vectors[0].numpy(), model.weights()
    direction = np.random.default_rng(0).normal(size=x.shape)

    def loss(step):
        moved = x + step * direction
        eta = arc_scores(weights, x if detach else moved)
        return -np.log(class_probability(weights, moved, eta, LABEL))

    vectors.requires_grad_()
    (gradient,) = torch.autograd.grad(model.loss(vectors), vectors)
    slope = (loss(STEP) - loss(-STEP)) / (2 * STEP)
    assert (gradient[0].numpy() * direction).sum() == pytest.approx(slope, abs=1e-6)
