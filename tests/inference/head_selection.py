"""Every choice of heads, scored one by one: the truth for second-order inference."""

import itertools
import math
from dataclasses import dataclass

import torch
from hypothesis import strategies as st
from torch import Tensor


@dataclass(frozen=True)
class Scores:
    """One model, or a batch of them."""

    arcs: Tensor
    siblings: Tensor
    grandparents: Tensor

    def __getitem__(self, index) -> "Scores":
        return Scores(self.arcs[index], self.siblings[index], self.grandparents[index])

    def __iter__(self):
        return iter((self.arcs, self.siblings, self.grandparents))


def random_scores(n: int, scale: float = 1.0, seed: int = 0, batch: tuple[int, ...] = ()) -> Scores:
    """Arcs of the standard deviation 1, pairs of the standard deviation ``scale``."""
    generator = torch.Generator().manual_seed(seed)

    def drawn(*shape: int) -> Tensor:
        return torch.randn(*batch, *shape, generator=generator, dtype=torch.float64)

    return Scores(drawn(n, n + 1), scale * drawn(n, n, n + 1), scale * drawn(n, n, n + 1))


def choices(n: int) -> list[tuple[int, ...]]:
    """All heads of n words of which none heads itself."""
    return list(itertools.product(*([h for h in range(n + 1) if h != m + 1] for m in range(n))))


def score(scores: Scores, heads: tuple[int, ...]) -> float:
    total = sum(scores.arcs[m, h].item() for m, h in enumerate(heads))
    for m, k in itertools.permutations(range(len(heads)), 2):
        if heads[m] == heads[k]:
            total += scores.siblings[m, k, heads[m]].item() / 2  # each pair in both orders
        if heads[m] == k + 1 and heads[k] != m + 1:
            total += scores.grandparents[m, k, heads[k]].item()
    return total


def enumerated(scores: Scores) -> tuple[Tensor, Tensor]:
    """Log-partition and marginals ``(n, n + 1)`` of one item; 0 if it is infeasible."""
    n = len(scores.arcs)
    every = choices(n)
    totals = torch.tensor([score(scores, heads) for heads in every], dtype=torch.float64)
    marginals = torch.zeros(n, n + 1, dtype=torch.float64)
    if totals.max() > -math.inf:
        for probability, heads in zip(totals.softmax(0), every, strict=True):
            for m, h in enumerate(heads):
                marginals[m, h] += probability
    return totals.logsumexp(0), marginals


def shortened(scores: Scores, length: int) -> Scores:
    """The first words of one item."""
    return Scores(
        scores.arcs[:length, : length + 1],
        scores.siblings[:length, :length, : length + 1],
        scores.grandparents[:length, :length, : length + 1],
    )


def padded_with(value: float, scores: Scores, lengths: Tensor) -> Scores:
    """A value wherever nothing should be read: words and heads beyond the lengths."""
    n = scores.arcs.shape[-2]
    words = torch.arange(n) < lengths.unsqueeze(-1)
    heads = torch.arange(n + 1) <= lengths.unsqueeze(-1)
    arcs = words[..., :, None] & heads[..., None, :]
    pairs = words[..., :, None, None] & arcs[..., None, :, :]
    return Scores(
        *(each.masked_fill(~kept, value) for each, kept in zip(scores, (arcs, pairs, pairs), strict=True))
    )


def entries(shape: tuple[int, ...], seed: int, share: float) -> Tensor:
    return torch.rand(shape, generator=torch.Generator().manual_seed(seed)) < share


@st.composite
def batches(draw) -> tuple[Scores, Tensor]:
    """Scores of any batch shape and lengths, some of them -inf, of any strength."""
    n, shape = draw(st.integers(0, 3)), tuple(draw(st.lists(st.integers(0, 2), max_size=2)))
    seed = draw(st.integers(0, 10**6))
    scores = random_scores(n, draw(st.sampled_from([0.3, 2.0, 1e3])), seed, shape)
    shares = draw(st.sampled_from([(0.0, 0.0), (0.3, 0.0), (0.0, 0.2), (0.5, 0.5)]))
    scores = Scores(
        *(
            each.masked_fill(entries(each.shape, seed, share), -math.inf)
            for each, share in zip(scores, (shares[0], shares[1], shares[1]), strict=True)
        )
    )
    lengths = torch.randint(n + 1, shape, generator=torch.Generator().manual_seed(seed))
    return scores, lengths
