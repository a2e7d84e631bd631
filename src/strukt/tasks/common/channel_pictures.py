"""The heads that a Probabilistic Transformer finds, as pictures."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from strukt.nn.probabilistic_transformer import Encoding
from strukt.viz import Diagram


def channel_diagrams(found: Encoding, forms: Sequence[str]) -> list[Diagram]:
    """The most probable head of each word, with its probability, in each channel.

    Args:
        found: What mean field says of one sentence.
        forms: Its words.

    Returns:
        A picture for each channel. The root is among the heads if there is one, global features are not; a word
        without any probability of a head, such as the only one of a sentence, has none. Arcs have the number of
        their most probable label, if dependencies have labels.

    Source: Wu and Tu (2023), figure 10.

    Examples:
        >>> heads = torch.tensor([[0.0, 0.9, 0.1], [0.3, 0.0, 0.7], [0.5, 0.5, 0.0]])
        >>> nothing = torch.zeros(1, 3, 4)
        >>> found = Encoding(nothing, nothing, heads[None, None], None, None, None)
        >>> [diagram] = channel_diagrams(found, ["Dogs", "bark", "loudly"])
        >>> diagram.title, diagram.heads, [round(p, 2) for p in diagram.head_probabilities]
        ('channel 1', [2, 3, 1], [0.9, 0.7, 0.5])
    """
    heads = found.heads[0]
    root = torch.zeros_like(heads[..., 0]) if found.root_heads is None else found.root_heads[0]
    probabilities, best = torch.cat([root.unsqueeze(-1), heads], -1).max(-1)
    best = best.masked_fill(probabilities <= 0, -1)
    labels = [] if found.dependency_labels is None else found.dependency_labels[0].argmax(-1).tolist()
    return [
        Diagram(
            forms,
            heads=of_words,
            relations=[str(label + 1) for label in labels[channel - 1]] if labels else (),
            head_probabilities=how_probable,
            title=f"channel {channel}",
        )
        for channel, (of_words, how_probable) in enumerate(
            zip(best.tolist(), probabilities.tolist(), strict=True), 1
        )
    ]
