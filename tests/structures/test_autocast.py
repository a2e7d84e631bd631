"""Under autocast, sums over structures are those without it: in float32, to the last digit."""

import pytest
import torch

from strukt import HMM, BinaryCRF, FactorGraph, Gaussian, LowRankPCFG, factors
from strukt.kernels.dispatch import using
from strukt.losses import contrastive_hashing
from strukt.nn import FourierFeatures, NeuralHMM, NystromFeatures

WORDS = torch.tensor([[1, 2, 3], [0, 4, 4]])


@pytest.fixture(autouse=True)
def seed():
    torch.manual_seed(0)


def normal(*shape):
    return torch.randn(*shape, requires_grad=True)


def both(function, *inputs):
    """The result without and with autocast, and the gradients after both."""
    for enabled in (False, True):
        with torch.autocast("cpu", torch.bfloat16, enabled=enabled):
            result = function(*inputs)
        yield [result, *torch.autograd.grad(result.square().sum(), inputs)]


def binary_crf(unary, pairwise):
    crf = BinaryCRF(unary, pairwise + pairwise.mT)
    return torch.cat([crf.log_partition, crf.entropy(), crf.max_marginals.flatten(), crf.marginals.flatten()])


def low_rank_pcfg(root, left, right, head, emission):
    grammar = LowRankPCFG(root, left, right, head, emission)
    return torch.cat([grammar.log_partition.reshape(1), grammar.marginals.flatten()])


def enumerated(scores):
    graph = FactorGraph()
    graph.add(factors.Xor(graph.variables(4)))
    result = graph.enumerate(scores)
    return torch.cat([result.log_partition, result.marginals.flatten()])


CASES = {
    "BinaryCRF": (binary_crf, [(2, 5), (5, 5)]),
    "LowRankPCFG": (low_rank_pcfg, [(3,), (4, 7), (4, 7), (3, 4), (5, 4)]),
    "FactorGraph": (enumerated, [(2, 4)]),
}


@pytest.mark.parametrize("backend", ["cpu", "reference"])
@pytest.mark.parametrize("name", CASES)
def test_structures_under_autocast(name, backend):
    function, shapes = CASES[name]
    with using(backend):
        plain, mixed = both(function, *(normal(*shape) for shape in shapes))
    assert all(map(torch.equal, mixed, plain))


@pytest.mark.parametrize("options", [{}, {"rank": 4}, {"blocks": torch.tensor([0, 0, 1, 1, 2])}], ids=str)
def test_hidden_markov_models_under_autocast(options):
    hmm = NeuralHMM(6, 5, size=8, **options)().select(torch.arange(6))
    parameters = [value.detach().requires_grad_() for value in hmm.unconstrained()]

    def results(*parameters):
        model = hmm.from_unconstrained(parameters)
        return torch.cat([model.log_prob(WORDS), model.filter(WORDS).flatten(), model.smooth(WORDS).flatten()])

    plain, mixed = both(results, *parameters)
    assert all(map(torch.equal, mixed, plain))


def test_a_backward_pass_within_autocast():
    hmm = NeuralHMM(6, 5, size=8, rank=4)
    loss = hmm().log_prob(WORDS).sum()
    expected = torch.autograd.grad(loss, hmm.parameters(), retain_graph=True)
    with torch.autocast("cpu", torch.bfloat16):
        result = torch.autograd.grad(loss, hmm.parameters())
    for mine, right in zip(result, expected, strict=True):
        torch.testing.assert_close(mine, right, atol=0.02, rtol=0.02)  # of networks, whose gradients are rounded


def test_fits():
    x = torch.randn(3, 6, 2)
    start = HMM(torch.zeros(4), torch.randn(4, 4), Gaussian(x[0, :4], torch.ones(4, 2)))
    plain = start.fit(x, steps=3)
    with torch.autocast("cpu", torch.bfloat16):
        mixed = start.fit(x, steps=3)
    assert torch.equal(mixed.log_probs, plain.log_probs)


def test_contrastive_hashing():
    labels = torch.tensor([0, 0, 1, 1])

    def loss(first, second):
        return contrastive_hashing(first.softmax(-1), second.softmax(-1), labels)

    plain, mixed = both(loss, normal(4, 3, 2), normal(4, 3, 2))
    assert all(map(torch.equal, mixed, plain))


@pytest.mark.parametrize("make", [lambda: FourierFeatures(4, 6), lambda: NystromFeatures(torch.randn(6, 4))])
def test_feature_maps(make):
    features = make()
    plain, mixed = both(features, normal(3, 4))
    assert all(map(torch.equal, mixed, plain))
