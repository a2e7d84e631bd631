"""Structured attention between two sequences: dense, sparse or structured alignments of rows and columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from strukt.checks import arguments, guards
from strukt.checks.lengths import Lengths, as_tensor
from strukt.distributions import LinearChain, Matching
from strukt.factor_graph import FactorGraph, factors
from strukt.inference.settings import (
    require_iterations,
    require_one_of,
    require_positive_tolerance,
    require_tolerance,
)
from strukt.kernels.semiring import NEG_INF
from strukt.nn.attention import masked_softmax
from strukt.nn.encoders import mask_of

SMALLEST_SUM = 0.01
"""The smallest divisor of the weights of a row or a column, whose sum may be less; it bounds the gradients."""


class Alignment(NamedTuple):
    """The alignment of n rows and m columns; all entries are 0 in the padding.

    Attributes:
        weights: ``(batch, n, m)``, the weight of each pair.
        of_rows: ``(batch, n, m)``, for each row the share of each column; see `StructuredAttention`.
        of_columns: ``(batch, n, m)``, for each column the share of each row.
    """

    weights: Tensor
    of_rows: Tensor
    of_columns: Tensor


class StructuredAttention(nn.Module):
    """Structured attention: aligns two sequences, given a score for each pair of positions.

    | kind | weights |
    |---|---|
    | ``"softmax"`` | each row attends to the columns independently, and each column to the rows |
    | ``"matching"`` | SparseMAP over one-to-one matchings: the mean of a few matchings |
    | ``"lp-matching"`` | LP-SparseMAP over matchings, with a factor for each row and one for each column |
    | ``"lp-sequence"`` | like ``"lp-matching"``, with a chain that rewards neighbours instead of row factors |
    | ``"crf"`` | the marginals of this chain alone: several rows may choose the same column |

    The chain adds a bonus for each step from (i, j) to a neighbour (i + 1, j + 1) or (i + 1, j - 1). The bonus is
    learned and starts at 0. The three kinds of matchings use no column twice: they align every position of the
    shorter sequence, rows or columns, and the chain of ``"lp-sequence"`` runs over the shorter sequence.

    A pair with score -inf is never aligned. If all pairs of a row have score -inf, the row has weights of 0 with
    ``"softmax"``, and all rows of its item have weights of 0 with ``"crf"``. The other kinds raise
    `InfeasibleError` if no matching is left.

    The shares of a row or a column are its weights divided by their sum, or by 0.01 if the sum is less, so that
    gradients stay bounded. If its weights are 0, so are its shares. With ``"softmax"``, ``weights`` equals
    ``of_rows``; ``of_columns`` is a separate softmax.

    Source: Niculae et al. (2018), "SparseMAP", section 5.2; Niculae and Martins (2020), "LP-SparseMAP", section
    5.2.

    Args:
        kind: One of the kinds in the table.
        iterations: Maximum number of iterations of LP-SparseMAP, even if rows and columns do not agree on the
            weights by then; the published models use 10. None for 10,000, with a warning if they do not agree.
        tol: SparseMAP and LP-SparseMAP stop when the error of the weights is at most this; above 0 for the latter.

    Attributes:
        bonus: The learned bonus of the chain, a scalar; None for kinds without a chain.

    Raises:
        ValueError: If the kind is unknown, `iterations` is less than 1, or `tol` is below 0, or not above 0 for
            LP-SparseMAP.

    Complexity: for an item with n rows and m columns, n <= m: O(n m) for the softmax and an iteration of
    ``"lp-matching"``, O(n m^2) for ``"crf"``, O(n^2 m) for each matching that the search of ``"matching"`` visits,
    and O(n m^2) for each chain that an iteration of ``"lp-sequence"`` visits.

    Examples:
        >>> align = StructuredAttention("matching")
        >>> alignment = align(torch.tensor([[[2.0, 1.7, 0.0], [2.0, 0.0, 1.0]]]))
        >>> alignment.weights
        tensor([[[0.3250, 0.6750, 0.0000],
                 [0.6750, 0.0000, 0.3250]]])
        >>> alignment.of_columns.sum(1)
        tensor([[1., 1., 1.]])
    """

    def __init__(self, kind: str = "softmax", iterations: int | None = None, tol: float = 1e-6) -> None:
        super().__init__()
        require_one_of("kind", kind, KINDS)
        if iterations is not None:
            require_iterations(iterations)
        require = require_positive_tolerance if kind.startswith("lp-") else require_tolerance
        require(tol)
        self.kind, self.iterations, self.tol = kind, iterations, tol
        self.bonus = nn.Parameter(torch.zeros(())) if kind in ("lp-sequence", "crf") else None

    def forward(self, scores: Tensor, lengths: Lengths | None = None) -> Alignment:
        """Align the rows with the columns.

        Args:
            scores: ``(batch, n, m)``; padding is ignored.
            lengths: ``(batch, 2)``, the numbers of rows and of columns; all n and m if None.

        Raises:
            ValueError: If a shape or a type is wrong, a length is out of range, or a score is NaN or +inf.
            InfeasibleError: If every matching of some item contains a pair with score -inf, for the three kinds of
                matchings.
        """
        scores, lengths = _checked(scores, lengths)
        _, n, m = scores.shape
        rows, columns = mask_of(lengths[:, 0], n), mask_of(lengths[:, 1], m)
        inside = rows.unsqueeze(2) & columns.unsqueeze(1)
        if self.kind == "softmax":
            inside = inside & (scores != NEG_INF)
            scores = scores.masked_fill(~inside, 0.0)
            guards.require_values(
                scores, scores.isfinite(), "scores", "finite scores, or -inf for a forbidden pair"
            )
            of_rows = masked_softmax(scores, inside)
            return Alignment(of_rows, of_rows, masked_softmax(scores.mT, inside.mT).mT)
        weights = self._weights(scores.masked_fill(~inside, NEG_INF), lengths) if scores.numel() else scores
        return Alignment(weights, _shares(weights, 2), _shares(weights, 1))

    def _weights(self, scores: Tensor, lengths: Tensor) -> Tensor:
        """Return the weights of a structured kind; scores are -inf in the padding."""
        if self.kind == "crf":
            return self._chain(scores, lengths[:, 0]).marginals
        tall = (lengths[:, 0] > lengths[:, 1]).reshape(-1, 1, 1)
        short, long = lengths.amin(1), lengths.amax(1)
        shape = max(int(short.max()), 1), max(int(long.max()), 1)
        weights = _OF_WIDE[self.kind](self, _turned(scores, tall, shape, NEG_INF), short)
        return _turned(weights, tall, (scores.shape[1], scores.shape[2]), 0.0)

    def _matching(self, scores: Tensor, rows: Tensor) -> Tensor:
        return Matching(scores, rows).sparsemap(tol=self.tol).marginals

    def _lp_matching(self, scores: Tensor, rows: Tensor) -> Tensor:
        """Solve for a matching; rows in the padding choose an extra column, which is forbidden to other rows."""
        _require_matching(scores, rows)
        _, n, m = scores.shape
        graph = FactorGraph()
        pairs = graph.variables(n, m + 1)
        for row in pairs:
            graph.add(factors.Xor(row))
        for column in pairs.T[:-1]:
            graph.add(factors.AtMostOne(column))
        beyond = scores.new_ones(()).masked_fill(mask_of(rows, n), NEG_INF)
        return self._agreed(graph, torch.cat([scores, beyond.unsqueeze(2)], 2))[..., :-1]

    def _lp_sequence(self, scores: Tensor, rows: Tensor) -> Tensor:
        """Solve for a chain without repeated columns.

        Forbidden pairs are masked in the chain itself, so that no iterations are spent on ruling them out.
        """
        _require_matching(scores, rows)
        forbidden = scores == NEG_INF
        graph = FactorGraph()
        pairs = graph.variables(*scores.shape[1:])
        graph.add(
            factors.Structure(pairs, lambda main: self._chain(main.masked_fill(forbidden, NEG_INF), rows))
        )
        for column in pairs.T:
            graph.add(factors.AtMostOne(column))
        return self._agreed(graph, scores)

    def _chain(self, scores: Tensor, rows: Tensor) -> LinearChain:
        """Return the chain that chooses a column for each row, with the bonus for steps to neighbours."""
        assert self.bonus is not None
        column = torch.arange(scores.shape[2], device=scores.device)
        neighbours = (column.unsqueeze(1) - column).abs() == 1
        return LinearChain(scores, self.bonus * neighbours, rows)

    def _agreed(self, graph: FactorGraph, scores: Tensor) -> Tensor:
        """Run LP-SparseMAP until the factors agree, or for `iterations`; return the marginals."""
        result = graph.lp_sparsemap(scores, tol=self.tol, max_iterations=self.iterations)
        assert isinstance(result.marginals, Tensor)
        return result.marginals

    def extra_repr(self) -> str:
        return f"{self.kind!r}, iterations={self.iterations}, tol={self.tol}"


_OF_WIDE: Mapping[str, Callable[[StructuredAttention, Tensor, Tensor], Tensor]] = MappingProxyType(
    {
        "matching": StructuredAttention._matching,
        "lp-matching": StructuredAttention._lp_matching,
        "lp-sequence": StructuredAttention._lp_sequence,
    }
)
"""Solvers of each kind of matching, from scores ``(batch, n, m)`` and numbers of rows to weights.

No item may have more rows than columns.
"""

KINDS = ("softmax", *_OF_WIDE, "crf")


def _checked(scores: Tensor, lengths: Lengths | None) -> tuple[Tensor, Tensor]:
    """Check scores and lengths; return the scores in a floating dtype, and the lengths ``(batch, 2)``."""
    arguments.scores("scores", scores, "(batch, n, m)", 3)
    if scores.dim() > 3:
        raise ValueError(f"scores has shape {tuple(scores.shape)}; expected (batch, n, m)")
    batch, n, m = scores.shape
    lengths = lengths_of_pairs(lengths, batch, (n, m), scores.device)
    (scores,) = arguments.common_dtype((scores,), ("scores",))
    return scores, lengths


def lengths_of_pairs(
    lengths: Lengths | None, batch: int, sizes: tuple[int, int], device: torch.device
) -> Tensor:
    """Check the lengths of pairs of sequences, and return them on a device.

    Args:
        lengths: ``(batch, 2)``; None for sequences without padding.
        batch: Number of pairs.
        sizes: The padded lengths of the first and the second sequences.
        device: The device of the result.

    Returns:
        ``(batch, 2)``.

    Raises:
        ValueError: If the shape or type is wrong, or a length is not between 0 and the size of its sequence.
    """
    if lengths is None:
        return torch.tensor(sizes, device=device).expand(batch, 2)
    converted = as_tensor(lengths, "lengths")
    on_host = isinstance(converted, Tensor) and converted.is_cpu
    arguments.integers(
        "lengths", converted, f"({batch}, 2), rows and columns", converted.device if on_host else device
    )
    if converted.shape != (batch, 2):
        raise ValueError(f"lengths has shape {tuple(converted.shape)}; expected ({batch}, 2), rows and columns")
    one = torch.Size([batch])
    both = [
        arguments.lengths(converted[:, axis], one, size, device, f"lengths[:, {axis}]")
        for axis, size in enumerate(sizes)
    ]
    return torch.stack(both, 1)


def _turned(values: Tensor, tall: Tensor, shape: tuple[int, int], beyond: float) -> Tensor:
    """Transpose the tall items of ``(batch, n, m)``, then pad (with ``beyond``) or cut all items to a shape."""
    side = max(*values.shape[1:], *shape)
    square = functional.pad(values, (0, side - values.shape[2], 0, side - values.shape[1]), value=beyond)
    return torch.where(tall, square.mT, square)[:, : shape[0], : shape[1]]


def _require_matching(scores: Tensor, rows: Tensor) -> None:
    """Raise InfeasibleError if an item permits no matching: its factors would never agree."""
    _ = Matching(scores.detach(), rows).mode


def _shares(weights: Tensor, axis: int) -> Tensor:
    return weights / weights.sum(axis, keepdim=True).clamp(min=SMALLEST_SUM)
