"""Exact inference: the operators that need one call of an oracle of the structure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from typing_extensions import Self

from strukt.checks import arguments, guards
from strukt.inference.sparsemap import SparseMAP
from strukt.kernels.autograd import asks_for_gradient, is_plain
from strukt.kernels.places import LogProb, log_ratio
from strukt.kernels.semiring import NEG_INF, constant_at_zero, forbidden_only, precise_as_stored
from strukt.structures import impossible, max_marginals, topk
from strukt.structures.base import ScoredStructures
from strukt.structures.cached import cached
from strukt.structures.explanations import items
from strukt.structures.topk import TopK


class ExactInference(ScoredStructures):
    """Structures with exact sums, modes, samples and conditional distributions; see `ScoredStructures`."""

    def score(self, event: Tensor) -> Tensor:
        """Return the sum of the scores of an event's parts.

        Args:
            event: ``sample_shape + batch + event_shape``.

        Returns:
            ``sample_shape + batch``; -inf for events with a forbidden part. Differentiable.

        Raises:
            ValueError: If the events have a wrong shape or type, or (with ``validate_args``) one is not a
                structure; the message says which and why.
        """
        return self._score(self._checked(event))

    # Sums over all structures.

    @property
    @cached
    def log_partition(self) -> Tensor:
        """The log of the summed exponentiated scores, ``batch``; -inf without structures. Twice differentiable."""
        return self._to_batch(self.oracles.log_partition(*self._arguments()))

    @property
    @cached
    def marginals(self) -> Tensor:
        """The probability of each part, in the shape of the main scores; 0 in the padding. Differentiable."""
        return self._to_batch(self.oracles.marginals(*self._arguments())[0])

    def _marginals_beside(self, *shape: int) -> Tensor:
        """Return the marginals of the second scores, ``batch + shape``: by item, even if all items share them."""
        main, _, *rest = self._arguments()
        each = self.scores[1].expand(*self.batch_shape, *shape).reshape(self._batch_size(), *shape)
        return self._to_batch(self.oracles.marginals(main, each, *rest)[1])

    def log_prob(self, value: Tensor) -> Tensor:
        """Return the log-probability of events: ``sample_shape + batch``; -inf, a constant, if forbidden.

        Args:
            value: ``sample_shape + batch + event_shape``.

        Raises:
            ValueError: As for `score`. Events with a forbidden part are structures: `explain` names the part.

        Warns:
            UserWarning: Once (with ``validate_args``), if an event of probability 0 requires a gradient: its loss
                is infinite, and its gradient 0.
        """
        event = self._checked(value)
        log_prob = self._log_prob(event)
        if self._validate_args:
            impossible.warn_once(log_prob, lambda: self.explain(event) or "an event has probability 0")
        return log_prob

    def _log_prob(self, event: Tensor) -> Tensor:
        places = self._places(event)
        one_each = all(place.shape[:-1] == self.batch_shape for place in places or ())
        if places is None or not one_each or not is_plain() or not asks_for_gradient(self.scores):
            return log_ratio(self._score(event), self.log_partition)
        flat = places
        if len(self.batch_shape) != 1:
            flat = tuple(place.reshape(self._batch_size(), place.shape[-1]) for place in places)
        return self._to_batch(LogProb.apply(self.oracles, self._part_axes, flat, *self._arguments()))  # type: ignore[no-untyped-call]

    def explain(self, event: Tensor) -> str | None:
        """Explain why an event has probability 0: it is not a structure, or it uses a forbidden part.

        Args:
            event: ``sample_shape + batch + event_shape``.

        Returns:
            A sentence about the first event that is not a structure, or else about the first with a forbidden
            part. It names the item, and the fault or the score that is -inf. None if all events are possible.

        Raises:
            ValueError: If the event has a wrong shape or type.

        Examples:
            >>> from strukt import LinearChain
            >>> chain = LinearChain(torch.zeros(2, 3, 2), torch.tensor([[0.0, -torch.inf], [0.0, 0.0]]))
            >>> print(chain.explain(torch.tensor([[0, 0, 0], [1, 0, 1]])))  # doctest: +NORMALIZE_WHITESPACE
            the event of batch item 1 has probability 0: transition[0, 1] is -inf for tag 1 at position 2
            after tag 0
        """
        return items.explain(self, arguments.event(event, self.batch_shape, self.event_shape))

    def entropy(self) -> Tensor:
        """Return the entropy in nats, ``batch``; 0 without structures. Differentiable."""
        return self._to_batch(self.oracles.entropy(*self._arguments()))

    def cross_entropy(self, other: Self) -> Tensor:
        """Return -E[log other] in nats, ``batch``; +inf if ``other`` forbids a structure that this one allows.

        Batch shapes broadcast. If it is infinite for an item, all its derivatives are 0, so that a loss may leave
        the item out. If this distribution has no structure for an item, it is 0, with the gradient 0. All of this
        also holds for ``torch.distributions.kl_divergence``.

        Raises:
            NotImplementedError: If ``other`` is a distribution over other structures.
            ValueError: If the shapes do not fit together, or (with ``validate_args``) lengths or constants differ.
        """
        left, right = self._aligned(other)
        mine, theirs = left._arguments(), right._arguments()
        count = len(self.scores)
        dtype = torch.promote_types(self.scores[0].dtype, other.scores[0].dtype)
        scores, others = [], []
        for score, other_score in zip(mine[:count], theirs[:count], strict=True):
            shape = arguments.broadcast_shapes(score.shape, other_score.shape)
            scores.append(score.expand(shape).to(dtype))
            others.append(other_score.expand(shape).to(dtype))
        value = self.oracles.cross_entropy(tuple(scores), tuple(others), *mine[count:])
        return left._to_batch(constant_at_zero(value))  # 0 is a minimum, or an item without structures

    def expectation(self, values: Tensor) -> Tensor:
        """Return the expected sum of the ``values`` of the main parts that a structure uses: ``batch``.

        Values of parts that have probability 0 are ignored, even NaN.

        Raises:
            ValueError: If the values do not broadcast to the main scores.
        """
        marginals = self.marginals
        arguments.fitting("values", values, marginals.shape)
        used = torch.where(marginals == 0, torch.zeros_like(marginals), marginals * values)
        return used.flatten(len(self.batch_shape)).sum(-1)

    @property
    @cached
    def log_count(self) -> Tensor:
        """The log of the number of structures that are not forbidden: ``batch``; -inf if there is none."""
        return self._with_scores(*(forbidden_only(score) for score in self.scores)).log_partition

    # Best structures.

    @property
    def mode(self) -> Tensor:
        """A structure with the highest score: ``batch + event_shape``.

        Raises:
            InfeasibleError: If every structure of some item is forbidden.
        """
        events, scores = self._best()
        guards.require_feasible(events, scores)
        return self._to_batch(events)

    @cached
    def _best(self) -> tuple[Tensor, Tensor]:
        """Return a best event of each item, and its score, with one batch axis."""
        return self.oracles.best(*self._arguments())

    @property
    def max_score(self) -> Tensor:
        """The highest score, ``batch``; -inf without structures. Its gradient is the parts of the mode."""
        events, scores = self._best()
        return self._exact_scores(self._to_batch(events), self._to_batch(scores))

    def topk(self, k: int) -> TopK:
        """Return the k best structures.

        Returns:
            A named pair of ``scores``, ``batch + (k,)`` in descending order, and ``events``, ``batch + (k,) +
            event_shape``; padded with -inf and -1 if there are fewer than k structures. Its members ``log_probs``
            and ``probs``, ``batch + (k,)``, are computed on access.

        Raises:
            ValueError: If k is not an integer of 1 or more.
        """
        k = arguments.positive_integer("k", k)
        return topk.topk(self, k)

    @property
    def max_marginals(self) -> Tensor:
        """For each part, the best score of a structure that uses it, in the shape of the main scores.

        It is -inf for parts that no permitted structure uses, and in the padding. The gradient of each entry is
        the 0/1 vector of the parts of such a structure.
        """
        return max_marginals.max_marginals(self)

    def _max_marginals(self) -> Tensor:
        """Return `max_marginals` computed without a kernel; differentiable any number of times."""
        return max_marginals.without_kernel(self)

    # Samples.

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Draw independent exact samples, by PyTorch's random generator: ``sample_shape + batch + event_shape``.

        Raises:
            InfeasibleError: If every structure of some item is forbidden.
            ValueError: If ``sample_shape`` is not a sequence of sizes; a number is not one.
        """
        shape = arguments.sample_shape(sample_shape, "sample")
        events, log_partition = self.oracles.sample(*self._arguments(), shape.numel())
        guards.require_feasible(events, log_partition)
        axis = len(self.batch_shape)
        return self._to_batch(events).movedim(axis, 0).reshape(shape + self.batch_shape + self.event_shape)

    # Other distributions made from this one.

    def condition(self, required: Tensor | None = None, forbidden: Tensor | None = None) -> Self:
        """Return the distribution given that all required parts and no forbidden part are used.

        Args:
            required: A Boolean mask in the shape of the main scores, ignored in the padding; None for no parts.
            forbidden: A second such mask. No structure is left if a required entry is not a part, or is forbidden.

        Raises:
            ValueError: If a mask is not Boolean, or has another shape.
            NotImplementedError: If parts cannot be required, as in `TableStructure`.
        """
        main, *others = self.scores
        if required is not None:
            arguments.mask("required", required, main.shape)
            main, *others = self._requiring(required & self._main_within())
        if forbidden is not None:
            arguments.mask("forbidden", forbidden, main.shape)
            main = main.masked_fill(forbidden, NEG_INF)
        return self._with_scores(main, *others)

    # Hooks of operators that search.

    def _distinguishing_parts(self, used: Tensor) -> Tensor:
        """Return the parts that distinguish a structure from all others, from a mask of the parts that it uses.

        By default, these are all used parts. Override it if another structure may use them and further parts.
        """
        return used

    def _sparsemap_in_closed_form(self) -> SparseMAP | None:
        """Return the result of `sparsemap` with one batch axis in closed form; None if there is no closed form."""
        return None

    def _in_double_precision(self) -> Self:
        """Return the distribution with scores in the precision in which `sparsemap` computes.

        Raises:
            InfeasibleError: If some item has no structure in the precision of its scores, but seems to have one in
                double precision.
        """
        return self._with_scores(*map(precise_as_stored, self.scores))

    @property
    def _most_parts(self) -> int:
        """The largest number of parts in a structure."""
        return math.prod(self.event_shape)

    def _events_of_parts(self, parts: Any, sizes: Any) -> Tensor:
        """Return the events ``(batch, k, *event)`` of lists of parts, as `sparse.events_of_parts` does."""
        raise NotImplementedError(f"{self} has no kernel that finds parts")

    # Shapes, checks, helpers.

    @property
    def _parts_within(self) -> Tensor:
        """A mask of the main parts within the lengths; it broadcasts to the main scores."""
        return self._main_within()

    def _checked(self, event: Tensor) -> Tensor:
        """Return events as a LongTensor of the right shape; with ``validate_args``, check that they are valid."""
        event = arguments.event(event, self.batch_shape, self.event_shape)
        if event.dim() < len(self.batch_shape) + len(self.event_shape):
            event = event.expand(self.batch_shape + self.event_shape)
        if self._validate_args:
            items.require_structures(self, event, self.is_structure(event))
        return event

    def _exact_scores(self, events: Tensor, scores: Tensor) -> Tensor:
        """Return the scores of events, differentiable; -inf where ``scores`` is -inf because there is no event."""
        return torch.where(scores == NEG_INF, NEG_INF, self._score(events))

    def _forbidden(self, event: Tensor) -> str | None:
        return items.forbidden_part(self, event)
