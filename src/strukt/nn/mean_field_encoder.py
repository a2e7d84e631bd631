"""The Probabilistic Transformer in the place of another encoder."""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn

from strukt.checks.lengths import Lengths
from strukt.nn.encoders import mask_of
from strukt.nn.inputs import lengths_of, require_sizes
from strukt.nn.probabilistic_transformer import Encoding, ProbabilisticTransformer


class MeanFieldEncoder(nn.Module):
    """Vectors of words as scores of labels, and what these become after mean field.

    Args:
        inputs: Size of the vectors that come in.
        labels: Number of labels d, the size of the vectors that come out.
        projected: Whether scores of labels are a projection of the vectors, or these vectors themselves.
        options: Of `ProbabilisticTransformer`.

    Attributes:
        size: Size of the vectors that come out.
        causal: Whether words see nothing to the right.

    Raises:
        ValueError: If a size is not above 0, or vectors that are scores themselves do not have one for each label.

    Examples:
        >>> import torch
        >>> encoder = MeanFieldEncoder(8, 16, channels=4, iterations=2, rank=4)
        >>> encoder(torch.randn(2, 5, 8), torch.tensor([5, 3])).shape
        torch.Size([2, 5, 16])
    """

    def __init__(self, inputs: int, labels: int, *, projected: bool = True, **options: Any) -> None:
        super().__init__()
        require_sizes(inputs=inputs)
        self.inputs, self.size = inputs, labels
        if not projected and inputs != labels:
            raise ValueError(
                f"inputs is {inputs}; expected {labels}, a score for each label, if they are not projected"
            )
        self.scores = nn.Linear(inputs, labels) if projected else nn.Identity()
        self.mean_field = ProbabilisticTransformer(labels, **options)
        self.causal = self.mean_field.causal

    def encode(self, x: Tensor, lengths: Lengths | None = None) -> Encoding:
        """All that mean field says of the words, from `(batch, n, inputs)` and `(batch,)`."""
        found: Encoding = self.mean_field(*self._scores_of(x, lengths))
        return found

    def forward(self, x: Tensor, lengths: Lengths | None = None) -> Tensor:
        """Reads the sentences.

        Args:
            x: `(batch, n, inputs)`; the padding is ignored.
            lengths: `(batch,)`; all n if None.

        Returns:
            `(batch, n, size)`, the scores of the labels, zero in the padding.

        Raises:
            ValueError: If shapes do not fit, or a length is not between 0 and n.
        """
        return self.mean_field.label_scores(*self._scores_of(x, lengths))

    def _scores_of(self, x: Tensor, lengths: Lengths | None) -> tuple[Tensor, Tensor]:
        """The scores of the labels before mean field, and the lengths."""
        lengths = lengths_of("x", x, self.inputs, lengths)
        outside = ~mask_of(lengths, x.shape[1]).unsqueeze(-1)
        return self.scores(x.masked_fill(outside, 0)), lengths
