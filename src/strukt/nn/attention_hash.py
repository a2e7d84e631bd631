"""Attention hash: scores of the bits of span codes, with one attention head for each bit."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from strukt.checks import arguments
from strukt.nn.inputs import require_sizes


class AttentionHash(nn.Module):
    """Scores of the bits of a code for each pair of positions: a layer of multi-head attention without values.

    Bit k of the code of positions l and r has the value +1 with the score
    `g_k(l, r, +1) = (W_k^Q h_l)' (W_k^K h_r) / sqrt(d_k)`, and the value -1 with the score 0. Here h_l is the
    vector of position l, and W_k^Q and W_k^K are learned projections.
    The layer is multi-head attention with one head for each bit, reduced to its scores: there are queries and
    keys, but no values, output projection or label table. The scores are the input of `BitSpanTree`.

    Source: Wang and Utiyama (2024), "To be continuous, or to be discrete, those are bits of questions", section
    3.1, equation 11.

    Args:
        size: Size of the vectors of words or of fenceposts.
        bits: Number of bits of a code.
        head_size: `d_k`, the size of queries and keys; `size / bits`, rounded up, if None.

    Raises:
        ValueError: If a size is less than 1.

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
        """Draw weights that give scores of variance 1 to vectors with entries of variance 1.

        All codes are then possible and none is certain. Weights of 0 would never change: the gradient of the
        query weights is 0 if the key weights are 0, and vice versa.
        """
        for weight in (self.query, self.key):
            nn.init.normal_(weight, std=weight.shape[-1] ** -0.5)

    @torch.no_grad()
    def start_from(self, vectors: Tensor) -> None:
        """Scale the weights so that the scores between these vectors have variance 1, even if vectors are short.

        If all scores start near 0, all spans look alike, and contrastive hashing may give all of them the same
        code, from which no gradient leads away. If all scores are equal, the weights stay as they are.

        Args:
            vectors: ``(m, size)``, m vectors of words or fenceposts; time and memory `O(m^2)` for each bit.

        Raises:
            ValueError: If the vectors have the wrong size, are not floating-point, or hold NaN or infinity.

        Examples:
            >>> layer, vectors = AttentionHash(16, bits=3), 0.01 * torch.randn(50, 16)
            >>> layer.start_from(vectors)
            >>> round(layer(vectors).std().item(), 3)
            1.0
        """
        scores = self(vectors)
        deviation = float(scores.std(correction=0)) if scores.numel() else 0.0
        if not math.isfinite(deviation):
            raise ValueError(f"vectors have scores of standard deviation {deviation}; expected finite vectors")
        if deviation > 0:  # scores that are all equal have no scale
            self.query.div_(math.sqrt(deviation))
            self.key.div_(math.sqrt(deviation))

    def forward(self, fenceposts: Tensor) -> Tensor:
        """Score the bits of every span.

        Args:
            fenceposts: ``(*batch, n + 1, size)``, a row for each position between words and at both ends; or
                ``(*batch, n, size)``, a row for each word, as in the published form.

        Returns:
            ``(*batch, n + 1, n + 1, bits)``; `[l, r]` scores the span from fencepost l to r. For words,
            ``(*batch, n, n, bits)``, which `strukt.nn.spans.between_words` moves to fenceposts. Takes
            `O(n (n + size) bits head_size)` time.

        Raises:
            ValueError: If the vectors have the wrong size, or are not floating-point.
        """
        axes = f"(*batch, n + 1, {self.query.shape[-1]})"
        arguments.scores("fenceposts", fenceposts, axes, 2)
        if fenceposts.shape[-1] != self.query.shape[-1]:
            raise ValueError(f"fenceposts has shape {tuple(fenceposts.shape)}; expected {axes}")
        queries = torch.einsum("...ld,ked->...kle", fenceposts, self.query * self.query.shape[1] ** -0.5)
        keys = torch.einsum("...rd,ked->...kre", fenceposts, self.key)
        return torch.einsum("...kle,...kre->...lrk", queries, keys)
