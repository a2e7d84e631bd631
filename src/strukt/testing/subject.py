"""The description of a structure that the conformance suite needs, and the random cases drawn from it."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from strukt.testing.brute_force import Table

if TYPE_CHECKING:
    from strukt.structures.distribution import StructuredDistribution

INFEASIBLE_ITEMS = "infeasible items"
ALWAYS_FEASIBLE = frozenset({INFEASIBLE_ITEMS})
"""The entry in ``lacks`` of subjects with a structure without parts, which forbidden parts never rule out."""


@dataclass(frozen=True)
class Subject:
    """A structure under test.

    Args:
        name: The name in messages of failures.
        make: ``make(*scores, lengths=None, validate_args=None)`` builds the distribution.
        enumerate: ``enumerate(length, *scores)`` lists all structures of one item, from its scores without batch
            dimensions. The order of the rows does not depend on the scores.
        draw: ``draw(generator, batch_shape, size)`` returns random float64 scores for items of ``size`` positions,
            first the tensor that has the shape of the marginals. A tensor without batch dimensions is shared.
        arguments: Name of each score argument, and its number of dimensions in one item.
        size: The number of positions in the largest item of a case; small enough to enumerate.
        free: Names of the score arguments whose last axis may have any size.
        lacks: Names of the members of the distribution that raise NotImplementedError; laws that need them are
            skipped. Add "infeasible items" if some structure has no parts, so that forbidden parts never rule out
            all structures.
        within: ``within(length, *scores)`` returns a mask of the entries that are not padding, for each score
            tensor of one item; None for the rule of `Case.padding`. The rule is wrong if structures of short items
            leave entries unused that are not padding.
        shortest: The smallest length above 0 that has structures.

    Examples:
        >>> from strukt import LinearChain
        >>> from strukt.testing.brute_force import chain
        >>> def draw(generator, batch_shape, size):
        ...     unary = torch.randn(*batch_shape, size, 2, generator=generator, dtype=torch.float64)
        ...     return unary, torch.randn(2, 2, generator=generator, dtype=torch.float64)
        >>> subject = Subject("LinearChain", LinearChain, chain, draw, {"unary": 2, "transition": 2})
        >>> case = subject.case((2,), lengths=[4, 2])
        >>> [len(table.events) for table in case.tables]
        [16, 4]
        >>> truth = case.stack([table.log_partition for table in case.tables])
        >>> torch.allclose(case.distribution().log_partition, truth)
        True
    """

    name: str
    make: Callable[..., StructuredDistribution]
    enumerate: Callable[..., Table]
    draw: Callable[[torch.Generator, tuple[int, ...], int], tuple[Tensor, ...]]
    arguments: Mapping[str, int]
    size: int = 4
    lacks: frozenset[str] = frozenset()
    free: frozenset[str] = frozenset()
    within: Callable[..., tuple[Tensor, ...]] | None = None
    shortest: int = 1

    def case(
        self,
        batch_shape: tuple[int, ...] = (2, 3),
        *,
        lengths: Sequence[int] | None = None,
        size: int | None = None,
        seed: int = 0,
    ) -> Case:
        """Return a case of random scores.

        Lengths above 0 without structures are raised to the shortest length that has some, and lengths above
        ``size`` are reduced to ``size``.

        Args:
            batch_shape: The batch dimensions.
            lengths: At least one length; repeated until each item has one. None for ``size``, 0, 1, ``size - 1``,
                ``size`` and 2.
            size: The padded length; that of the subject if None.
            seed: Random seed of the scores.
        """
        size = self.size if size is None else size
        cycle = itertools.cycle([size, 0, 1, size - 1, size, 2] if lengths is None else lengths)
        items = [
            min(max(length, self.shortest), size) if length else 0
            for length in itertools.islice(cycle, math.prod(batch_shape))
        ]
        scores = self.draw(torch.Generator().manual_seed(seed), batch_shape, size)
        return Case(self, tuple(scores), torch.tensor(items, dtype=torch.long).reshape(batch_shape), size)


@dataclass(frozen=True)
class Case:
    """A random test batch for one structure.

    Attributes:
        subject: The structure under test.
        scores: The score tensors, in the order of `Subject.arguments`.
        lengths: ``batch_shape``, the number of positions of each item.
        size: The padded length, the number of positions for which there are scores.
    """

    subject: Subject
    scores: tuple[Tensor, ...]
    lengths: Tensor
    size: int

    def distribution(self, validate_args: bool | None = None) -> StructuredDistribution:
        """Return the distribution under test.

        Args:
            validate_args: Whether to check values as well as shapes; if None, see
                `strukt.set_default_validate_args`.
        """
        return self.subject.make(*self.scores, lengths=self.lengths, validate_args=validate_args)

    @property
    def batch_shape(self) -> tuple[int, ...]:
        """The batch dimensions."""
        return tuple(self.lengths.shape)

    @property
    def indices(self) -> list[tuple[int, ...]]:
        """The index of each item."""
        return list(itertools.product(*map(range, self.batch_shape)))

    def at(self, tensors: Sequence[Tensor], index: tuple[int, ...]) -> list[Tensor]:
        """Return views of one item in tensors, without batch axes; tensors that items share are unchanged.

        Args:
            tensors: Tensors in the shapes of the scores.
            index: The index of the item, one of `indices`.
        """
        dimensions = self.subject.arguments.values()
        return [
            tensor[index if tensor.dim() > d else ()] for tensor, d in zip(tensors, dimensions, strict=True)
        ]

    def item(self, index: tuple[int, ...]) -> Case:
        """Return the item with an ``index`` among `indices`, as a case without batch dimensions."""
        return replace(self, scores=tuple(self.at(self.scores, index)), lengths=self.lengths[index])

    def expand(self, *batch_shape: int) -> Case:
        """Return a case without batch dimensions as a batch of equal items that share their memory.

        Args:
            batch_shape: The sizes of the batch axes.
        """
        copies = self.map(lambda score: score.expand(*batch_shape, *score.shape))
        return replace(copies, lengths=self.lengths.expand(batch_shape))

    def table(self) -> Table:
        """Return all structures of a case without batch dimensions."""
        return self.subject.enumerate(int(self.lengths), *self.scores)

    @cached_property
    def tables(self) -> list[Table]:
        """All structures of each item."""
        return [self.item(index).table() for index in self.indices]

    def stack(self, values: Sequence[Tensor]) -> Tensor:
        """Stack the ``values`` of all items, in the order of `indices`: ``batch_shape +`` the shape of a value.

        There must be at least one item.
        """
        return torch.stack(list(values)).reshape((*self.batch_shape, *values[0].shape))

    def with_scores(self, scores: Sequence[Tensor]) -> Case:
        """Return the case with other ``scores``, in the same shapes."""
        return replace(self, scores=tuple(scores))

    def map(self, function: Callable[[Tensor], Tensor]) -> Case:
        """Return the case with a ``function`` applied to every score tensor."""
        return self.with_scores([function(score) for score in self.scores])

    def leaves(self) -> Case:
        """Return the case with copies of the scores that require gradients."""
        return self.map(lambda score: score.detach().clone().requires_grad_())

    def used(self, choose: Callable[[Table], Table] = lambda table: table) -> list[Tensor]:
        """Return masks, in the shapes of the scores, of the entries that some structures use.

        Args:
            choose: Function of a table to the table of these structures; all structures by default.
        """
        masks = [torch.zeros_like(score, dtype=torch.bool) for score in self.scores]
        for index in self.indices:
            leaves = self.item(index).map(torch.zeros_like).leaves()
            total = choose(leaves.table()).scores.sum()
            gradients = torch.autograd.grad(total, leaves.scores, allow_unused=True, materialize_grads=True)
            for mask, gradient in zip(self.at(masks, index), gradients, strict=True):
                mask |= gradient > 0
        return masks

    def padding(self) -> list[Tensor]:
        """Return masks, in the shapes of the scores, of the entries that are padding.

        In tensors that grow with the length, these are the entries that some structure of the full length uses,
        but no structure of the item's length. Other tensors have no padding: a matrix of tag pairs is not padding,
        although a single tag does not use it. A subject for which this does not hold defines ``within``.
        """
        if self.subject.within is not None:
            return self._not_within(self.subject.within)
        longest = replace(self, lengths=torch.full_like(self.lengths, self.size)).used()
        larger = self.subject.case(self.batch_shape, size=self.size + 1)
        return [
            full & ~used if score.shape != more.shape else torch.zeros_like(used)
            for full, used, score, more in zip(longest, self.used(), self.scores, larger.scores, strict=True)
        ]

    def _not_within(self, within: Callable[..., tuple[Tensor, ...]]) -> list[Tensor]:
        """Return masks, in the shapes of the scores, of the entries of each item that ``within`` does not mark."""
        masks = [torch.zeros_like(score, dtype=torch.bool) for score in self.scores]
        for index in self.indices:
            inside = within(int(self.lengths[index]), *self.at(self.scores, index))
            for mask, allowed in zip(self.at(masks, index), inside, strict=True):
                mask |= ~allowed
        return masks
