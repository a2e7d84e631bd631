"""The operators of distributions, and of the enumerated tables that test them, with random arguments."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from strukt.testing.brute_force import Table
from strukt.testing.subject import Case


@dataclass(frozen=True)
class OperatorArguments:
    """The arguments of the operators: for a batch with a distribution, or for one item with a table.

    Attributes:
        event: A permitted structure of each item.
        known: Mask of the event entries that count as observed.
        values: The value of each part.
        required: Mask of parts that selects one part of the event, if it has any.
        forbidden: Mask of parts that the event does not use.
        other: A second distribution over the same structures, or its table.
    """

    event: Tensor
    known: Tensor
    values: Tensor
    required: Tensor
    forbidden: Tensor
    other: Any

    def at(self, index: Any, other: Any) -> OperatorArguments:
        """Return the arguments of some items of the batch, or of one item, with the given ``other``."""
        tensors = {name: value[index] for name, value in vars(self).items() if name != "other"}
        return OperatorArguments(**tensors, other=other)


@dataclass(frozen=True)
class Operator:
    """A member of a distribution that returns numbers.

    Attributes:
        name: The name of the member.
        of: A function of a distribution and arguments, or of an item's table and its arguments, to the value.
        smooth: Whether the value is twice differentiable, so that its derivatives can be checked numerically.
        reads: The field of the arguments in which the value is differentiable, "other" or "values"; None for none.
    """

    name: str
    of: Callable[[Any, OperatorArguments], Tensor]
    smooth: bool = True
    reads: str | None = None


OPERATORS = (
    Operator("log_partition", lambda d, _: d.log_partition),
    Operator("marginals", lambda d, _: d.marginals),
    Operator("max_score", lambda d, _: d.max_score),
    Operator("score", lambda d, q: d.score(q.event)),
    Operator("log_prob", lambda d, q: d.log_prob(q.event)),
    Operator("entropy", lambda d, _: d.entropy()),
    Operator("cross_entropy", lambda d, q: d.cross_entropy(q.other), reads="other"),
    Operator("partial_log_prob", lambda d, q: d.partial_log_prob(q.event, q.known)),
    Operator("condition", lambda d, q: d.condition(q.required, q.forbidden).marginals),
    Operator("expectation", lambda d, q: d.expectation(q.values), reads="values"),
    Operator("topk", lambda d, _: d.topk(5)[0], smooth=False),
    Operator("max_marginals", lambda d, _: d.max_marginals, smooth=False),
    Operator("log_count", lambda d, _: d.log_count, smooth=False),
)


def operators(case: Case) -> list[Operator]:
    """Return the operators that the structure of a case supports."""
    return [operator for operator in OPERATORS if operator.name not in case.subject.lacks]


def smooth_operators(case: Case) -> list[Operator]:
    """Return the operators that the structure of a case supports and that are twice differentiable."""
    return [operator for operator in operators(case) if operator.smooth]


def rival(case: Case) -> Case:
    """Return the items of a case with other scores, all finite."""
    drawn = case.subject.case(case.batch_shape, size=case.size, seed=2)
    return replace(drawn.map(lambda score: score.to(case.scores[0].dtype)), lengths=case.lengths)


def random_arguments(case: Case) -> OperatorArguments:
    """Return random arguments for a batch in which every item has a permitted structure."""
    generator = torch.Generator().manual_seed(3)
    rows = [_any_row(table.permitted, generator) for table in case.tables]
    event = case.stack([row.events[0] for row in rows])
    parts = case.stack([row.parts[0] > 0 for row in rows])
    return OperatorArguments(
        event=event,
        known=torch.rand(event.shape, generator=generator) < 0.5,
        values=torch.randn(parts.shape, generator=generator, dtype=torch.float64).to(case.scores[0].dtype),
        required=case.stack([first_entry(row.parts[0] > 0) for row in rows]),
        forbidden=(torch.rand(parts.shape, generator=generator) < 0.3) & ~parts,
        other=rival(case).distribution(),
    )


def truth(case: Case, operator: Operator, arguments: OperatorArguments, others: Case | None = None) -> Tensor:
    """Return the value of an operator for each item, computed by enumeration: ``batch + value shape``.

    ``others`` has the scores of ``arguments.other``, by default those of `rival`.
    """
    items = zip(case.indices, case.tables, (others or rival(case)).tables, strict=True)
    return case.stack([operator.of(table, arguments.at(index, other)) for index, table, other in items])


def _any_row(table: Table, generator: torch.Generator) -> Table:
    """Return the table of one random structure."""
    return table.rows(torch.randint(len(table.events), (1,), generator=generator))


def first_entry(mask: Tensor) -> Tensor:
    """Return a mask that keeps only the first True entry of a mask, in row-major order."""
    return mask & (mask.flatten().cumsum(0).reshape(mask.shape) == 1)
