"""Spanning trees as subjects of the conformance suite."""

from __future__ import annotations

import torch
from torch import Tensor

from strukt.distributions import SpanningTree
from strukt.testing import brute_force
from strukt.testing.subject import Subject
from strukt.testing.subjects.scores import normal


def _edges(generator: torch.Generator, batch: tuple[int, ...], size: int) -> tuple[Tensor]:
    return (normal(generator, *batch, size, size),)


SUBJECTS = (Subject("SpanningTree", SpanningTree, brute_force.spanning_tree, _edges, {"edges": 2}),)
