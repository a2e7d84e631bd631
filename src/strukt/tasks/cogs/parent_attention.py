"""Parents by attention: each word chooses a word of its sentence; a word without a parent chooses itself."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from strukt.nn.encoders import mask_of


class ParentAttention(nn.Module):
    """The scores of an attention layer with a single head, before the softmax: each word scores possible parents.

    A word without a parent is its own parent.

    Source: Ontañón et al. (2021), "Making Transformers Solve Compositional Tasks"; Wu and Tu (2023),
    "Probabilistic Transformer", appendix D.4.

    Args:
        size: Size of the vectors of words.

    Examples:
        >>> ParentAttention(8)(torch.randn(2, 5, 8), torch.tensor([5, 3])).shape
        torch.Size([2, 5, 5])
    """

    def __init__(self, size: int) -> None:
        super().__init__()
        self.query, self.key = nn.Linear(size, size), nn.Linear(size, size)

    def forward(self, vectors: Tensor, lengths: Tensor) -> Tensor:
        """Return the scores, ``(batch, n, n)``: ``[b, i, j]`` is that of word j as the parent of word i.

        If word j is padding, the score is -inf.

        Args:
            vectors: ``(batch, n, size)``, the vectors of words.
            lengths: ``(batch,)``, the numbers of words.
        """
        scores = self.query(vectors) @ self.key(vectors).mT / math.sqrt(vectors.shape[-1])
        outside = ~mask_of(lengths, vectors.shape[1]).unsqueeze(1)
        return scores.float().masked_fill(outside, -torch.inf)  # type: ignore[no-any-return]
