"""Solvers of factor graphs take scores that need a gradient, of variables and of pairs."""

import pytest
import torch

from strukt import FactorGraph
from strukt.factor_graph import factors

SOLVERS = [
    ("lp_map", {"exact": True}),
    ("lp_map", {}),
    ("lp_sparsemap", {}),
    ("belief_propagation", {}),
    ("enumerate", {}),
]


def solved(scores, pairs, solver, options):
    graph = FactorGraph()
    variables = graph.variables(3, 2)
    for row in range(3):
        graph.add(factors.Xor(variables[row]))
    graph.add(factors.Budget(variables[:, 0], 1))
    graph.add(factors.Pairwise(variables[:2, 0], variables[1:, 1], pairs))
    return getattr(graph, solver)(scores, **options)


def leaves():
    generator = torch.Generator().manual_seed(1)
    return torch.randn(2, 3, 2, generator=generator), torch.randn(2, 2, generator=generator)


@pytest.mark.parametrize(("solver", "options"), SOLVERS, ids=lambda value: str(value))
@pytest.mark.parametrize("both", [False, True])
def test_scores_that_need_a_gradient(solver, options, both):
    scores, pairs = leaves()
    plain = solved(scores, pairs, solver, options).marginals
    found = solved(scores.clone().requires_grad_(), pairs.clone().requires_grad_(both), solver, options)
    assert torch.allclose(found.marginals.detach(), plain, atol=1e-6)
    assert found.marginals.requires_grad == (solver != "lp_map")


@pytest.mark.filterwarnings("ignore:.*torch.jit.script. is deprecated:DeprecationWarning")  # PyTorch's own
@pytest.mark.parametrize("solver", ["lp_sparsemap", "belief_propagation", "mean_field", "enumerate"])
def test_no_grad_does_not_switch_off_forward_mode(solver):
    """`torch.func.jvp` of LP-SparseMAP was silently 0."""
    scores, pairs = (each.double() for each in leaves())

    def marginals(scores):
        if solver != "mean_field":
            return solved(scores, pairs, solver, {}).marginals
        graph = FactorGraph()
        graph.add(factors.Pairwise(graph.variables(3, 2)[:2, 0], graph.variables(2), pairs))
        return graph.mean_field((scores, scores[:, 0])).marginals[0]

    expected = torch.func.jvp(marginals, (scores,), (pairs[0, 0] * scores.cos(),))[1]
    with torch.no_grad():
        move = torch.func.jvp(marginals, (scores,), (pairs[0, 0] * scores.cos(),))[1]
    assert expected.any()
    torch.testing.assert_close(move, expected)


@pytest.mark.parametrize("shapes", [((0,), ()), ((), (0,)), ((0,), (2, 1))])
@pytest.mark.parametrize(("solver", "options"), [*SOLVERS, ("mean_field", {})], ids=lambda value: str(value))
def test_tensors_of_factors_in_an_empty_batch(solver, options, shapes):
    of_scores, of_factors = shapes
    pairs, table = torch.zeros(*of_factors, 2), torch.zeros(*of_factors, 2, 2)
    graph = FactorGraph()
    variables = graph.variables(7)
    graph.add(factors.Pairwise(variables[:2], variables[1:3], pairs.requires_grad_()))
    graph.add(factors.Dense([variables[0], variables[2]], table.requires_grad_()))
    graph.add(factors.Chain(variables[3:].reshape(2, 2), table.unsqueeze(-3)))
    scores = torch.zeros(*of_scores, 7, requires_grad=True)
    marginals = getattr(graph, solver)(scores, **options).marginals
    assert marginals.shape == (*torch.broadcast_shapes(*shapes), 7)
    if marginals.requires_grad:
        marginals.sum().backward()
        assert not scores.grad.any()


@pytest.mark.parametrize("mapped", [(0, None), (None, 0)])
@pytest.mark.parametrize(("solver", "options"), SOLVERS, ids=lambda value: str(value))
def test_vmap_is_refused_with_the_remedy(solver, options, mapped):
    scores, pairs = leaves()
    call = torch.func.vmap(lambda *each: solved(*each, solver, options).marginals, mapped)
    with pytest.raises(NotImplementedError, match="batch axis in front"):
        call(scores, pairs)
    assert torch.func.jacrev(lambda scores: solved(scores, pairs, "enumerate", {}).marginals)(scores).any()
