"""Pairwise factors: scores of pairs of variables."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from strukt.factor_graph.factor import AnyFactor, Entry, folded, require_trailing
from strukt.factor_graph.soft import Places, Soft
from strukt.factor_graph.variables import VariablesLike, collect
from strukt.inference.lp_sparsemap.graph import PAIR


class Pairwise(AnyFactor, Soft):
    """Pairs of variables, each with a score that counts if both variables are 1.

    One call creates a factor for each pair of ``a[i]`` and ``b[i]``.

    Args:
        a: The first variables of the pairs.
        b: The second variables, in the same shape.
        scores: ``batch +`` that shape; -inf forbids that both are 1, which `mean_field` does not support.

    Raises:
        ValueError: If shapes or types do not fit, there are no variables, or they belong to different graphs.

    Examples:
        >>> import torch
        >>> from strukt import FactorGraph
        >>> graph = FactorGraph()
        >>> x = graph.variables(3)
        >>> graph.add(Pairwise(x[:-1], x[1:], torch.tensor([1.0, -1.0])))
        Pairwise over 4 variables
        >>> graph.enumerate(torch.tensor([0.5, 0.5, 0.5])).mode
        tensor([1, 1, 0])
    """

    def __init__(self, a: VariablesLike, b: VariablesLike, scores: Tensor) -> None:
        first, second = collect(a, "a"), collect(b, "b")
        if first.shape != second.shape:
            raise ValueError(f"a has shape {first.shape} and b {second.shape}; expected the same")
        require_trailing("scores", scores, first.shape)
        self._scores = scores
        self.tensors = {"_scores": first.ndim}
        super().__init__(collect([first.flatten(), second.flatten()], "(a, b)").flatten())

    @property
    def scores(self) -> Tensor:
        """The scores of the pairs along one axis, ``batch + (pairs,)``."""
        return folded(self._scores, self.tensors["_scores"])

    def log_potential(self, assignments: Tensor) -> Tensor:
        first, second = assignments.chunk(2, -1)
        both = (first > 0) & (second > 0)
        return torch.where(both, self.scores, torch.zeros_like(self.scores)).sum(-1)

    def entries(self) -> list[Entry]:
        pairs = self.cliques()
        return [Entry(PAIR, places, pair=pair) for pair, places in enumerate(pairs)]

    def cliques(self) -> list[Places]:
        return list(np.arange(self.variables.size).reshape(2, -1).T)

    def expected(self, probabilities: Tensor) -> Tensor:
        first, second = probabilities.chunk(2, -1)
        return (self.scores * first * second).sum(-1)

    def fields(self, probabilities: Tensor) -> Tensor:
        first, second = probabilities.chunk(2, -1)
        return torch.cat([self.scores * second, self.scores * first], -1)

    def is_finite(self) -> bool:
        return bool(self.scores.isfinite().all())
