"""Matchings: assignments of rows to distinct columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from torch import Tensor

from strukt.checks import arguments
from strukt.checks.guards import UNBOUNDED
from strukt.checks.lengths import Lengths
from strukt.kernels.oracles import Oracles
from strukt.structures.explanations import sets
from strukt.structures.matching.assignment import max_marginals
from strukt.structures.matching.reference import REFERENCE
from strukt.structures.positional import PositionalStructure


class Matching(PositionalStructure):
    """One-to-one assignments of rows to columns; permutations if n = m.

    Args:
        scores: ``batch + (n, m)`` with n <= m; ``[i, j]`` scores row i matched with column j.
        lengths: ``batch``, the number of rows; all n if None. All m columns stay available.
        validate_args: Whether to check values as well as shapes; if None, see `strukt.set_default_validate_args`.

    `StructuredDistribution` has the operators, and the rules for -inf, NaN and padding.

    Events are the columns of the rows, ``batch + (n,)``, -1 in the padding. `mode`, `max_score` and
    `max_marginals` take O(n^2 m) time per item by the Hungarian algorithm, ``topk(k)`` k times that, and
    `sparsemap` several modes, for any n; under ``torch.func`` and ``torch.compile``, `max_marginals` take n m
    modes. The log-partition, the log of a permanent, is #P-complete: `log_partition`, `marginals`, `entropy`,
    samples and all operators that need them take O(n 2^n) time for square scores and up to O(m n 2^n) for wide
    ones, and raise NotImplementedError for n above 16.

    Raises:
        ValueError: If shapes, types or values do not fit.

    Examples:
        >>> import torch
        >>> matching = Matching(torch.tensor([[2.0, 1.0, 0.0], [3.0, 1.0, 0.0]]))
        >>> matching.mode, matching.max_score
        (tensor([1, 0]), tensor(4.))
        >>> matching.marginals
        tensor([[0.2554, 0.5327, 0.2119],
                [0.6941, 0.2119, 0.0939]])
        >>> Matching(torch.zeros(5, 5)).log_count.exp().round()
        tensor(120.)
    """

    oracles = Oracles(__package__, scores=("scores",), options=(), reference=REFERENCE)
    _best_with_each_part = staticmethod(max_marginals)
    _best_by_numpy = True
    score_names: ClassVar[tuple[str, ...]] = ("scores",)
    extents = ([0, UNBOUNDED],)

    def __init__(
        self, scores: Tensor, lengths: Lengths | None = None, validate_args: bool | None = None
    ) -> None:
        arguments.scores("scores", scores, "batch + (n, m)", 2)
        n, m = scores.shape[-2:]
        if n > m:
            raise ValueError(
                f"scores has shape {tuple(scores.shape)}: {n} rows cannot each get a different one of "
                f"{m} columns; expected batch + (n, m) with n <= m, e.g. scores.mT"
            )
        super().__init__((scores,), lengths, (), validate_args)

    def _are_structures(self, event: Tensor) -> Tensor:
        within = self._positions
        clash = (event.unsqueeze(-1) == event.unsqueeze(-2)) & within.unsqueeze(-1) & within.unsqueeze(-2)
        alone = clash.flatten(-2).sum(-1) == self.lengths  # each row clashes only with itself
        return self._in_range(event) & alone

    def _fault(self, event: Any, length: int, constants: Sequence[Any]) -> str | None:
        return sets.matching(event, length, self.scores[0].shape[-1])
