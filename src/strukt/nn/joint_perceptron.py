"""A perceptron over several vectors at once, for scores of pairs and triples."""

from __future__ import annotations

from functools import reduce

import torch
from torch import Tensor, nn

from strukt.nn.inputs import require_sizes


class JointPerceptron(nn.Module):
    """A perceptron that scores several vectors jointly: ``w tanh(sum_i V_i x_i + b) + c``.

    It equals a perceptron over their concatenation. Each vector is projected before the sum is broadcast, so that
    the scores of all pairs of n vectors take 2n projections, not n^2.

    Args:
        sizes: The size of each vector; there must be at least one vector.
        hidden: Size of the hidden layer.

    Raises:
        ValueError: If there are no sizes, or one is less than 1.

    Examples:
        >>> score, words = JointPerceptron(4, 4, hidden=8), torch.randn(5, 4)
        >>> score(words.unsqueeze(1), words).shape
        torch.Size([5, 5])
    """

    def __init__(self, *sizes: int, hidden: int) -> None:
        super().__init__()
        if not sizes:
            raise ValueError("sizes is empty; expected the size of at least one vector")
        require_sizes(hidden=hidden, **{f"size_{index}": size for index, size in enumerate(sizes, 1)})
        self.sizes = list(sizes)
        self.inputs = nn.ModuleList(
            nn.Linear(size, hidden, bias=not index) for index, size in enumerate(sizes)
        )
        self.output = nn.Linear(hidden, 1)

    def forward(self, *vectors: Tensor) -> Tensor:
        """Return scores ``(*batch,)`` of vectors ``(*batch, size)`` that broadcast against each other.

        Raises:
            ValueError: If the number or a size of the vectors is wrong.
        """
        if [vector.shape[-1:] for vector in vectors] != [torch.Size([size]) for size in self.sizes]:
            raise ValueError(
                f"vectors have shapes {[tuple(vector.shape) for vector in vectors]}; expected one tensor "
                f"(*batch, size) for each of the sizes {self.sizes}"
            )
        projected = (layer(vector) for layer, vector in zip(self.inputs, vectors, strict=True))
        scores: Tensor = self.output(reduce(torch.add, projected).tanh()).squeeze(-1)
        return scores
