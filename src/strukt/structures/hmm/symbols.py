"""Emissions of words: a table, vectors of words and states, or words that belong to one block of states each."""

from __future__ import annotations

import abc

import torch
from torch import Tensor, distributions
from typing_extensions import Self

from strukt.checks import arguments
from strukt.kernels.semiring import NEG_INF
from strukt.structures.hmm.blocked import Blocks
from strukt.structures.hmm.emissions import Emission, Parameters, Scored
from strukt.structures.hmm.normaliser import log_softmax_columns, log_totals
from strukt.structures.hmm.priors import (
    EmissionPrior,
    concentration_of,
    dirichlet_log_density,
    with_dirichlet,
)
from strukt.structures.hmm.reference import safe_log
from strukt.structures.hmm.transitions import free_numbers, log_total, redrawn, updated


class Symbols(Emission):
    """The probabilities of v words in each of z states.

    A subclass implements the log-probabilities of some words, and of some states, from any parameters.
    """

    @property
    @abc.abstractmethod
    def words(self) -> int:
        """The number of words, v."""

    @abc.abstractmethod
    def of_words(self, words: Tensor) -> Tensor:
        """Return the log-probabilities ``(u, z)`` of words ``(u,)`` in all states; differentiable."""

    def of_own_states(self, words: Tensor) -> tuple[Tensor, Blocks] | None:
        """Return the log-probabilities ``(u, k)`` of words in the states of their blocks; None without blocks."""
        return None

    @abc.abstractmethod
    def of_states(self, states: Tensor) -> Tensor:
        """Return the log-probabilities ``(m, v)`` of all words in states ``(m,)``; differentiable."""

    def table(self) -> Tensor:
        """Return the log-probabilities of all words in all states, ``(v, z)``."""
        return self.of_words(torch.arange(self.words, device=self.parameters[0].device))

    def require_observations(self, x: Tensor) -> None:
        arguments.integers("x", x, "(*, n)", self.parameters[0].device)

    def valid(self, x: Tensor) -> tuple[Tensor, str]:
        expected = f"words from 0 to {self.words - 1}, as there are {self.words} in the vocabulary"
        return (x >= 0) & (x < self.words), expected

    def scored(self, values: Tensor) -> Scored:
        used, rows = torch.unique(values.long(), return_inverse=True)
        return Scored(rows, self.of_words(used))

    def scored_by_block(self, values: Tensor) -> Scored:
        used, rows = torch.unique(values.long(), return_inverse=True)
        own = self.of_own_states(used)
        return Scored(rows, self.of_words(used)) if own is None else Scored(rows, *own)

    def statistics(self, values: Tensor, weights: Tensor) -> Tensor:
        """Return the expected number of uses of words in states, ``(z, v)``."""
        counts = weights.new_zeros(self.states, self.words)
        return counts.index_copy(1, torch.unique(values.long()), weights.mT)

    def log_prior(self, prior: EmissionPrior) -> Tensor:
        concentration = concentration_of(prior, type(self).__name__)
        if isinstance(concentration, float | int) and concentration == 1:
            return self.parameters[0].new_zeros(())
        return dirichlet_log_density(self.table().mT, concentration)

    def drawn(self, states: Tensor) -> Tensor:
        chances = self.of_states(states).exp()
        return torch.multinomial(chances, 1).squeeze(1) if len(states) else states

    def mixture(self, probs: Tensor) -> distributions.Categorical:
        return distributions.Categorical(logits=words_of_states(probs, self.table()), validate_args=False)

    def redrawn(self, values: Tensor) -> Self:
        return self.from_unconstrained(tuple(map(redrawn, self.unconstrained())))


def words_of_states(states: Tensor, table: Tensor) -> Tensor:
    """Return the log-probabilities of words ``(*, v)`` for probabilities of states ``(*, z)``."""
    top = table.detach().amax(1)
    top = torch.where(top == NEG_INF, 0.0, top)
    return safe_log(states @ (table - top.unsqueeze(1)).exp().mT) + top


class Categorical(Symbols):
    """A table of the probabilities of words in states.

    Args:
        logits: ``(z, v)``; a softmax over each row gives the probabilities. A row of only -inf has probabilities
            0.

    Examples:
        >>> Categorical(torch.tensor([[0.0, 0.0], [0.0, -torch.inf]])).table().exp()
        tensor([[0.5000, 1.0000],
                [0.5000, 0.0000]])
    """

    def __init__(self, logits: Tensor) -> None:
        arguments.scores("emission", logits, "(z, v)", 2)
        if logits.dim() != 2 or not logits.numel():
            raise ValueError(f"emission has shape {tuple(logits.shape)}; expected (z, v) with z, v >= 1")
        (self.logits,) = arguments.common_dtype((logits,), ("emission",))

    @property
    def parameters(self) -> tuple[Tensor, ...]:
        return (self.logits,)

    @property
    def words(self) -> int:
        return self.logits.shape[1]

    def of_words(self, words: Tensor) -> Tensor:
        return log_softmax_columns(self.logits, words)

    def of_states(self, states: Tensor) -> Tensor:
        return self.logits[states] - self._normaliser()[states].unsqueeze(1)

    def select(self, states: Tensor) -> Self:
        return type(self)(self.logits[states])

    def maximised(self, statistics: Tensor, prior: EmissionPrior = None) -> Self:
        concentration = concentration_of(prior, "Categorical")
        counts = with_dirichlet(statistics, self.logits > NEG_INF, concentration)
        return type(self)(updated(self.logits, counts, 1).detach())

    @property
    def free_parameters(self) -> int:
        return free_numbers(self.logits, 1)

    def _normaliser(self) -> Tensor:
        total = log_total(self.logits, 1)
        return torch.where(total == NEG_INF, 0.0, total)


class Embedded(Symbols):
    """Words and states as vectors: p(word | state) proportional to exp(state word + bias).

    The vectors of words may be those of another layer (tied). No table of states and words is computed, only the
    log-probabilities of words that occur; the normaliser of each state is a sum over the words in parts, in O(z v
    d) time and O(z + v) memory.

    Args:
        vectors: ``(z, d)``, the vectors of the states.
        word_vectors: ``(v, d)``, the vectors of the words.
        bias: ``(v,)``, zeros if None; -inf forbids a word in all states.

    Examples:
        >>> vectors, word_vectors = torch.randn(5, 4), torch.randn(100, 4)
        >>> Embedded(vectors, word_vectors).table().exp().sum(0)
        tensor([1.0000, 1.0000, 1.0000, 1.0000, 1.0000])
    """

    def __init__(self, vectors: Tensor, word_vectors: Tensor, bias: Tensor | None = None) -> None:
        arguments.scores("vectors", vectors, "(z, d)", 2)
        arguments.scores("word_vectors", word_vectors, "(v, d)", 2)
        bias = word_vectors.new_zeros(len(word_vectors)) if bias is None else bias
        arguments.scores("bias", bias, "(v,)", 1)
        fits = vectors.dim() == word_vectors.dim() == 2 and vectors.shape[1] == word_vectors.shape[1]
        if not fits or bias.shape != word_vectors.shape[:1] or not len(vectors) or not len(word_vectors):
            raise ValueError(
                f"the shapes do not fit together: vectors {tuple(vectors.shape)}, word_vectors "
                f"{tuple(word_vectors.shape)}, bias {tuple(bias.shape)}; expected (z, d), (v, d), (v,), z, v >= 1"
            )
        given = (vectors, word_vectors, bias)
        names = ("vectors", "word_vectors", "bias")
        self.vectors, self.word_vectors, self.bias = arguments.common_dtype(given, names)

    @property
    def parameters(self) -> tuple[Tensor, ...]:
        return self.vectors, self.word_vectors, self.bias

    @property
    def words(self) -> int:
        return len(self.word_vectors)

    def of_words(self, words: Tensor) -> Tensor:
        scores = self.word_vectors[words] @ self.vectors.mT
        return scores + self.bias[words].unsqueeze(1) - log_totals(*self.parameters)

    def of_states(self, states: Tensor) -> Tensor:
        return (self.vectors[states] @ self.word_vectors.mT + self.bias).log_softmax(1)

    def select(self, states: Tensor) -> Self:
        return type(self)(self.vectors[states], self.word_vectors, self.bias)

    @property
    def free_parameters(self) -> int:
        """The number of entries of the vectors and the biases."""
        return sum(parameter.numel() for parameter in self.parameters)

    def maximised(self, statistics: Tensor, prior: EmissionPrior = None) -> Self:
        raise NotImplementedError(
            "emissions from vectors have no closed form for the best parameters given counts; use gradients, "
            "fit(x, lengths, optimizer=torch.optim.Adam), or a table of emissions"
        )

    def redrawn(self, values: Tensor) -> Self:
        vectors, word_vectors = (torch.randn_like(value) for value in (self.vectors, self.word_vectors))
        return type(self)(vectors * vectors.shape[1] ** -0.5, word_vectors, self.bias)


class Blocked(Symbols):
    """Emissions in which each word belongs to one block of states (Chiu and Rush 2020).

    The z states form b blocks: states 0 to z / b - 1 are the first one, and so on.

    Args:
        logits: ``(z / b, v)``, of each word in each state of its block.
        blocks: ``(v,)``, the block of each word, 0 to b - 1.
        count: The number of blocks, b.

    Examples:
        >>> Blocked(torch.zeros(1, 3), torch.tensor([0, 1, 1]), 2).table().exp()
        tensor([[1.0000, 0.0000],
                [0.0000, 0.5000],
                [0.0000, 0.5000]])
    """

    def __init__(self, logits: Tensor, blocks: Tensor, count: int) -> None:
        arguments.scores("logits", logits, "(z / b, v)", 2)
        arguments.integers("blocks", blocks, "(v,)", logits.device)
        if logits.dim() != 2 or blocks.shape != logits.shape[1:] or not logits.numel() or count < 1:
            raise ValueError(
                f"the shapes do not fit together: logits {tuple(logits.shape)}, blocks {tuple(blocks.shape)}, "
                f"count {count}; expected (z / b, v), (v,), b, all at least 1"
            )
        if blocks.min() < 0 or blocks.max() >= count:
            raise ValueError(f"blocks holds {blocks.min()} to {blocks.max()}; expected 0 to {count - 1}")
        (self.logits,) = arguments.common_dtype((logits,), ("logits",))
        self.blocks, self.count = blocks, count

    @property
    def parameters(self) -> tuple[Tensor, ...]:
        return (self.logits,)

    @property
    def states(self) -> int:
        return self.logits.shape[0] * self.count

    @property
    def words(self) -> int:
        return self.logits.shape[1]

    def of_words(self, words: Tensor) -> Tensor:
        own, blocks = self.of_own_states(words)
        return blocks.spread(own)

    def of_own_states(self, words: Tensor) -> tuple[Tensor, Blocks]:
        return self._log_probs()[:, words].mT.contiguous(), Blocks(self.blocks[words], self.count)

    def of_states(self, states: Tensor) -> Tensor:
        size = len(self.logits)
        inside = self.blocks == (states // size).unsqueeze(1)
        return torch.where(inside, self._log_probs()[states % size], NEG_INF)

    def select(self, states: Tensor) -> Self:
        """Return the emission of states ``(k,)`` only.

        Raises:
            ValueError: If they are not equally many of each block, one block after another.
        """
        size = len(self.logits)
        own = torch.arange(self.count, device=states.device).repeat_interleave(len(states) // self.count)
        if not torch.equal(states // size, own):
            raise ValueError(f"states: expected equally many of each of the {self.count} blocks, in order")
        kept = states.reshape(self.count, -1)
        rows = (kept % size).mT[:, self.blocks]
        return type(self)(self.logits.gather(0, rows), self.blocks, self.count)

    @property
    def free_parameters(self) -> int:
        return len(self.logits) * (self.words - len(torch.unique(self.blocks)))

    def from_unconstrained(self, parameters: Parameters) -> Self:
        (logits,) = parameters
        return type(self)(logits, self.blocks, self.count)

    def maximised(self, statistics: Tensor, prior: EmissionPrior = None) -> Self:
        counts = with_dirichlet(statistics, self.table().mT > NEG_INF, concentration_of(prior, "Blocked"))
        own = counts.reshape(self.count, -1, self.words)
        own = own[self.blocks, :, torch.arange(self.words, device=counts.device)].mT
        total = self._sums(own).index_add(1, self.blocks, own)[:, self.blocks]
        result = torch.where(total > 0, (own / torch.where(total > 0, total, 1.0)).log(), self.logits)
        return type(self)(result.detach(), self.blocks, self.count)

    def _log_probs(self) -> Tensor:
        """Return the log-probabilities ``(z / b, v)``."""
        top = self._sums(self.logits.detach()).scatter_reduce(
            1, self.blocks.expand_as(self.logits), self.logits.detach(), "amax", include_self=False
        )
        top = torch.where(top == NEG_INF, 0.0, top)[:, self.blocks]
        weights = (self.logits - top).exp()
        total = self._sums(weights).index_add(1, self.blocks, weights)[:, self.blocks]
        possible = total > 0
        return self.logits - torch.where(possible, top + torch.where(possible, total, 1.0).log(), 0.0)

    def _sums(self, like: Tensor) -> Tensor:
        """Return zeros for each state: ``(z / b, b)``."""
        return like.new_zeros(len(like), self.count)
