"""Emissions of words whose scores are inner products of vectors of words and states."""

from __future__ import annotations

import torch
from torch import Tensor
from typing_extensions import Self

from strukt.checks import arguments
from strukt.kernels.semiring import NEG_INF
from strukt.structures.hmm.emissions.symbols import Symbols
from strukt.structures.hmm.normaliser import log_totals
from strukt.structures.hmm.priors import EmissionPrior


class Embedded(Symbols):
    """Words and states as vectors of size d: p(word | state) is proportional to exp(state @ word + bias).

    The vectors of words may be those of another layer (tied). `HMM.log_prob` computes only the log-probabilities
    of words that occur, not the whole table of states and words. The normaliser of each state is summed over parts
    of the vocabulary, in O(z v d) time and O(z + v) memory. EM has no closed form: `HMM.fit` needs an optimiser.

    Args:
        vectors: ``(z, d)``, the vectors of the states.
        word_vectors: ``(v, d)``, the vectors of the words.
        bias: ``(v,)``, zeros if None; -inf forbids a word in all states.

    Raises:
        ValueError: If shapes or types do not fit. `HMM` also checks that some word is possible, unless
            ``validate_args=False``.

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
        tensors = (vectors, word_vectors, bias)
        names = ("vectors", "word_vectors", "bias")
        self.vectors, self.word_vectors, self.bias = arguments.common_dtype(tensors, names)

    @property
    def parameters(self) -> tuple[Tensor, ...]:
        return self.vectors, self.word_vectors, self.bias

    @property
    def words(self) -> int:
        return len(self.word_vectors)

    def require_valid(self) -> None:
        super().require_valid()
        if bool((self.bias == NEG_INF).all()):
            raise ValueError("bias is -inf for all words; expected one that is possible")

    def emits(self) -> Tensor:
        return (self.bias.detach() > NEG_INF).any().expand(self.states)

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
