"""Scores of the bits of spans: attention with one head for each bit."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from strukt.nn.inputs import require_sizes


class AttentionHash(nn.Module):
    """Scores `g_k(l, r, +1) = (W_k^Q h_l)' (W_k^K h_r) / sqrt(d_k)` of the value +1 of each bit; -1 scores 0.

    What is left of an attention layer when its heads are bits: queries and keys; there are no values, no output
    projection and no table of labels. `BitSpanTree` takes the scores as they are.

    Source: Wang et al. (2024), "To be continuous, or to be discrete, those are bits of questions", section 3.1,
    equation 11.

    Args:
        size: Of the vectors of words, or of fenceposts.
        bits: Number of bits of a code.
        head_size: `d_k`, of queries and keys; `size / bits`, rounded up, if None.

    Raises:
        ValueError: A size is not positive.

    Examples:
        >>> from strukt.distributions import BitSpanTree
        >>> layer = AttentionHash(16, bits=3)
        >>> scores = layer(torch.randn(2, 6, 16))  # two sentences of five words
        >>> scores.shape, BitSpanTree(scores).mode.shape
        (torch.Size([2, 6, 6, 3]), torch.Size([2, 6, 6]))
    """

    def __init__(self, size: int, bits: int, head_size: int | None = None) -> None:
        super().__init__()
        require_sizes(size=size, bits=bits)
        head_size = math.ceil(size / bits) if head_size is None else head_size
        require_sizes(head_size=head_size)
        self.query = nn.Parameter(torch.empty(bits, head_size, size))
        self.key = nn.Parameter(torch.empty(bits, head_size, size))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draws weights such that vectors with entries of variance 1 have scores of variance 1.

        All codes are then possible and none is certain. Scores of 0 would stay: the gradient of the queries is 0
        where the keys are, and the other way round.
        """
        for weight in (self.query, self.key):
            nn.init.normal_(weight, std=weight.shape[-1] ** -0.5)

    @torch.no_grad()
    def start_from(self, vectors: Tensor) -> None:
        """Scale the weights so that the scores between these vectors have variance 1, however small their entries.

        Where all scores begin near 0, all spans are alike, and contrastive hashing may give them one code, from
        which no gradient leads away.

        Args:
            vectors: `(m, size)`, some vectors of words or fenceposts; time and memory `O(m^2)` for each bit.

        Examples:
            >>> layer, vectors = AttentionHash(16, bits=3), 0.01 * torch.randn(50, 16)
            >>> layer.start_from(vectors)
            >>> round(layer(vectors).std().item(), 3)
            1.0
        """
        scores = self(vectors)
        deviation = float(scores.std(correction=0)) if scores.numel() else 0.0
        if deviation > 0:  # else nothing tells their size
            self.query.div_(math.sqrt(deviation))
            self.key.div_(math.sqrt(deviation))

    def forward(self, fenceposts: Tensor) -> Tensor:
        """Scores the bits of every span.

        Args:
            fenceposts: `(*batch, n + 1, size)`, a row for each place between words and at both ends; or
                `(*batch, n, size)`, a row for each word, as published.

        Returns:
            `(*batch, n + 1, n + 1, bits)`; `[l, r]` scores the span from fencepost l to r; or, of words,
            `(*batch, n, n, bits)`, which `strukt.nn.spans.between_words` moves to fenceposts. Time `O(n^2)` for
            each bit and entry of a head.

        Raises:
            ValueError: The vectors are of another size.
        """
        if fenceposts.dim() < 2 or fenceposts.shape[-1] != self.query.shape[-1]:
            raise ValueError(
                f"fenceposts has shape {tuple(fenceposts.shape)}; expected (*batch, n + 1, {self.query.shape[-1]})"
            )
        queries = torch.einsum("...ld,ked->...kle", fenceposts, self.query * self.query.shape[1] ** -0.5)
        keys = torch.einsum("...rd,ked->...kre", fenceposts, self.key)
        return torch.einsum("...kle,...kre->...lrk", queries, keys)
