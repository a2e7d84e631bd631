"""Dependency trees: one head for each word, 0 for the root."""

from __future__ import annotations

import abc
from collections.abc import Sequence
from typing import Any, ClassVar

import torch
from torch import Tensor

from strukt.distributions.explanations import dependency
from strukt.distributions.positional import PositionalStructure
from strukt.kernels import arguments, eisner, matrix_tree
from strukt.kernels.lengths import Lengths
from strukt.kernels.oracles import Oracles


class _DependencyTree(PositionalStructure, abc.ABC):
    """What projective and non-projective trees share: arguments, scores and the check that heads are a tree."""

    score_names: ClassVar[tuple[str, ...]] = ("arcs",)
    extents = ([0, 1],)

    def __init__(
        self,
        arcs: Tensor,
        lengths: Lengths | None = None,
        single_root: bool = True,
        validate_args: bool | None = None,
    ) -> None:
        arguments.scores("arcs", arcs, "batch + (n, n + 1)", 2)
        n, heads = arcs.shape[-2:]
        if heads != n + 1:
            raise ValueError(
                f"arcs has shape {tuple(arcs.shape)}; expected batch + (n, n + 1): a row for each word, and in it "
                "the score of the root as head (column 0), then of each word"
            )
        self.single_root = single_root
        super().__init__((arcs,), lengths, (single_root,), validate_args)

    def is_structure(self, event: Tensor) -> Tensor:
        heads = torch.where(self._positions, event, 0)
        inside = (heads >= 0) & (heads <= self.lengths.unsqueeze(-1))
        tree = inside.all(-1) & _reaches_root(torch.where(inside, heads, 0))
        if self.single_root:
            roots = ((heads == 0) & self._positions).sum(-1)
            tree = tree & ((roots == 1) | (self.lengths == 0))
        return tree

    def _fault(self, event: Any, length: int, constants: Sequence[Any]) -> str | None:  # noqa: ARG002
        return dependency.tree(event, length, self.single_root, isinstance(self, ProjectiveTree))


class NonProjectiveTree(_DependencyTree):
    """All dependency trees: log-partition by the Matrix-Tree theorem, mode by Chu-Liu/Edmonds.

    Args:
        arcs: ``batch + (n, n + 1)``; ``[m, h]`` scores head h for word m + 1, and h = 0 is the root, so that a
            row of heads is a HEAD column of CoNLL-U. A word as its own head is ignored.
        lengths: ``batch``; all n if None.
        single_root: Whether exactly one word hangs on the root, or any number from one on.
        validate_args: Whether to check values as well as shapes.

    Events are heads ``batch + (n,)``. `log_partition` and `marginals` take O(n^3) time an item, `mode` O(n^2) and
    `topk` O(k n^2); a sample takes the cover time of the word graph, at most O(n^4).

    Raises:
        ValueError: If shapes, types or values do not fit.

    Examples:
        >>> trees = NonProjectiveTree(torch.zeros(4, 5))
        >>> trees.log_count.exp().round()
        tensor(64.)
        >>> NonProjectiveTree(torch.zeros(4, 5), single_root=False).log_count.exp().round()
        tensor(125.)
        >>> arcs = torch.tensor([[2.0, -9.0, 1.0], [1.9, 1.0, -9.0]])
        >>> NonProjectiveTree(arcs).mode
        tensor([0, 1])
    """

    oracles: ClassVar[Oracles] = matrix_tree.ORACLES


class ProjectiveTree(_DependencyTree):
    """Dependency trees without crossing arcs (Eisner 1996).

    Args:
        arcs: ``batch + (n, n + 1)``; ``[m, h]`` scores head h for word m + 1, and h = 0 is the root, so that a
            row of heads is a HEAD column of CoNLL-U. A word as its own head is ignored.
        lengths: ``batch``; all n if None.
        single_root: Whether exactly one word hangs on the root, or any number from one on.
        validate_args: Whether to check values as well as shapes.

    Events are heads ``batch + (n,)``. All operators take O(n^3) time an item (`sample`, and `topk`
    on CPUs, O(n^2) more a tree; `topk` k^2 times that in the reference); `log_partition` keeps O(n^2) memory
    for its gradient.

    Raises:
        ValueError: If shapes, types or values do not fit.

    Examples:
        >>> trees = ProjectiveTree(torch.zeros(4, 5))
        >>> trees.log_count.exp().round()
        tensor(30.)
        >>> trees.marginals[0]
        tensor([0.4000, 0.0000, 0.2333, 0.1333, 0.2333])
    """

    oracles: ClassVar[Oracles] = eisner.ORACLES

    def is_structure(self, event: Tensor) -> Tensor:
        heads = torch.where(self._positions, event, 0)
        words = torch.arange(1, event.shape[-1] + 1, device=event.device)
        low, high = torch.minimum(heads, words), torch.maximum(heads, words)
        starts = low.unsqueeze(-1) < low.unsqueeze(-2)
        inside = low.unsqueeze(-2) < high.unsqueeze(-1)
        ends = high.unsqueeze(-1) < high.unsqueeze(-2)
        both = self._positions.unsqueeze(-1) & self._positions.unsqueeze(-2)
        crossing = (starts & inside & ends & both).flatten(-2).any(-1)
        return super().is_structure(event) & ~crossing


def _reaches_root(heads: Tensor) -> Tensor:
    """Whether every word reaches the root through its heads, by doubling the path in each step."""
    above = torch.cat([torch.zeros_like(heads[..., :1]), heads], -1)
    for _ in range(heads.shape[-1].bit_length()):
        above = above.gather(-1, above)
    return (above == 0).all(-1)
