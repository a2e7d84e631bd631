"""Truth by enumeration: all structures of one small item in a table, operators as sums and maxima over it.

Nothing here shares code with the distributions that it judges. An enumerator takes the length and the raw
scores of one item and returns a `Table`, which has the members of a distribution. All arithmetic is float64
and stays differentiable in the scores.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache

import torch
from torch import Tensor

__all__ = ["Table", "chain", "non_projective_tree", "projective_tree", "span_tree"]


@dataclass(frozen=True)
class Table:
    """Every structure of one item, a row each, with its score.

    Attributes:
        events: Compact events, `(rows, *event)`; -1 beyond the item's length.
        parts: The same structures as 0/1 vectors of parts, `(rows, *parts)`.
        scores: The score of each, `(rows,)`; -inf if it uses a forbidden part.

    Example:
        >>> table = chain(2, torch.zeros(2, 3), torch.zeros(3, 3))
        >>> len(table.events), round(table.log_count.exp().item())
        (9, 9)
    """

    events: Tensor
    parts: Tensor
    scores: Tensor

    @property
    def permitted(self) -> Table:
        """The rows whose score is above -inf."""
        return self.rows(self.scores > -math.inf)

    def rows(self, choice: Tensor) -> Table:
        """The chosen rows, given by a mask or by indices."""
        return Table(self.events[choice], self.parts[choice], self.scores[choice])

    def find(self, event: Tensor) -> Tensor:
        """Mask of the rows that hold `event`: one row, or none if it is not a structure of this item."""
        return (self.events == event).flatten(1).all(1)

    @property
    def log_partition(self) -> Tensor:
        """Log of the summed exponentiated scores."""
        return self.permitted.scores.logsumexp(0)

    @property
    def log_probs(self) -> Tensor:
        """Normalised scores of the permitted rows."""
        return self.permitted.scores.log_softmax(0)

    def expected(self, quantity: Tensor) -> Tensor:
        """Mean of a quantity that is given for each permitted row; 0 if there is none."""
        probabilities = self.log_probs.exp().reshape(-1, *[1] * (quantity.dim() - 1))
        return (probabilities * quantity).sum(0)

    @property
    def marginals(self) -> Tensor:
        """Probability of each part."""
        return self.expected(self.permitted.parts)

    @property
    def max_score(self) -> Tensor:
        """Score of the best structure, -inf if every structure is forbidden."""
        return self.topk(1)[0][0]

    def topk(self, k: int) -> tuple[Tensor, Tensor]:
        """The `k` best scores in descending order and their events, filled up with -inf and -1."""
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
        """Score of one structure."""
        return self.scores[self.find(event)].sum()

    def log_prob(self, event: Tensor) -> Tensor:
        """Normalised score of one structure."""
        return self.score(event) - self.log_partition

    def entropy(self) -> Tensor:
        """Entropy in nats."""
        return -self.expected(self.log_probs)

    def cross_entropy(self, other: Table) -> Tensor:
        """Mean negative log-probability that `other`, a table of the same structures, gives to this one's."""
        support = self.scores > -math.inf
        return -self.expected(other.scores[support] - other.log_partition)

    @property
    def max_marginals(self) -> Tensor:
        """Best score among the structures that use each part."""
        scores = self.scores.reshape(-1, *[1] * (self.parts.dim() - 1))
        choices = torch.where(self.parts > 0, scores, -math.inf)
        return choices.amax(0)

    def partial_log_prob(self, event: Tensor, known: Tensor) -> Tensor:
        """Log-probability of agreeing with `event` wherever `known` holds."""
        agrees = ((self.events == event) | ~known).flatten(1).all(1)
        return self.rows(agrees).log_partition - self.log_partition

    def condition(self, required: Tensor, forbidden: Tensor) -> Table:
        """The same structures, those forbidden that lack a required part or use a forbidden one."""
        used = self.parts > 0
        broken = ((required & ~used) | (forbidden & used)).flatten(1).any(1)
        return replace(self, scores=self.scores.masked_fill(broken, -math.inf))

    @property
    def log_count(self) -> Tensor:
        """Log of the number of permitted structures."""
        return self.scores.new_tensor(len(self.permitted.scores)).log()

    def expectation(self, values: Tensor) -> Tensor:
        """Expected sum of `values` over the parts used."""
        return (self.marginals * values).sum()

    def expected_count(self, event: Tensor) -> Tensor:
        """Expected number of parts that a random structure shares with `event`."""
        return (self.marginals * self.parts[self.find(event)].sum(0)).sum()

    @property
    def best_expected_count(self) -> Tensor:
        """The highest expected number of shared parts that any permitted structure reaches."""
        parts = self.permitted.parts
        return (parts * self.marginals).flatten(1).sum(1).max()


def chain(length: int, unary: Tensor, transition: Tensor) -> Table:
    """All tag sequences of a linear chain.

    Args:
        length: Number of positions in use.
        unary: `(n, c)`.
        transition: `(c, c)` or `(n - 1, c, c)`; `[i, j]` scores tag i followed by tag j.
    """
    n, c = unary.shape
    sequences = list(itertools.product(range(c), repeat=length))
    events, parts = _choices(sequences, n, c)
    tags = events[:, :length]
    steps = transition.double().expand(max(n - 1, 0), c, c)[: max(length - 1, 0)]
    node_scores = unary.double()[torch.arange(length), tags].sum(1)
    step_scores = steps[torch.arange(len(steps)), tags[:, :-1], tags[:, 1:]].sum(1)
    return Table(events, parts, node_scores + step_scores)


def non_projective_tree(length: int, arcs: Tensor, single_root: bool = True) -> Table:
    """All dependency trees.

    Args:
        length: Number of words in use.
        arcs: `(n, n + 1)`; `[m, h]` scores head h for word m + 1, head 0 is the root.
        single_root: Whether exactly one word hangs from the root.
    """
    return _trees(_dependency_trees(length, single_root), length, arcs)


def projective_tree(length: int, arcs: Tensor, single_root: bool = True) -> Table:
    """All dependency trees in which every subtree covers a contiguous span.

    The arguments are those of `non_projective_tree`.
    """
    trees = [heads for heads in _dependency_trees(length, single_root) if _is_projective(heads)]
    return _trees(trees, length, arcs)


def span_tree(length: int, spans: Tensor, labelled: bool) -> Table:
    """All binary trees over spans.

    Args:
        length: Number of words in use.
        spans: `(n + 1, n + 1)`, or `(n + 1, n + 1, c)` with labels; `[i, j]` scores the span from i to j > i.
        labelled: Whether there is an axis of labels.
    """
    scores = (spans if labelled else spans[..., None]).double()
    size, labels = scores.shape[1:]
    events, parts, totals = [], [], []
    for tree in _bracketings(tuple(range(length + 1))):
        for choice in itertools.product(range(labels), repeat=len(tree)):
            event = torch.full((size, size), -1, dtype=torch.long)
            part = torch.zeros(size, size, labels, dtype=torch.float64)
            for (start, end), label in zip(tree, choice, strict=True):
                event[start, end] = label
                part[start, end, label] = 1
            events.append(event)
            parts.append(part if labelled else part[..., 0])
            starts, ends = torch.tensor(tree, dtype=torch.long).reshape(-1, 2).unbind(1)
            totals.append(scores[starts, ends, torch.tensor(choice, dtype=torch.long)].sum())
    return Table(torch.stack(events), torch.stack(parts), torch.stack(totals))


def _bracketings(posts: tuple[int, ...]) -> list[list[tuple[int, int]]]:
    """The spans of every way to bracket what stands between fenceposts, one bracket with two parts at a time."""
    if len(posts) < 2:
        return [[]]
    whole = (posts[0], posts[-1])
    if len(posts) == 2:
        return [[whole]]
    found = []
    for middle in range(1, len(posts) - 1):
        lefts, rights = _bracketings(posts[: middle + 1]), _bracketings(posts[middle:])
        found += [[whole, *left, *right] for left in lefts for right in rights]
    return found


def _trees(trees: Sequence[Sequence[int]], length: int, arcs: Tensor) -> Table:
    n = arcs.shape[0]
    events, parts = _choices(trees, n, n + 1)
    return Table(events, parts, arcs.double()[torch.arange(length), events[:, :length]].sum(1))


def _choices(sequences: Sequence[Sequence[int]], n: int, alternatives: int) -> tuple[Tensor, Tensor]:
    """Sequences of choices as events `(rows, n)`, padded with -1, and as parts `(rows, n, alternatives)`."""
    padded = [[*sequence, *[-1] * (n - len(sequence))] for sequence in sequences]
    events = torch.tensor(padded, dtype=torch.long).reshape(len(padded), n)
    return events, (events[..., None] == torch.arange(alternatives)).double()


@cache
def _dependency_trees(length: int, single_root: bool) -> list[tuple[int, ...]]:
    candidates = itertools.product(range(length + 1), repeat=length)
    words = range(1, length + 1)
    trees = [heads for heads in candidates if all(0 in _ancestors(heads, word) for word in words)]
    return [heads for heads in trees if not single_root or heads.count(0) == 1 or length == 0]


def _ancestors(heads: Sequence[int], word: int) -> set[int]:
    """What is met on the way up from a word: the word itself, then up to the root or round a cycle."""
    met: set[int] = set()
    while word not in met:
        met.add(word)
        word = heads[word - 1] if word else 0
    return met


def _is_projective(heads: Sequence[int]) -> bool:
    words = range(1, len(heads) + 1)
    subtrees = [[word for word in words if top in _ancestors(heads, word)] for top in words]
    return all(subtree[-1] - subtree[0] + 1 == len(subtree) for subtree in subtrees)
