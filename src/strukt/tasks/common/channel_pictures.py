"""Pictures of the heads of a Probabilistic Transformer."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from strukt.nn.probabilistic_transformer import Encoding
from strukt.viz import Diagram


def channel_diagrams(encoding: Encoding, forms: Sequence[str]) -> list[Diagram]:
    """Draw the most probable head of each word in each channel, with its probability.

    Args:
        encoding: The mean-field distributions of one sentence.
        forms: The words of the sentence.

    Returns:
        A picture for each channel. Heads include the root, if there is one, but not global features. A word has no
        head if the probability of every head is 0, as in a sentence of one word. If dependencies have labels, each
        arc shows the number of its most probable label, from 1.

    Source: Wu and Tu (2023), figure 10.

    Examples:
        >>> heads = torch.tensor([[0.0, 0.9, 0.1], [0.3, 0.0, 0.7], [0.5, 0.5, 0.0]])
        >>> zeros = torch.zeros(1, 3, 4)
        >>> encoding = Encoding(zeros, zeros, heads[None, None], None, None, None)
        >>> [diagram] = channel_diagrams(encoding, ["Dogs", "bark", "loudly"])
        >>> diagram.title, diagram.heads, [round(p, 2) for p in diagram.head_probabilities]
        ('channel 1', [2, 3, 1], [0.9, 0.7, 0.5])
    """
    heads = encoding.heads[0]
    root = torch.zeros_like(heads[..., 0]) if encoding.root_heads is None else encoding.root_heads[0]
    probabilities, best = torch.cat([root.unsqueeze(-1), heads], -1).max(-1)
    best = best.masked_fill(probabilities <= 0, -1)
    labels = [] if encoding.dependency_labels is None else encoding.dependency_labels[0].argmax(-1).tolist()
    return [
        Diagram(
            forms,
            heads=row,
            relations=[str(label + 1) for label in labels[channel - 1]] if labels else (),
            head_probabilities=certainty,
            title=f"channel {channel}",
        )
        for channel, (row, certainty) in enumerate(
            zip(best.tolist(), probabilities.tolist(), strict=True), 1
        )
    ]
