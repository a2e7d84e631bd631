"""User-defined structures: a recursion as a table program, with a score for each of its weights."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar

import torch
from torch import Tensor
from typing_extensions import Self

from strukt.checks import arguments, guards
from strukt.checks.guards import UNBOUNDED
from strukt.checks.lengths import Lengths
from strukt.checks.validation import validates
from strukt.kernels.arrays import Array
from strukt.kernels.engine.oracles import TableOracles
from strukt.kernels.engine.program import Program
from strukt.kernels.engine.reference import TableProgram
from strukt.kernels.engine.sizes import needs_of
from strukt.kernels.places import Places
from strukt.kernels.semiring import NEG_INF, finite
from strukt.structures.explanations import sets
from strukt.structures.indicator import IndicatorStructure
from strukt.structures.table_structure import programs
from strukt.structures.table_structure.soundness import require_sound

MOST_CANDIDATES = 1 << 16
"""The largest number of structures to enumerate."""


class TableStructure(IndicatorStructure):
    """The structures of a recursion of your own, scored by the weights that they use.

    Args:
        program: The recursion, from `ProgramBuilder.build`. Each structure must have exactly one derivation, that
            is, one choice of a term in each sum from the total down to the leaves, and use a weight at most once.
        scores: ``batch + (weights,)``, a score for each weight, in the order of their numbers.
        lengths: ``batch``, the size of each item: 1 for the first total passed to ``build``, and so on, or 0 for
            the single empty structure; the largest size if None.
        validate_args: Whether to check values as well as shapes; the default of
            `strukt.set_default_validate_args` if None. The program is then also checked, the first time that it is
            used; not under ``torch.compile``.

    `StructuredDistribution` has the operators, and the rules for -inf, NaN and padding.

    Events are ``batch + (weights,)``: 1 for weights that are used, 0 for others. Scores of weights that an item of
    its size cannot use are ignored. `log_partition` and `mode` take time proportional to the number of terms of
    all sums; `max_marginals` takes one `mode` for each weight, and checking an event takes one. Weights cannot be
    required: `condition` with ``required``, `partial_log_prob` and `sample_without_replacement` raise
    NotImplementedError.

    Raises:
        ValueError: If shapes, types or values do not fit; with ``validate_args`` also if the program is wrong: if
            a sum has no terms, refers to cells or weights that do not exist, writes a leaf or a cell that another
            sum writes, uses a cell of its own stage or a later one, or lets a structure use a weight twice; or if
            weights are not used as often as declared, or their degrees do not have the same sum in all structures.
        StruktError: When a gradient is computed, if the structure and its program were discarded and many other
            programs have been used since.

    Examples:
        Sequences of 0 and 1 without two neighbouring ones:

        >>> import numpy as np
        >>> from strukt import ProgramBuilder
        >>> n = 5
        >>> p = ProgramBuilder()
        >>> weight = p.weights(np.ones((n, 2), bool))  # [t, v]: the value v at t
        >>> ways, one = p.cells(n, 2), p.cells()
        >>> p.leaf(one)
        >>> p.sum(ways[0], one, weight=weight[0], stage=0)
        >>> for t in range(1, n):
        ...     p.sum(ways[t, 0], ways[t - 1, 0], count=2, weight=weight[t, 0], stage=t)
        ...     p.sum(ways[t, 1], ways[t - 1, 0], weight=weight[t, 1], stage=t)
        >>> sequences = TableStructure(p.build(ways[:, 0], count=2), torch.zeros(10))
        >>> sequences.log_count.exp().round()
        tensor(13.)
        >>> sequences.marginals.reshape(n, 2)[:, 1]
        tensor([0.3846, 0.2308, 0.3077, 0.2308, 0.3846])
    """

    oracles = TableOracles(
        __package__,
        scores=("scores",),
        options=("int program",),
        reference=TableProgram(programs.build, axes=(1,), to_events=programs.used),
    )
    score_names: ClassVar[tuple[str, ...]] = ("scores",)

    def __init__(
        self,
        program: Program,
        scores: Tensor,
        lengths: Lengths | None = None,
        validate_args: bool | None = None,
    ) -> None:
        if not isinstance(program, Program):
            raise ValueError(
                f"program is a {type(program).__name__}; expected a strukt.Program, from ProgramBuilder.build"
            )
        arguments.scores("scores", scores, "batch + (weights,)", 1)
        weights, sizes = len(program.places), len(program.ends)
        if scores.shape[-1] != weights:
            raise ValueError(
                f"scores has shape {tuple(scores.shape)}; expected batch + ({weights},), one for each weight of "
                "the program"
            )
        if not torch.compiler.is_compiling():
            programs.keep(program)
            if validates(validate_args):
                require_sound(program)
        self.program = program
        self.extents = ([weights - sizes],)
        super().__init__((scores,), lengths, (program.number,), validate_args)

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore the state, with the number that the program has in this process."""
        programs.keep(state["program"])
        self.__dict__.update(state, options=(state["program"].number,))

    def _are_structures(self, event: Tensor) -> Tensor:
        return self._apply(self._are_their_best, event, axes=1)  # type: ignore[no-any-return]

    def _are_their_best(self, events: Tensor, lengths: Tensor) -> Tensor:
        """Return a mask ``(rows,)`` of the events ``(rows, weights)`` that are structures.

        If the weights of an event score 1 and all others -inf, the best structure must use all of them.
        """
        marked = (events == 0) | (events == 1)
        scores = torch.where(events > 0, 1.0, NEG_INF)
        most = self.oracles.best(scores, lengths, *self.options)[1]
        return marked.all(-1) & (most == events.sum(-1))

    def _fault(self, event: Any, length: int, constants: Sequence[Any]) -> str | None:
        fault = sets.vector(event, len(event))
        if fault or bool(self._are_their_best(torch.tensor([event]), torch.tensor([length]))):
            return fault
        return "no structure of the program uses these weights and no others"

    @property
    def _within(self) -> Tensor:
        return torch.ones_like(self.scores[0], dtype=torch.bool)

    def _places(self, event: Tensor) -> Places:
        return (torch.where(event > 0, torch.arange(event.shape[-1], device=event.device), -1),)

    def _events_of_parts(self, parts: Array, sizes: Array) -> Tensor:
        each = torch.from_numpy(parts).long()
        batch, k, _ = each.shape
        exists = torch.arange(k) < torch.from_numpy(sizes)[:, None]
        count = self.event_shape[0]
        named = torch.where(exists.unsqueeze(-1) & (each >= 0), each, count)  # all others go to an extra column
        events = torch.zeros(batch, k, count + 1, dtype=torch.int64).scatter(-1, named, 1)
        return events[..., :count].masked_fill(~exists.unsqueeze(-1), -1)

    def _max_marginals(self) -> Tensor:
        """Return `max_marginals`: add to one score after another a bonus by which the best structure uses it."""
        main = self.scores[0].detach().double().masked_fill(~self._needed, NEG_INF)
        bonus = 1.0 + 2.0 * finite(main).abs().sum(-1)
        result = []
        for weight in range(main.shape[-1]):
            raised = main.clone()
            raised[..., weight] += bonus
            events, scores = self._with_scores(raised)._best()
            events = self._to_batch(events)
            lacking = (events[..., weight] != 1) | (self._to_batch(scores) == NEG_INF)
            result.append(torch.where(lacking, NEG_INF, self._score(events)))
        return torch.stack(result, -1) if result else self.scores[0].clone()

    def _requiring(self, required: Tensor) -> tuple[Tensor, ...]:
        if bool(required.any()):
            raise NotImplementedError(
                "weights of a TableStructure cannot be required; forbid their alternatives instead"
            )
        return self.scores

    def sample_without_replacement(self, k: int) -> Tensor:
        raise NotImplementedError(f"{self} has no sample_without_replacement; topk({k}) gives the best structures")

    def partial_log_prob(self, event: Tensor, known: Tensor) -> Tensor:
        raise NotImplementedError(
            f"{self} has no partial_log_prob: weights cannot be required. Compare the log_partition of "
            "condition(forbidden=...) with that of all"
        )

    def _candidates(self) -> Tensor:
        zeros = torch.zeros(self.event_shape, dtype=torch.float64, device=self.scores[0].device)
        largest = type(self)(self.program, zeros, validate_args=False)
        log_count = largest.log_count.item()
        if log_count > math.log(MOST_CANDIDATES):
            raise ValueError(f"e^{log_count:.0f} structures are too many to enumerate")
        return largest.topk(max(round(math.exp(log_count)), 1)).events

    def _rebuilt(self, scores: tuple[Tensor, ...], lengths: Tensor, constants: tuple[Tensor, ...]) -> Self:
        return type(self)(self.program, scores[0], lengths, validate_args=False)

    @property
    def _needed(self) -> Tensor:
        """A mask of the weights that an item of its length may use: ``batch + (weights,)``."""
        needs = torch.from_numpy(needs_of(self.program)[1]).to(self.lengths.device)
        return needs < self.lengths.unsqueeze(-1)

    def _main_within(self) -> Tensor:
        return self._needed

    def _check_scores(self) -> None:
        if torch.compiler.is_compiling():
            return
        scores = self.scores[0].detach()
        read = scores.masked_fill(~self._needed, 0.0).reshape(self._batch_size(), scores.shape[-1])
        guards.require_scores(read, self._integers()[0], [UNBOUNDED], "scores")
