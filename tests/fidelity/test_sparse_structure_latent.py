"""Latent dependency TreeLSTMs (Niculae, Martins and Cardie 2018) against sums over all trees."""

import io

import numpy as np
import pytest
import torch
from tests import tiny_corpora
from tests.fidelity.dense_sparsemap import arcs_of, every_tree, sparsemap
from tests.fidelity.dense_tree_lstm import (
    arc_scores,
    class_probability,
    expected_state,
    latent_trees,
    root_state,
    trees_on_face,
)
from torch import nn

from strukt.data.conllu import sentence_labels
from strukt.nn.estimators import SparseMAP
from strukt.tasks.classify import Config, LatentTreeConfig
from strukt.tasks.classify.model import Classifier
from strukt.tasks.common.classes.tree_reader import TreeReader
from strukt.tasks.nli.tree_comparison import TreeComparison

SIZE, LABEL, STEP = 4, 1, 1e-6


def drawn(n, seed=0):
    return np.random.default_rng(seed).normal(size=(n, SIZE))


def drawn_with_several_trees(weights, n):
    """Vectors of words under which several trees have weight, and no others have the same mean."""
    for seed in range(100):
        on_face = trees_on_face(arc_scores(weights, drawn(n, seed)))
        if 1 < len(on_face) == np.linalg.matrix_rank(on_face):
            return drawn(n, seed)
    raise AssertionError("none of a hundred has")


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
    return torch.from_numpy(drawn_with_several_trees(Latent(False).weights(), 3)[None])


@pytest.mark.parametrize("detach", [False, True])
def test_the_likelihood_is_a_sum_over_the_trees_of_sparsemap(vectors, detach):
    model = Latent(detach)
    x, weights = vectors[0].numpy(), model.weights()
    eta = arc_scores(weights, x)
    assert 1 < len(latent_trees(eta)) < 9
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
        return self.compare(self._reader[0](vectors, torch.tensor([3, 2]), heads))[0]


@pytest.mark.parametrize("tree", ["latent", "given"])
def test_a_class_of_two_sentences_is_a_sum_over_the_trees_of_both(tree):
    model = Pairs(tree).eval()
    weights = {name: value.detach().numpy() for name, value in model.named_parameters()}
    heads = torch.tensor([[2, 0, 2], [0, 1, -1]]) if tree == "given" else None
    vectors = torch.zeros(2, 3, SIZE, dtype=torch.float64)
    sides = []
    for row, n in enumerate((3, 2)):
        x = drawn(n) if tree == "given" else drawn_with_several_trees(weights, n)
        vectors[row, :n] = torch.from_numpy(x)
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


def parsed(words, heads, label):
    """A sentence of CoNLL-U with a class and a tree."""
    rows = (
        f"{i}\t{word}" + "\t_" * 4 + f"\t{head}" + "\t_" * 3
        for i, (word, head) in enumerate(zip(words, heads, strict=True), 1)
    )
    [found] = sentence_labels.read(io.StringIO("\n".join([f"# label = {label}", *rows]) + "\n\n"))
    return found


def test_a_given_parse_has_the_probability_of_its_tree_in_sparsemap():
    sentences = [
        parsed("a fine film".split(), (2, 0, 2), "good"),
        parsed("it is dull".split(), (0, 1, 2), "bad"),
    ]
    torch.manual_seed(2)
    model = Classifier.from_corpus(tiny_corpora.small(Config(model="latent-tree")), sentences).eval()
    model.tree_reader.latent.estimator = SparseMAP(None, 1e-9)
    with torch.no_grad():
        model.tree_reader.scorer.score.weight *= 0.1  # so that several trees have weight
    trees = every_tree(3)
    columns = np.stack([arcs_of(heads).ravel() for heads in trees])
    for sentence in sentences:
        p = [model.given_weights(parsed(sentence.forms, heads, "good"))[0] for heads in trees]
        assert sum(p) == pytest.approx(1)
        assert 1 < np.count_nonzero(p) < len(trees)
        eta = model.distribution([sentence]).scores[0][0].double().detach().numpy().ravel()
        np.testing.assert_allclose(p @ columns, sparsemap(columns, eta) @ columns, atol=1e-5)
