"""The Probabilistic Transformer with the interface of the other encoders."""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn
from typing_extensions import override

from strukt.checks.lengths import Lengths
from strukt.nn.encoders import SentenceEncoder, mask_of
from strukt.nn.inputs import lengths_of, require_sizes
from strukt.nn.probabilistic_transformer import Encoding, ProbabilisticTransformer


class MeanFieldEncoder(SentenceEncoder):
    """An encoder that turns word vectors into label scores and refines them by mean field.

    Args:
        inputs: Size of the input vectors.
        labels: Number of labels d, the size of the output vectors.
        projected: Whether label scores are a linear projection of the input vectors; if False, they are the
            vectors themselves.
        options: Options of `ProbabilisticTransformer`, other than ``labels``.

    Attributes:
        inputs: Size of the input vectors.
        size: Size of the output vectors.
        causal: Whether words attend only to the left.

    Raises:
        ValueError: If a size is less than 1, `inputs` differs from `labels` without a projection, or
            `ProbabilisticTransformer` rejects the value of an option.
        TypeError: If an option is unknown.

    Examples:
        >>> import torch
        >>> encoder = MeanFieldEncoder(8, 16, channels=4, iterations=2, rank=4)
        >>> encoder(torch.randn(2, 5, 8), torch.tensor([5, 3])).shape
        torch.Size([2, 5, 16])
    """

    def __init__(self, inputs: int, labels: int, *, projected: bool = True, **options: Any) -> None:
        super().__init__()
        require_sizes(inputs=inputs, labels=labels)
        self.inputs, self.size = inputs, labels
        if not projected and inputs != labels:
            raise ValueError(
                f"inputs is {inputs}; expected {labels}, a score for each label, if they are not projected"
            )
        self.scores = nn.Linear(inputs, labels) if projected else nn.Identity()
        self.mean_field = ProbabilisticTransformer(labels, **options)
        self.causal = self.mean_field.causal

    def encode(self, x: Tensor, lengths: Lengths | None = None) -> Encoding:
        """Run mean field and return all distributions, with the scores of labels.

        Args:
            x: `(batch, n, inputs)`; padding is ignored.
            lengths: `(batch,)`; all n if None.

        Raises:
            ValueError: If a shape is wrong, or a length is not between 0 and n.
        """
        lengths = lengths_of("x", x, self.inputs, lengths)
        outside = ~mask_of(lengths, x.shape[1]).unsqueeze(-1)
        result: Encoding = self.mean_field(self.scores(x.masked_fill(outside, 0)), lengths)
        return result

    @override
    def forward(self, x: Tensor, lengths: Lengths | None = None) -> Tensor:
        """Encode a batch of sentences.

        Args:
            x: `(batch, n, inputs)`; padding is ignored.
            lengths: `(batch,)`; all n if None.

        Returns:
            `(batch, n, size)`, the label scores, zero in the padding; in the dtype of the weights.

        Raises:
            ValueError: If a shape is wrong, or a length is not between 0 and n.
        """
        return super().forward(x, lengths).to(next(self.parameters()).dtype)

    @override
    def _encode(self, x: Tensor, lengths: Tensor) -> Tensor:
        return self.mean_field.label_scores(self.scores(x), lengths)
