"""Latent dependency TreeLSTMs (Niculae, Martins and Cardie 2018) against sums over all trees."""

import numpy as np
import pytest
import torch
from tests.fidelity.dense_tree_lstm import (
    arc_scores,
    class_probability,
    expected_state,
    latent_trees,
    root_state,
)
from torch import nn

from strukt.tasks.classify import LatentTreeConfig
from strukt.tasks.tree_comparison import TreeComparison
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


class Pairs(nn.Module):
    """A reader of trees of two sentences and a comparison of them, in double precision."""

    def __init__(self, tree):
        super().__init__()
        torch.manual_seed(4)
        reader = TreeReader(SIZE, LatentTreeConfig(tree=tree, arc_size=3, hidden=5))
        self.network, self.scorer, self.compare = reader.network, reader.scorer, TreeComparison(5, 6, 3)
        self.double()
        self._reader = [reader]

    def forward(self, vectors, heads):
        return self.compare(self._reader[0](vectors, torch.tensor([4, 3]), heads))[0]


@pytest.mark.parametrize("tree", ["latent", "given"])
def test_a_class_of_two_sentences_is_a_sum_over_the_trees_of_both(tree):
    model = Pairs(tree).eval()
    generator = torch.Generator().manual_seed(6)
    vectors = torch.randn(2, 4, SIZE, generator=generator, dtype=torch.float64)
    weights = {name: value.detach().numpy() for name, value in model.named_parameters()}
    heads = torch.tensor([[2, 0, 2, 3], [0, 1, 1, -1]]) if tree == "given" else None
    sides = []
    for row, n in enumerate((4, 3)):
        x = vectors[row, :n].numpy()
        given = [(1.0, tuple(heads[row, :n].tolist()))] if tree == "given" else None
        trees = given or latent_trees(arc_scores(weights, x))
        sides.append([(weight, root_state(weights, x, heads_of)) for weight, heads_of in trees])
    assert tree == "given" or min(map(len, sides)) > 1
    wanted = np.zeros(3)
    for p_g, u in sides[0]:
        for p_h, v in sides[1]:
            features = np.concatenate([u, v, np.abs(u - v), u * v])
            hidden = weights["compare.network.1.weight"] @ features + weights["compare.network.1.bias"]
            scores = weights["compare.network.4.weight"] @ np.maximum(hidden, 0)
            scores = np.exp(scores + weights["compare.network.4.bias"])
            wanted += p_g * p_h * scores / scores.sum()
    np.testing.assert_allclose(model(vectors, heads).exp().detach().numpy(), wanted, atol=1e-7)
