"""A learned transition matrix that turns scores per position into a distribution over tag sequences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn

from strukt.distributions import LinearChain


class Constraints(NamedTuple):
    """Which tags may begin a sequence, follow each other, and end it (booleans; True allows).

    Attributes:
        start: `(c,)`.
        transition: `(c, c)`, `[i, j]` for tag i followed by tag j.
        end: `(c,)`.
    """

    start: Tensor
    transition: Tensor
    end: Tensor


def bio_constraints(tags: Sequence[str]) -> Constraints:
    """The rule of BIO tagging: `I-X` only after `B-X` or `I-X`.

    Args:
        tags: The tags in the order of their indices; those that do not start with `I-` are free.

    Examples:
        >>> bio_constraints(["O", "B-LOC", "I-LOC"]).transition.int()
        tensor([[1, 1, 0],
                [1, 1, 1],
                [1, 1, 1]], dtype=torch.int32)
    """
    inside = [tag.startswith("I-") for tag in tags]
    allowed = [
        [not inside[j] or tags[i][1:] == tags[j][1:] for j in range(len(tags))] for i in range(len(tags))
    ]
    start = ~torch.tensor(inside, dtype=torch.bool)
    transition = torch.tensor(allowed, dtype=torch.bool).reshape(len(tags), len(tags))
    return Constraints(start, transition, torch.ones_like(start))


class CRF(nn.Module):
    """A linear-chain conditional random field as a layer.

    The scores of beginning and ending with a tag are learned too and folded into the unary scores.
    Source: Lafferty, McCallum and Pereira (2001).

    Args:
        tags: Number of tags `c`.
        constraints: Sequences that break them have probability 0.

    Examples:
        >>> crf = CRF(3)
        >>> chain = crf(torch.randn(2, 4, 3), lengths=torch.tensor([4, 2]))
        >>> chain.log_prob(torch.tensor([[0, 1, 2, 0], [1, 1, -1, -1]])).shape
        torch.Size([2])
    """

    def __init__(self, tags: int, constraints: Constraints | None = None) -> None:
        super().__init__()
        self.transition = nn.Parameter(torch.zeros(tags, tags))
        self.start = nn.Parameter(torch.zeros(tags))
        self.end = nn.Parameter(torch.zeros(tags))
        free = Constraints(
            *(torch.ones(shape, dtype=torch.bool) for shape in ((tags,), (tags, tags), (tags,)))
        )
        for name, allowed in (constraints or free)._asdict().items():
            # They follow from the tags, so that they are not part of the weights.
            self.register_buffer(f"{name}_allowed", allowed, persistent=False)

    def forward(self, emissions: Tensor, lengths: Tensor | None = None) -> LinearChain:
        """The distribution over tag sequences.

        Args:
            emissions: `(*batch, n, c)` scores of each tag at each position.
            lengths: `(*batch,)`; all `n` if not given.
        """
        return LinearChain(*self.scores(emissions, lengths), lengths)

    def scores(self, emissions: Tensor, lengths: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """The scores of tags and of transitions that `forward` makes a distribution of.

        Args:
            emissions: `(*batch, n, c)`.
            lengths: `(*batch,)`; all `n` if not given.

        Returns:
            `(*batch, n, c)` and `(c, c)`; what is not allowed scores -inf.
        """
        n = emissions.shape[-2]
        position = torch.arange(n, device=emissions.device)
        last = position == (n if lengths is None else lengths.unsqueeze(-1)) - 1
        unary = emissions.float() if emissions.dtype in (torch.float16, torch.bfloat16) else emissions
        zero = unary.new_zeros(())
        unary = unary + torch.where((position == 0).unsqueeze(-1), self._masked("start"), zero)
        unary = unary + torch.where(last.unsqueeze(-1), self._masked("end"), zero)
        return unary, self._masked("transition")

    def _masked(self, name: str) -> Tensor:
        scores: Tensor = getattr(self, name)
        return scores.masked_fill(~getattr(self, f"{name}_allowed"), -torch.inf)
