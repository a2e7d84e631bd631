"""Solve factor graphs whose scores are on another device, and check them beside the CPU's.

Run as `python -m tests.factor_graph.elsewhere`: a line for each graph that comes out the same, with its gradients.
"""

from typing import ClassVar

import torch
from tests.factor_graph.graphs import draw
from tests.kernels.other_device import NAME, register, there

from strukt import FactorGraph, LinearChain
from strukt.factor_graph import factors


class Equal(factors.Factor):
    """All variables have the same value; a user's factor, which is called on the device of the scores."""

    devices: ClassVar[set[str]] = set()

    def map(self, scores):
        self.devices.add(scores.device.type)
        return (scores.sum(-1, keepdim=True) > 0).expand_as(scores)


def at_most_one_dependent(graph, x):
    graph.add(factors.Tree(x))
    graph.add(factors.Budget(x[:, 1], 1))


def closure(graph, x, transition):
    graph.add(factors.Structure(x, lambda scores: LinearChain(scores, transition)))
    graph.add(factors.AtMostOne(x[:, 0]))


def table(graph, x, scores):
    graph.add(factors.Dense(x[:2], scores))
    graph.add(factors.Xor(x))


def knapsack(graph, x):
    graph.add(factors.Knapsack(x, [1.0, 2.0, 1.0, 2.0], 3.0))


def equal(graph, x):
    graph.add(Equal(x[:3]))
    graph.add(factors.Or(x))


GRAPHS = {
    at_most_one_dependent: [(2, 3, 4)],
    closure: [(2, 3, 4), (4, 4)],
    table: [(2, 4), (2, 2)],
    knapsack: [(2, 4)],
    equal: [(2, 4)],
}
"""Each graph, and the shapes of its scores; the first is of variables."""


def solved(build, scores, *more):
    """Return the marginals, and the gradients of their squares in all scores."""
    graph = FactorGraph()
    build(graph, graph.variables(*scores.shape[1:]), *more)
    result = graph.lp_sparsemap(scores, start=graph.lp_sparsemap(scores))
    assert result.status.device == scores.device
    assert bool(result.status.all())
    return result.marginals, *torch.autograd.grad((result.marginals**2).sum(), [scores, *more])


def main():
    known = register()
    for build, shapes in GRAPHS.items():
        given = [draw(*shape, seed=seed) for seed, shape in enumerate(shapes)]
        here = solved(build, *(each.clone().requires_grad_() for each in given))
        away = solved(build, *(there(each.clone()).requires_grad_() for each in given))
        for one, other in zip(here, away, strict=True):
            assert other.device.type == NAME
            torch.testing.assert_close(other.detach().numbers, one.detach(), rtol=1e-7, atol=1e-7)
        print(build.__name__, flush=True)
    assert Equal.devices == {"cpu", NAME}
    del known


if __name__ == "__main__":
    main()
