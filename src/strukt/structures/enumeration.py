"""Ground truth for tests: a table of all structures of a small item; operators are sums and maxima of rows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor


@dataclass(frozen=True)
class Table:
    """All structures of one item, one in each row, with their scores.

    Attributes:
        events: ``(rows, *event_shape)``, the structures as events; -1 in the padding.
        parts: ``(rows, *part_shape)``, the structures as 0/1 tensors of parts, in the shape of the marginals.
        scores: ``(rows,)``, the score of each structure; -inf if it uses a forbidden part.

    Examples:
        >>> from strukt.testing.brute_force import chain
        >>> table = chain(2, torch.zeros(2, 3), torch.zeros(3, 3))
        >>> len(table.events), round(table.log_count.exp().item())
        (9, 9)
    """

    events: Tensor
    parts: Tensor
    scores: Tensor

    @property
    def permitted(self) -> Table:
        """The table of the rows whose score is above -inf."""
        return self.rows(self.scores > -math.inf)

    def rows(self, choice: Tensor) -> Table:
        """Return a table of some rows.

        Args:
            choice: Indices of rows ``(k,)``, or a mask ``(rows,)``.
        """
        return Table(self.events[choice], self.parts[choice], self.scores[choice])

    def find(self, event: Tensor) -> Tensor:
        """Return a mask ``(rows,)`` of the row that holds ``event``; all False if it is not a structure."""
        return (self.events == event).flatten(1).all(1)

    @property
    def log_partition(self) -> Tensor:
        """The log of the summed exponentiated scores; -inf if every structure is forbidden."""
        return self.permitted.scores.logsumexp(0)

    @property
    def log_probs(self) -> Tensor:
        """The log-probabilities of the structures of `permitted`, one for each of its rows."""
        return self.permitted.scores.log_softmax(0)

    def expected(self, quantity: Tensor) -> Tensor:
        """Return the mean of a quantity under the distribution; 0 if every structure is forbidden.

        Args:
            quantity: ``(rows, ...)``, its value for each row of `permitted`.
        """
        probabilities = self.log_probs.exp().reshape(-1, *[1] * (quantity.dim() - 1))
        return (probabilities * quantity).sum(0)

    @property
    def marginals(self) -> Tensor:
        """The probability of each part, ``part_shape``; 0 if every structure is forbidden."""
        return self.expected(self.permitted.parts)

    @property
    def max_score(self) -> Tensor:
        """The score of the best structure, -inf if every structure is forbidden."""
        return self.topk(1)[0][0]

    def topk(self, k: int) -> tuple[Tensor, Tensor]:
        """Return the ``k`` best scores in descending order and their events, padded with -inf and -1.

        Returns:
            The scores ``(k,)`` and the events ``(k, *event_shape)``.
        """
        scores, order = self.scores.sort(descending=True, stable=True)
        events = torch.where(
            (scores > -math.inf).reshape(-1, *[1] * (self.events.dim() - 1)), self.events[order], -1
        )
        missing = max(k - len(scores), 0)
        return (
            torch.cat([scores[:k], scores.new_full((missing,), -math.inf)]),
            torch.cat([events[:k], events.new_full((missing, *events.shape[1:]), -1)]),
        )

    def score(self, event: Tensor) -> Tensor:
        """Return the score of ``event``, a number ``()``; 0 if it is not a structure of this item."""
        return self.scores[self.find(event)].sum()

    def log_prob(self, event: Tensor) -> Tensor:
        """Return the log-probability of ``event``, a structure of this item: ``()``."""
        return self.score(event) - self.log_partition

    def entropy(self) -> Tensor:
        """Return the entropy in nats: ``()``."""
        return -self.expected(self.log_probs)

    def cross_entropy(self, other: Table) -> Tensor:
        """Return -E[log other] in nats: ``()``; ``other`` is a table of the same structures in the same order."""
        support = self.scores > -math.inf
        return -self.expected(other.scores[support] - other.log_partition)

    @property
    def max_marginals(self) -> Tensor:
        """For each part, the best score of a structure that uses it, ``part_shape``; -inf if none does."""
        scores = self.scores.reshape(-1, *[1] * (self.parts.dim() - 1))
        choices = torch.where(self.parts > 0, scores, -math.inf)
        return choices.amax(0)

    def partial_log_prob(self, event: Tensor, known: Tensor) -> Tensor:
        """Return the log-probability ``()`` of agreeing with ``event`` where ``known`` is True.

        Args:
            event: ``event_shape``; entries that are not known are ignored.
            known: ``event_shape``, Boolean.
        """
        agrees = ((self.events == event) | ~known).flatten(1).all(1)
        return self.rows(agrees).log_partition - self.log_partition

    def condition(self, required: Tensor, forbidden: Tensor) -> Table:
        """Return the table with score -inf for structures that lack a required part or use a forbidden part.

        Args:
            required: ``part_shape``, a mask of required parts.
            forbidden: ``part_shape``, a mask of forbidden parts.
        """
        used = self.parts > 0
        broken = ((required & ~used) | (forbidden & used)).flatten(1).any(1)
        return replace(self, scores=self.scores.masked_fill(broken, -math.inf))

    @property
    def log_count(self) -> Tensor:
        """The log of the number of permitted structures; -inf if there is none."""
        return self.scores.new_tensor(len(self.permitted.scores)).log()

    def expectation(self, values: Tensor) -> Tensor:
        """Return the expected sum of ``values`` over the parts of a random structure: ``()``.

        Args:
            values: ``part_shape``, a value for each part.
        """
        return (self.marginals * values).sum()

    def expected_count(self, event: Tensor) -> Tensor:
        """Return the expected number of parts that a random structure has in common with ``event``: ``()``."""
        return (self.marginals * self.parts[self.find(event)].sum(0)).sum()

    @property
    def best_expected_count(self) -> Tensor:
        """The largest `expected_count` of a permitted structure; there must be one."""
        parts = self.permitted.parts
        return (parts * self.marginals).flatten(1).sum(1).max()


def choices(sequences: Sequence[Sequence[int]], n: int, alternatives: int) -> tuple[Tensor, Tensor]:
    """Convert sequences of choices to the events and the parts of a `Table`.

    Args:
        sequences: For each structure, the number of the chosen alternative at each position; at most n positions.
        n: Number of positions, padding included.
        alternatives: Number of alternatives at each position.

    Returns:
        The events ``(rows, n)``, padded with -1, and the parts ``(rows, n, alternatives)``, 0.0 or 1.0 in float64,
        with a row for each sequence.

    Examples:
        >>> events, parts = choices([[0, 1], [1, 1]], n=3, alternatives=2)  # two positions and one of padding
        >>> events
        tensor([[ 0,  1, -1],
                [ 1,  1, -1]])
        >>> parts[0]
        tensor([[1., 0.],
                [0., 1.],
                [0., 0.]], dtype=torch.float64)
    """
    padded = [[*sequence, *[-1] * (n - len(sequence))] for sequence in sequences]
    events = torch.tensor(padded, dtype=torch.long).reshape(len(padded), n)
    return events, (events[..., None] == torch.arange(alternatives)).double()
