"""Emissions in which each word belongs to one block of states."""

from __future__ import annotations

import torch
from torch import Tensor
from typing_extensions import Self

from strukt.checks import arguments
from strukt.kernels.semiring import NEG_INF, finite
from strukt.structures.hmm.blocked_forward import Blocks
from strukt.structures.hmm.emissions.base import Parameters
from strukt.structures.hmm.emissions.symbols import Symbols
from strukt.structures.hmm.priors import EmissionPrior, concentration_of, with_dirichlet


class Blocked(Symbols):
    """Emissions in which each word belongs to one block of states (Chiu and Rush 2020).

    The z states form b blocks of equal size: states 0 to z / b - 1 are the first block, and so on. A word has
    probability 0 in all states outside its block. So a step of `HMM.log_prob` takes O((z / b)^2) time, or
    O(r z / b) at rank r, unless the transition has a band.

    Args:
        logits: ``(z / b, v)``, the logit of each of v words in each state of its block; a softmax over the words
            of the block gives the probabilities in a state.
        blocks: ``(v,)``, the block of each word, 0 to b - 1.
        count: The number of blocks, b.

    Raises:
        ValueError: If shapes or types do not fit, or ``blocks`` holds a number outside 0 to b - 1.

    Examples:
        >>> Blocked(torch.zeros(1, 3), torch.tensor([0, 1, 1]), 2).table().exp()
        tensor([[1.0000, 0.0000],
                [0.0000, 0.5000],
                [0.0000, 0.5000]])
    """

    def __init__(self, logits: Tensor, blocks: Tensor, count: int) -> None:
        arguments.scores("logits", logits, "(z / b, v)", 2)
        arguments.integers("blocks", blocks, "(v,)", logits.device)
        fits = logits.dim() == 2 and blocks.shape == logits.shape[1:] and logits.numel() > 0
        if not fits or not arguments.is_integer(count) or count < 1:
            raise ValueError(
                f"the shapes do not fit together: logits {tuple(logits.shape)}, blocks {tuple(blocks.shape)}, "
                f"count {count}; expected (z / b, v), (v,), b, all at least 1"
            )
        if blocks.min() < 0 or blocks.max() >= count:
            raise ValueError(f"blocks holds {blocks.min()} to {blocks.max()}; expected 0 to {count - 1}")
        (self.logits,) = arguments.common_dtype((logits,), ("logits",))
        self.blocks, self.count = blocks.long(), count

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
        scores, blocks = self.of_own_states(words)
        return blocks.spread(scores)

    def of_own_states(self, words: Tensor) -> tuple[Tensor, Blocks]:
        return self._log_probs()[:, words].mT.contiguous(), Blocks(self.blocks[words], self.count)

    def of_states(self, states: Tensor) -> Tensor:
        size = len(self.logits)
        inside = self.blocks == (states // size).unsqueeze(1)
        return torch.where(inside, self._log_probs()[states % size], NEG_INF)

    def select(self, states: Tensor) -> Self:
        """Return the emission restricted to states ``(k,)``.

        Raises:
            ValueError: If there are not equally many states of each block, one block after another.
        """
        size = len(self.logits)
        expected = torch.arange(self.count, device=states.device).repeat_interleave(len(states) // self.count)
        if not torch.equal(states // size, expected):
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
        in_block = counts.reshape(self.count, -1, self.words)
        in_block = in_block[self.blocks, :, torch.arange(self.words, device=counts.device)].mT
        total = self._zeros(in_block).index_add(1, self.blocks, in_block)[:, self.blocks]
        result = torch.where(total > 0, (in_block / torch.where(total > 0, total, 1.0)).log(), self.logits)
        return type(self)(result.detach(), self.blocks, self.count)

    def _log_probs(self) -> Tensor:
        """Return the log-probabilities ``(z / b, v)``."""
        top = self._zeros(self.logits.detach()).scatter_reduce(
            1, self.blocks.expand_as(self.logits), self.logits.detach(), "amax", include_self=False
        )
        top = finite(top)[:, self.blocks]
        weights = (self.logits - top).exp()
        total = self._zeros(weights).index_add(1, self.blocks, weights)[:, self.blocks]
        possible = total > 0
        return self.logits - torch.where(possible, top + torch.where(possible, total, 1.0).log(), 0.0)

    def _zeros(self, like: Tensor) -> Tensor:
        """Return a zero for each state, ``(z / b, b)``: by its place in its block, and its block."""
        return like.new_zeros(len(like), self.count)
