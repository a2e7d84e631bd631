"""Spanning trees on a GPU, or else in Triton's interpreter, have the answers of the kernels for CPUs."""

import pytest
import torch
from tests.kernels.engine.gpu.device import DEVICE, ON_GPU, SLOW, by_kernels, needed
from torch import Tensor

from strukt.distributions import SpanningTree
from strukt.structures.non_projective_tree import gpu

pytestmark = needed

N = 4 if ON_GPU else 3
"""Vertices of a graph: few in the interpreter."""


def graphs() -> tuple[Tensor, Tensor]:
    """Edges of four graphs, one of them not connected, and their numbers of vertices."""
    edges = torch.randn(4, N, N, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    edges[0, 0, 2], edges[1, :, N - 1] = -torch.inf, -torch.inf
    edges[2, N - 1 :] = edges[2, :, N - 1 :] = torch.nan  # padding
    return edges, torch.tensor([N, N, N - 1, 0])


def answers(trees: SpanningTree, edges: Tensor, other: SpanningTree) -> list[Tensor]:
    """Log-partitions, entropies, cross-entropies, marginals and the gradients of all four."""
    total, entropy, cross = trees.log_partition, trees.entropy(), trees.cross_entropy(other)
    values = total, entropy, cross, trees.marginals
    possible = (total > -torch.inf).to(edges)
    numbers = (total * possible).nan_to_num(neginf=0.0), entropy, cross, trees.marginals.square()
    grads = [torch.autograd.grad(number.sum(), edges, retain_graph=True)[0] for number in numbers]
    return [each.detach().cpu() for each in (*values, *grads)]


@pytest.mark.parametrize("dtype", [torch.float64, pytest.param(torch.float32, marks=SLOW)])
def test_items_of_all_lengths(dtype, monkeypatch):
    edges, lengths = graphs()
    calls = []
    launch = gpu._launch
    monkeypatch.setattr(gpu, "_launch", lambda name, *rest: (calls.append(name), launch(name, *rest)))

    def found(device: str) -> list[Tensor]:
        leaf = edges.to(device, dtype, copy=True).requires_grad_()
        rival = leaf.detach().flip(0).nan_to_num(neginf=-3.0)
        trees = [SpanningTree(each, lengths, validate_args=False) for each in (leaf, rival)]
        return answers(trees[0], leaf, trees[1])

    for mine, right in zip(by_kernels(found, DEVICE), found("cpu"), strict=True):
        tolerance = 1e-11 if dtype is torch.float64 else 1e-5
        assert torch.allclose(mine, right, tolerance, tolerance)
    assert {"inside", "outside", "derivative", "entropy"} <= set(calls)


def test_best_trees_are_those_of_the_cpu():
    """Among ties, too; the second graph is not connected."""
    edges, lengths = graphs()
    edges = torch.cat([edges, torch.randint(2, (2, N, N), generator=torch.Generator().manual_seed(1))])
    lengths = torch.tensor([*lengths, N, 1])

    def found(device: str) -> tuple[Tensor, ...]:
        trees = SpanningTree(edges.to(device), lengths.to(device), validate_args=False)
        return tuple(each.cpu() for each in trees.oracles.best(*trees._arguments()))

    for mine, right in zip(by_kernels(found, DEVICE), found("cpu"), strict=True):
        assert torch.equal(mine, right)


def test_required_edges_are_those_of_the_cpu():
    edges, lengths = graphs()
    required = torch.zeros(4, N, N, dtype=torch.bool)
    required[:, 0, 1] = True

    def found(device: str) -> list[Tensor]:
        trees = SpanningTree(edges.to(device), lengths, validate_args=False)
        trees = trees.condition(required=required.to(device))
        cross = SpanningTree(edges.to(device), lengths, validate_args=False).cross_entropy(trees)
        return [trees.log_partition.cpu(), trees.marginals.cpu(), trees.entropy().cpu(), cross.cpu()]

    for mine, right in zip(by_kernels(found, DEVICE), found("cpu"), strict=True):
        assert torch.allclose(mine, right, 1e-11, 1e-11, equal_nan=True)


def test_the_chart_of_another_backend_is_not_read():
    """`vmap` copies ``absent``, so that kernels for CPUs compute the backward passes."""
    edges = torch.randn(3, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)

    def rows(device: str) -> Tensor:
        leaf = edges.to(device, copy=True).requires_grad_()
        values = SpanningTree(leaf.expand(2, 3, 3), [3, 2], validate_args=False).log_partition
        directions = torch.eye(2, dtype=torch.float64, device=device)
        pull = torch.func.vmap(lambda each: torch.autograd.grad(values, leaf, each, retain_graph=True)[0])
        return pull(directions).cpu()

    assert torch.allclose(by_kernels(rows, DEVICE), rows("cpu"), 1e-11, 1e-11)
