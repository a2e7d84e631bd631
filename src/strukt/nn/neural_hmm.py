"""Hidden Markov language models whose parameters come from vectors of states and of words."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

import torch
from torch import Tensor, nn

from strukt.distributions import HMM, Blocked, Dense, Embedded, LowRank
from strukt.nn.feature_maps import feature_map
from strukt.nn.inputs import log_counts, require_sizes
from strukt.nn.residual import Residual, residual_of_hidden
from strukt.structures.hmm.emissions import Emission

VECTORS: Mapping[str, Callable[[int], nn.Module]] = MappingProxyType(
    {"layers": Residual, "plain": lambda _: nn.Identity(), "tied": residual_of_hidden}
)
"""What the vectors of states before a transition go through, by the names that `NeuralHMM` takes."""


class NeuralHMM(nn.Module):
    """A hidden Markov model in which states and words are vectors, and small networks make its parameters of them.

    A state has three vectors: as the one before a transition, as the one after it, and as the one that emits. A
    transition is a dot product, made positive by exp, or of rank r by a feature map of both vectors; a word is a
    softmax over dot products and a bias of the word. Vectors go through residual layers first, those after a
    transition excepted; ``vectors`` has other ways.

    In training some of the states and some of the features are left out of a whole batch. The model is normalised
    over the others, and is smaller and faster.

    Args:
        states: Number of states, z.
        words: Size of the vocabulary, v.
        rank: r; None for dense transitions.
        size: Of the vectors.
        features: Maps vectors ``(z, size)``, of length 1 or so at the start, to log-features ``(z, r)``: a layer,
            or its name for `strukt.nn.feature_maps.feature_map`, such as ``exponential``, that of the papers.
        blocks: ``(v,)``, the block of states that each word comes from, such as its Brown cluster; None for any.
        state_dropout: Part of the states that are left out (of each block, if there are blocks).
        feature_dropout: Part of the features that are left out.
        temperature: Divides the dot products of vectors before and after a transition, so that features are those
            of vectors divided by its square root.
        vectors: ``layers`` as above. ``plain``: those before a transition go through no layer, and the start is
            one more state before others, with its own vector (Chiu, Deng and Rush 2021). ``tied``: a state has
            one vector, which goes through a network before a transition, one as it emits, and one as the first
            state (Chiu and Rush 2020).

    Raises:
        ValueError: Sizes do not fit, a part is not from 0 up to, but not including, 1, or temperature not above 0.

    Source:
        Chiu and Rush (2020), "Scaling hidden Markov language models"; Chiu, Deng and Rush (2021), "Low-rank
        constraints for fast inference in structured models".

    Examples:
        >>> model, x = NeuralHMM(states=64, words=100, rank=8, size=16, state_dropout=0.25), torch.arange(100)
        >>> model.begin_with(torch.bincount(x, minlength=100))
        >>> model()
        HMM(states: 48, LowRank((48, 8), (48, 8)), Embedded((48, 16), (100, 16), (100,)))
        >>> model.eval()().log_prob(x.view(2, 50)).shape
        torch.Size([2])
    """

    blocks: Tensor | None
    after: nn.Parameter | None
    emitting: nn.Parameter | None

    def __init__(
        self,
        states: int,
        words: int,
        rank: int | None = None,
        size: int = 256,
        features: nn.Module | str = "linear",
        blocks: Tensor | None = None,
        state_dropout: float = 0.0,
        feature_dropout: float = 0.0,
        temperature: float = 1.0,
        vectors: str = "layers",
    ) -> None:
        super().__init__()
        for name, value in (("state_dropout", state_dropout), ("feature_dropout", feature_dropout)):
            if not 0 <= value < 1:
                raise ValueError(f"{name} is {value}; expected from 0 up to, but not including, 1")
        if not temperature > 0:
            raise ValueError(f"temperature is {temperature}; expected a number above 0")
        if vectors not in VECTORS:
            raise ValueError(f"vectors is {vectors!r}; expected one of {', '.join(VECTORS)}")
        require_sizes(states=states, words=words, size=size, rank=1 if rank is None else rank)
        self.count = 1 if blocks is None else int(blocks.max()) + 1
        if blocks is not None and (blocks.shape != (words,) or states % self.count):
            raise ValueError(
                f"blocks has shape {tuple(blocks.shape)} and {self.count} blocks; expected ({words},), and a "
                f"divisor of the {states} states"
            )
        self.register_buffer("blocks", blocks)
        self.state_dropout, self.feature_dropout = state_dropout, feature_dropout
        self.temperature, self.vectors = temperature, vectors
        self.start = nn.Parameter(torch.empty(1, size))
        self.before = nn.Parameter(torch.empty(states, size))
        for name in ("after", "emitting"):
            self.register_parameter(name, None if vectors == "tied" else nn.Parameter(torch.empty(states, size)))
        self.word_vectors = nn.Parameter(torch.empty(words, size))
        self.bias = nn.Parameter(torch.zeros(words))
        self.starting, self.leaving = (VECTORS[vectors](size) for _ in range(2))
        tied = vectors == "tied"
        self.saying = residual_of_hidden(size) if tied else nn.Sequential(Residual(size), Residual(size))
        if isinstance(features, str):
            self.features = None if rank is None else feature_map(features, size, rank)
        else:
            self.features = features
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draws vectors of states of length 1 or so, those of words shorter, and sets biases to 0.

        The lengths are the same for any number of states and words. Shorter vectors of many states look alike to
        the layers behind them, and where all states emit alike, nothing but how frequent words are is learned for
        long.
        """
        size = self.word_vectors.shape[1]
        for vectors in (self.start, self.before, self.after, self.emitting):
            if vectors is not None:
                nn.init.normal_(vectors, std=size**-0.5)
        nn.init.normal_(self.word_vectors, std=(2 * size) ** -0.5)
        nn.init.zeros_(self.bias)

    @torch.no_grad()
    def begin_with(self, counts: Tensor) -> None:
        """Lets the biases begin with how frequent the words are, so that it need not be learned.

        Args:
            counts: ``(v,)``, how often each word occurs; one is added to each.

        Raises:
            ValueError: There is not one for each word.
        """
        self.bias.copy_(log_counts(counts, self.bias))

    @torch.no_grad()
    def assign(self, blocks: Tensor) -> None:
        """Lets each word come from another block than before.

        Args:
            blocks: ``(v,)``, each block that there is at least once.

        Raises:
            ValueError: Shape or blocks are others, or there were none.
        """
        if self.blocks is None:
            raise ValueError("this model has no blocks; give some when it is made")
        found = sorted(set(blocks.tolist()))
        if blocks.shape != self.blocks.shape or found != list(range(self.count)):
            raise ValueError(
                f"blocks has shape {tuple(blocks.shape)} and {len(found)} different blocks; "
                f"expected {tuple(self.blocks.shape)} and all of 0 to {self.count - 1}"
            )
        self.blocks.copy_(blocks)

    def forward(self) -> HMM:
        """The distribution over sentences: for a batch, in training with other states left out each time."""
        before, after, emitting = self._state_vectors()
        if self.vectors == "plain":
            source, target = self._scored(torch.cat([before, self.start]), after)
            initial, source = self._joined(source[-1:], target).squeeze(0), source[:-1]
        else:
            source, target = self._scored(self.leaving(before), after)
            first = (self.start, after) if self.vectors == "layers" else (before, self.start)
            initial = (self.starting(first[0]) @ first[1].mT).flatten()
        dense = self.features is None
        transition = Dense(self._joined(source, target)) if dense else LowRank(source, target)
        return HMM(initial, transition, self._emission(self.saying(emitting)))

    def _state_vectors(self) -> tuple[Tensor, Tensor, Tensor]:
        """Those before and after a transition and those that emit, of the states that are not left out."""
        dropout = self.state_dropout if self.training else 0.0
        kept = _kept(len(self.before), dropout, self.count, self.before.device)
        before = self.before[kept]
        if self.after is None or self.emitting is None:
            return before, before, before
        return before, self.after[kept], self.emitting[kept]

    def _scored(self, before: Tensor, after: Tensor) -> tuple[Tensor, Tensor]:
        """Vectors at the temperature, or their log-features without those that are left out."""
        scale = self.temperature**-0.5
        if self.features is None:
            return before * scale, after * scale
        # Normalised vectors are of length sqrt(size): as they are, each would have one feature and no gradient.
        length = 1.0 if self.vectors == "plain" else before.shape[1] ** -0.5
        source, target = self.features(before * (scale * length)), self.features(after * scale)
        rank = source.shape[1]
        kept = _kept(rank, self.feature_dropout if self.training else 0.0, 1, after.device)
        return (source, target) if len(kept) == rank else (source[:, kept], target[:, kept])

    def _joined(self, source: Tensor, target: Tensor) -> Tensor:
        """The log of the kernel of vectors or of log-features, pair by pair."""
        if self.features is None:
            return source @ target.mT
        return (source.unsqueeze(1) + target).logsumexp(2)

    def _emission(self, emitting: Tensor) -> Emission:
        if self.blocks is None:
            return Embedded(emitting, self.word_vectors, self.bias)
        order = self.blocks.argsort(stable=True)
        sizes = torch.bincount(self.blocks, minlength=self.count).tolist()
        of_blocks = zip(emitting.chunk(self.count), torch.split(self.word_vectors[order], sizes), strict=True)
        logits = torch.cat([states @ words.mT for states, words in of_blocks], 1)
        return Blocked(logits[:, order.argsort()] + self.bias, self.blocks, self.count)


def _kept(count: int, dropout: float, blocks: int, device: torch.device) -> Tensor:
    """Numbers below ``count`` without a part of them, in order: equally many of each block, and at least one."""
    size = count // blocks
    most = max(round(size * (1 - dropout)), 1)
    if most == size:
        return torch.arange(count, device=device)
    chosen = torch.rand(blocks, size, device=device).argsort(1)[:, :most].sort(1).values
    return (chosen + size * torch.arange(blocks, device=device).unsqueeze(1)).flatten()
