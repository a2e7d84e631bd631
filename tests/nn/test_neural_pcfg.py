"""Grammars of vectors: normalised, the same as their tables, and learned."""

import pytest
import torch
from torch import distributions

from strukt import PCFG, LowRankPCFG
from strukt.nn import CompoundPCFG, NeuralPCFG

V = 4
KINDS = {"any rules": {}, "low rank": {"rank": 3}}


@pytest.fixture(params=KINDS)
def options(request):
    torch.manual_seed(0)
    return KINDS[request.param]


def rules_of(trees):
    return (trees.to_pcfg() if isinstance(trees, LowRankPCFG) else trees).scores[2]


def test_rules_roots_and_words_are_normalised(options):
    trees = NeuralPCFG(3, 4, V, size=6, **options)(torch.arange(V)[None])
    _, root, *_, emission = trees.scores
    torch.testing.assert_close(root.exp().sum(), torch.tensor(1.0))
    torch.testing.assert_close(rules_of(trees).exp().sum((-1, -2)).float(), torch.ones(3))
    torch.testing.assert_close(emission[0].exp().sum(0), torch.ones(4))


def test_a_batch_gives_what_its_items_give(options):
    model, x = NeuralPCFG(3, 4, V, size=6, **options), torch.randint(V, (3, 6))
    lengths = torch.tensor([6, 2, 4])
    together = model(x.masked_fill(torch.arange(6) >= lengths[:, None], -1), lengths).log_partition
    for item, n in enumerate(lengths):
        torch.testing.assert_close(together[item], model(x[item : item + 1, :n]).log_partition[0])


def test_every_parameter_learns(options):
    model = CompoundPCFG(3, 4, V, size=24, latent=2, **options)
    trees, divergence = model(torch.randint(V, (3, 6)))
    (trees.log_partition - divergence).sum().backward()
    assert all(parameter.grad.abs().sum() > 0 for parameter in model.parameters())


def test_a_pattern_is_learned(options):
    model = NeuralPCFG(4, 4, V, size=16, **options)
    x = torch.tensor([[0, 1, 2, 3], [0, 1, 0, 1], [2, 3, 2, 3]])
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    losses = []
    for _ in range(60):
        optimizer.zero_grad()
        loss = -model(x).log_partition.mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0] / 2


def test_the_kind_is_that_of_the_rank():
    x = torch.randint(V, (1, 3))
    assert type(NeuralPCFG(3, 4, V, size=6)(x)) is PCFG
    assert type(NeuralPCFG(3, 4, V, rank=2, size=6)(x)) is LowRankPCFG


def test_the_divergence_is_that_of_gaussians(options):
    model, x = CompoundPCFG(3, 4, V, size=6, latent=2, **options), torch.randint(V, (3, 5))
    mean, log_variance = model._read(x, torch.full((3,), 5)).chunk(2, -1)
    posterior = distributions.Normal(mean, (log_variance / 2).exp())
    prior = distributions.Normal(torch.zeros(2), torch.ones(2))
    expected = distributions.kl_divergence(posterior, prior).sum(-1)
    torch.testing.assert_close(model(x).divergence, expected)


def test_grammars_of_sentences_differ_and_are_fixed_in_evaluation(options):
    model, x = CompoundPCFG(3, 4, V, size=6, latent=2, **options), torch.randint(V, (3, 5))
    assert not torch.equal(model(x).trees.log_partition, model(x).trees.log_partition)
    model.eval()
    first, again = model(x).trees, model(x).trees
    assert torch.equal(first.log_partition, again.log_partition)
    assert not torch.equal(rules_of(first)[0], rules_of(first)[1])


def test_the_bound_is_below_the_evidence(options):
    model, x = CompoundPCFG(3, 4, V, size=6, latent=2, **options), torch.randint(V, (1, 4))
    with torch.no_grad():
        prior = torch.randn(5000, 2)
        many = x.expand(5000, -1)
        evidence = model.grammar(many, None, prior).log_partition.logsumexp(0) - torch.tensor(5000.0).log()
        found = model(many)
        bound = (found.trees.log_partition - found.divergence).mean()
    assert bound < evidence + 0.01


def test_sentences_without_words():
    """As many as there are in a batch, or all of them."""
    grammar = CompoundPCFG(3, 4, 5, size=8, latent=2)
    trees, divergence = grammar(torch.zeros(2, 0, dtype=torch.long))
    assert torch.equal(trees.log_partition, torch.zeros(2))
    assert divergence.isfinite().all()
