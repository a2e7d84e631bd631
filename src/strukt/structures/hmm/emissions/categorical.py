"""Emissions of words from a table of probabilities."""

from __future__ import annotations

from torch import Tensor
from typing_extensions import Self

from strukt.checks import arguments
from strukt.kernels.semiring import NEG_INF, finite, logsumexp
from strukt.structures.hmm.emissions.symbols import Symbols
from strukt.structures.hmm.logits import free_numbers, updated
from strukt.structures.hmm.normaliser import log_softmax_columns
from strukt.structures.hmm.priors import EmissionPrior, concentration_of, with_dirichlet


class Categorical(Symbols):
    """A table of the probabilities of v words in z states.

    Args:
        logits: ``(z, v)``; a softmax over each row gives the probabilities. A row of only -inf has probabilities
            0.

    Raises:
        ValueError: If the shape or type is wrong.

    Examples:
        >>> import torch
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
        total = finite(logsumexp(self.logits, 1))
        return self.logits[states] - total[states].unsqueeze(1)

    def emits(self) -> Tensor:
        return (self.logits.detach() > NEG_INF).any(1)

    def select(self, states: Tensor) -> Self:
        return type(self)(self.logits[states])

    def maximised(self, statistics: Tensor, prior: EmissionPrior = None) -> Self:
        concentration = concentration_of(prior, "Categorical")
        counts = with_dirichlet(statistics, self.logits > NEG_INF, concentration)
        return type(self)(updated(self.logits, counts, 1).detach())

    @property
    def free_parameters(self) -> int:
        return free_numbers(self.logits, 1)
