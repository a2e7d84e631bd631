"""Neural hidden Markov models (HMMs): language models with parameters computed from state and word embeddings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

import torch
from torch import Tensor, nn

from strukt.checks import arguments
from strukt.distributions import HMM, Blocked, Dense, Embedded, LowRank
from strukt.nn.feature_maps import feature_map
from strukt.nn.inputs import log_counts, require_sizes
from strukt.nn.residual import Residual, residual_of_hidden
from strukt.structures.hmm.emissions.base import Emission

VECTORS: Mapping[str, Callable[[int], nn.Module]] = MappingProxyType(
    {"layers": Residual, "plain": lambda _: nn.Identity(), "tied": residual_of_hidden}
)
"""Networks that transform the vectors of states before a transition, by the names that `NeuralHMM` accepts."""


class NeuralHMM(nn.Module):
    """A neural hidden Markov model (HMM): small networks compute its parameters from state and word embeddings.

    Each state has three vectors: as the source of a transition, as its target, and for emission. The probability
    of a transition is proportional to the exponential of the dot product of source and target or, with rank r, to
    the dot product of their r features. Emission is a softmax over dot products with word vectors, plus a bias for
    each word. Residual layers transform the vectors first, except those of targets; ``vectors`` selects other
    networks.

    State dropout and feature dropout remove some states and some features for a whole training batch. The model is
    normalised over the remaining ones, and is smaller and faster.

    Args:
        states: Number of states, z.
        words: Size of the vocabulary, v.
        rank: Rank r of the transitions; None for dense transitions, unless ``features`` is a layer, which then
            determines r.
        size: Size of the vectors.
        features: Maps vectors ``(z, size)``, initially of length about 1, to log-features ``(z, r)``: a layer, or
            its name for `strukt.nn.feature_maps.feature_map`, such as ``exponential``, which the papers use. A
            name has no effect without ``rank``.
        blocks: ``(v,)``, the block of states that emits each word, such as its Brown cluster; None if every state
            may emit every word. Blocks are numbered from 0; they consist of successive states, equally many in
            each. Every block must have at least one word.
        state_dropout: Share of the states that is dropped (in each block, if there are blocks).
        feature_dropout: Share of the features that is dropped; without effect on dense transitions.
        temperature: Divides the dot products of sources and targets; feature maps get the vectors divided by its
            square root.
        vectors: ``layers`` as described above. ``plain``: vectors of sources go through no layer, and the start is
            an additional state with its own vector (Chiu, Deng and Rush 2021). ``tied``: each state has a single
            vector; separate networks transform it for transitions, for emissions and for the first state (Chiu and
            Rush 2020).

    Raises:
        ValueError: If a size is less than 1, the blocks are not ``(v,)`` or their number does not divide z, the
            name of ``features`` or ``vectors`` is unknown, a dropout is not from 0 to below 1, or the temperature
            is not above 0.

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
                raise ValueError(f"{name} is {value}; expected a number from 0 to below 1")
        if not temperature > 0:
            raise ValueError(f"temperature is {temperature}; expected a number above 0")
        if vectors not in VECTORS:
            raise ValueError(f"vectors is {vectors!r}; expected one of {', '.join(VECTORS)}")
        require_sizes(states=states, words=words, size=size, rank=1 if rank is None else rank)
        self.count = 1 if blocks is None else _count_of(blocks)
        if blocks is not None and (blocks.shape != (words,) or states % self.count):
            raise ValueError(
                f"blocks has shape {tuple(blocks.shape)} and {self.count} blocks; expected ({words},), and a "
                f"divisor of the {states} states"
            )
        self.register_buffer("blocks", None if blocks is None else blocks.clone())  # `assign` overwrites it
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
        """Draw state vectors of length about 1 and shorter word vectors, and set the biases to 0.

        The lengths do not depend on the number of states and words. If the vectors of many states were shorter,
        they would look alike to the layers that follow. All states would then emit alike, and training would
        learn only word frequencies for a long time.
        """
        size = self.word_vectors.shape[1]
        for vectors in (self.start, self.before, self.after, self.emitting):
            if vectors is not None:
                nn.init.normal_(vectors, std=size**-0.5)
        nn.init.normal_(self.word_vectors, std=(2 * size) ** -0.5)
        nn.init.zeros_(self.bias)

    @torch.no_grad()
    def begin_with(self, counts: Tensor) -> None:
        """Set the biases to the log-counts of the words, so that training need not learn word frequencies.

        Args:
            counts: ``(v,)``, the number of occurrences of each word; 1 is added to each (add-one smoothing).

        Raises:
            ValueError: If `counts` does not have one finite entry of 0 or more for each word.
        """
        self.bias.copy_(log_counts(counts, self.bias))

    @torch.no_grad()
    def assign(self, blocks: Tensor) -> None:
        """Reassign the words to the blocks of states.

        Args:
            blocks: ``(v,)``, the new block of each word; every block must occur at least once.

        Raises:
            ValueError: If the shape or the set of blocks changes, or the model has no blocks.
        """
        if self.blocks is None:
            raise ValueError("this model has no blocks; pass blocks to NeuralHMM")
        distinct = sorted(set(blocks.tolist()))
        if blocks.shape != self.blocks.shape or distinct != list(range(self.count)):
            raise ValueError(
                f"blocks has shape {tuple(blocks.shape)} and {len(distinct)} different blocks; "
                f"expected {tuple(self.blocks.shape)} and all of 0 to {self.count - 1}"
            )
        self.blocks.copy_(blocks)

    def forward(self) -> HMM:
        """Return the distribution over sentences; in training, call it for each batch, to draw new dropout."""
        before, after, emitting = self._state_vectors()
        if self.vectors == "plain":
            source, target = self._scored(torch.cat([before, self.start]), after)
            initial, source = self._transition_scores(source[-1:], target).squeeze(0), source[:-1]
        else:
            source, target = self._scored(self.leaving(before), after)
            first = (self.start, after) if self.vectors == "layers" else (before, self.start)
            initial = (self.starting(first[0]) @ first[1].mT).flatten()
        dense = self.features is None
        transition = Dense(self._transition_scores(source, target)) if dense else LowRank(source, target)
        return HMM(initial, transition, self._emission(self.saying(emitting)))

    def _state_vectors(self) -> tuple[Tensor, Tensor, Tensor]:
        """Return the vectors of states as sources, as targets and for emission, without dropped states."""
        dropout = self.state_dropout if self.training else 0.0
        kept = _kept(len(self.before), dropout, self.count, self.before.device)
        before = self.before[kept]
        if self.after is None or self.emitting is None:
            return before, before, before
        return before, self.after[kept], self.emitting[kept]

    def _scored(self, before: Tensor, after: Tensor) -> tuple[Tensor, Tensor]:
        """Return the scaled vectors of sources and targets, or their log-features without dropped features."""
        scale = self.temperature**-0.5
        if self.features is None:
            return before * scale, after * scale
        # Layer-normalised vectors have length sqrt(size): unscaled, one feature would dominate and not learn.
        length = 1.0 if self.vectors == "plain" else before.shape[1] ** -0.5
        source, target = self.features(before * (scale * length)), self.features(after * scale)
        rank = source.shape[1]
        kept = _kept(rank, self.feature_dropout if self.training else 0.0, 1, after.device)
        return (source, target) if len(kept) == rank else (source[:, kept], target[:, kept])

    def _transition_scores(self, source: Tensor, target: Tensor) -> Tensor:
        """Return the log of the kernel of each source with each target, from their vectors or log-features."""
        if self.features is None:
            return source @ target.mT
        return (source.unsqueeze(1) + target).logsumexp(2)

    def _emission(self, emitting: Tensor) -> Emission:
        """Return the emission from the vectors of states, `(states, size)`; with blocks, a blocked one."""
        if self.blocks is None:
            return Embedded(emitting, self.word_vectors, self.bias)
        order = self.blocks.argsort(stable=True)
        sizes = torch.bincount(self.blocks, minlength=self.count).tolist()
        of_blocks = zip(emitting.chunk(self.count), torch.split(self.word_vectors[order], sizes), strict=True)
        logits = torch.cat([states @ words.mT for states, words in of_blocks], 1)
        return Blocked(logits[:, order.argsort()] + self.bias, self.blocks, self.count)


def _count_of(blocks: Tensor) -> int:
    """Return the number of blocks; raise ValueError unless they are all integers from 0 to the largest one."""
    arguments.integers("blocks", blocks, "(v,)", getattr(blocks, "device", torch.device("cpu")))
    distinct = sorted(set(blocks.flatten().tolist()))
    if distinct != list(range(len(distinct))) or not distinct:
        raise ValueError(f"blocks holds {distinct!s:.60}; expected every number from 0 to the largest")
    return len(distinct)


def _kept(count: int, dropout: float, blocks: int, device: torch.device) -> Tensor:
    """Return a sorted random subset of the indices below ``count``: equally many of each block, at least one."""
    size = count // blocks
    most = max(round(size * (1 - dropout)), 1)
    if most == size:
        return torch.arange(count, device=device)
    chosen = torch.rand(blocks, size, device=device).argsort(1)[:, :most].sort(1).values
    return (chosen + size * torch.arange(blocks, device=device).unsqueeze(1)).flatten()
