"""strukt's structures with raw inputs of some sizes, for programs that compare its operators with each other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from benchmarks import ctc
from benchmarks.contest import Case
from strukt import distributions
from strukt.distributions import StructuredDistribution

SUBSET = 10


@dataclass(frozen=True)
class Structure:
    """A structure with inputs of some sizes.

    Attributes:
        name: The name of its class.
        build: Function from raw inputs to the distribution.
        cases: The sizes of raw inputs.
    """

    name: str
    build: Callable[..., StructuredDistribution]
    cases: tuple[Case, ...]


def of_targets(logits: Tensor) -> StructuredDistribution:
    """Return the distribution of alignments of random targets with frames."""
    return distributions.CTC(logits.log_softmax(-1), ctc.targets(logits))


def subsets(scores: Tensor) -> StructuredDistribution:
    """Return the distribution of subsets of `SUBSET` items."""
    return distributions.KSubset(scores, SUBSET)


def brackets(spans: Tensor) -> StructuredDistribution:
    """Return the distribution of binary trees without labels."""
    return distributions.SpanTree(spans, labelled=False)


def per_step(batch: int, n: int, labels: int) -> Case:
    """Return a case of chains with a matrix of transitions for each pair of neighbours."""
    shapes = ((batch, n, labels), (batch, n - 1, labels, labels))
    return Case(f"{batch}x{n}x{labels}, transitions of each step", shapes)


def alignments(batch: int, n: int, m: int) -> Case:
    """Return a case of alignments of n with m positions, with scores of all three moves."""
    return Case(f"{batch}x{n}x{m}", ((batch, n, m),) * 3)


def items(batch: int, n: int) -> Case:
    """Return a case of items to choose from, ``(batch, n)``."""
    return Case(f"{batch}x{n}, {SUBSET} of them", ((batch, n),))


def squares(batch: int, n: int, fenceposts: bool = False) -> Case:
    """Return a case with a score for each pair of n things, or for each span of n words if ``fenceposts``."""
    rows = n + fenceposts
    return Case(f"{batch}x{n}", ((batch, rows, rows),))


def log_partition_gradient(structure: Structure, inputs: tuple[Tensor, ...]) -> Any:
    """Return the gradient of the mean log-partition with respect to every raw input."""
    leaves = [score.detach().requires_grad_() for score in inputs]
    return torch.autograd.grad(structure.build(*leaves).log_partition.mean(), leaves)


def training_step(structure: Structure, inputs: tuple[Tensor, ...], event: Tensor) -> Any:
    """Return the gradient of the mean loss of one event for each item, with respect to every raw input."""
    leaves = [score.detach().requires_grad_() for score in inputs]
    return torch.autograd.grad(-structure.build(*leaves).log_prob(event).mean(), leaves)


def an_event(structure: Structure, inputs: tuple[Tensor, ...]) -> Tensor:
    """Return a random event for each item, the same in every process."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return structure.build(*inputs).sample()
