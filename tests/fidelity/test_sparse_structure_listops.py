"""Arities by a graph convolution over latent trees, with a budget (Niculae and Martins 2020), in loops."""

import io

import numpy as np
import pytest
import torch
from tests.fidelity.dense_sparsemap import arcs_of, every_tree, sparsemap

from strukt import NonProjectiveTree
from strukt.data import listops
from strukt.nn.latent_trees import with_budget
from strukt.tasks.listops import Config
from strukt.tasks.listops.model import ListModel

SENTENCES = list(listops.read(io.BytesIO(b"2\t[MAX 1 2 ]\n3\t[MIN 3 ]\n")))


def mean_tree(eta, budget=None):
    """The point nearest to eta of the means of trees whose heads have no more dependents than the budget."""
    n = len(eta)
    trees = np.stack([arcs_of(heads).ravel() for heads in every_tree(n)])
    of_heads = np.stack([np.tile(np.eye(n + 1)[head], n) for head in range(n + 1)])
    bounds = () if budget is None else (of_heads, budget)
    return (sparsemap(trees, eta.ravel(), *bounds) @ trees).reshape(n, n + 1)


def made(**options):
    torch.manual_seed(0)
    config = Config(arc_size=8, size=5, **options)
    config.encoder.hidden = config.encoder.words = 6
    model = ListModel.from_corpus(config, SENTENCES).double().eval()
    torch.nn.init.normal_(model.network.root)
    return model


def convolved(weights, arcs, layers):
    """h'_m = relu(W_self h_m + W_up sum_h A[m, h] h_h + W_down sum_k A[k, m] h_k + b), the root a node, too."""
    n = len(arcs)
    nodes = [weights["network.root"], *[weights["symbols.weight"][0]] * n]
    for layer in range(layers):
        w_self, w_up, w_down = np.split(weights[f"network.layers.{layer}.weight"], 3, axis=1)
        heard = []
        for m in range(n + 1):
            total = w_self @ nodes[m] + weights[f"network.layers.{layer}.bias"]
            for other in range(n + 1):
                total = total + (arcs[m - 1, other] * w_up @ nodes[other] if m else 0)
                total = total + (arcs[other - 1, m] * w_down @ nodes[other] if other else 0)
            heard.append(np.maximum(total, 0))
        nodes = heard
    return nodes[1:]


def dense_losses(model, sentence, arcs):
    """-log p(arity) of each operator, from one soft tree."""
    weights = {name: value.detach().numpy() for name, value in model.named_parameters()}
    states = convolved(weights, arcs, model.config.layers)
    for place, arity in zip(sentence.operators, sentence.arities, strict=True):
        scores = weights["score.weight"] @ states[place] + weights["score.bias"]
        label = model.vocabularies["labels"].symbols.index(str(arity))
        yield np.log(np.exp(scores).sum()) - scores[label]


@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize("budget", [None, 1, 2])
def test_arities_by_a_graph_convolution_over_the_mean_of_trees(budget, layers):
    structure = {"structure": "tree"} if budget is None else {"structure": "tree-budget", "budget": budget}
    model = made(layers=layers, **structure)
    scores = model.distribution(SENTENCES).scores[0].double().detach().numpy()
    losses = []
    for eta, sentence in zip(scores, SENTENCES, strict=True):
        n = len(sentence)
        losses += dense_losses(model, sentence, mean_tree(eta[:n, : n + 1], budget))
    assert model.loss(model.collate(SENTENCES)).item() == pytest.approx(np.mean(losses), abs=1e-5)


@pytest.mark.parametrize("budget", [1, 2])
def test_trees_within_a_budget_are_those_of_the_program(budget):
    bound = 0
    for seed in range(6):
        generator = np.random.default_rng(seed)
        eta = generator.normal(size=(4, 5)) + 2 * generator.normal(size=(1, 5))
        trees = NonProjectiveTree(torch.from_numpy(eta[None]))
        wanted = mean_tree(eta, budget)
        bound += np.abs(wanted - mean_tree(eta)).max() > 1e-3
        for rounds in (None, 2000):
            found = with_budget(trees, budget, rounds).marginals[0].numpy()
            np.testing.assert_allclose(found, wanted, atol=1e-5)
    assert bound >= 2
