"""Pictures of attention: its weights and, for mean-field attention, its interactions and sweeps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from scipy.sparse.csgraph import breadth_first_order, minimum_spanning_tree
from torch import Tensor

from strukt.nn.mean_field_attention import MeanFieldAttention
from strukt.viz import Diagram, HeatMap, Interactions
from strukt.viz.pictures.interactions import Spanning
from strukt.viz.svg import Picture


def answer_map(outputs: Sequence[str]) -> HeatMap:
    """Draw the outputs, which are numbers, as a single row, for a model without attention.

    Examples:
        >>> answer_map(["3", "7"]).description()
        'answer: output × 1 3, output × 2 7'
    """
    steps = [str(step) for step in range(1, len(outputs) + 1)]
    return HeatMap("answer", ["output"], steps, [[float(output) for output in outputs]])


def of_mean_field(
    attention: MeanFieldAttention,
    query: Tensor,
    keys: Tensor,
    forms: Sequence[str],
    output: str,
    lengths: Tensor | None = None,
    spanning: Spanning = "minimum",
) -> Mapping[str, Picture]:
    """Draw a step of mean-field attention, in the pictures `interactions`, `tree`, `graph` and `sweeps`.

    If an interaction is positive, two words become relevant together; if negative, they compete. The graph shows
    the interactions and their spanning tree together. The sweeps are the attention weights, one row per sweep; row
    0 is before the first.

    Args:
        attention: The attention layer.
        query: The query vector of the step, ``(1, 1, queries)``.
        keys: The key vectors of the words, ``(1, n, keys)``.
        forms: The n words.
        output: The output of the step.
        lengths: ``(1,)``, the number of keys; n if None.
        spanning: The spanning tree, as for `interaction_tree`.
    """
    sweeps = attention.sweeps(query, keys, lengths)[:, 0, 0]
    pairwise = attention.crf(query, keys, lengths).scores[1][0, 0]
    tree = interaction_tree(forms, pairwise, sweeps[-1], spanning)
    edges = [(word, head - 1) for word, head in enumerate(tree.heads) if head > 0]
    title, interactions = f"interactions for {output}", pairwise.tolist()
    rows = [f"{sweep} sweeps" for sweep in range(len(sweeps))]
    return {
        "interactions": HeatMap(title, forms, forms, interactions),
        "tree": tree,
        "graph": Interactions(title, forms, interactions, edges),
        "sweeps": HeatMap(f"attention of {output} by sweeps", rows, forms, sweeps.tolist()),
    }


def interaction_tree(
    forms: Sequence[str], pairwise: Tensor, weights: Tensor, spanning: Spanning = "minimum"
) -> Diagram:
    """Draw a spanning tree of the interactions, rooted at the word with the largest weight.

    Args:
        forms: The n words.
        pairwise: ``(n, n)``, the interaction of each pair of words, symmetric; it labels the arcs.
        weights: ``(n,)``, the weights of the words, drawn as their tags.
        spanning: The tree whose interactions are smallest in sum (``minimum``), as published, largest
            (``maximum``), or largest in absolute value (``absolute``).

    Source: Liu Ziyin et al. (2019), section 3.3.

    Complexity: O(n^2 log n).

    Examples:
        >>> import torch
        >>> pairwise = torch.tensor([[0.0, 3.0, -1.0], [3.0, 0.0, 2.0], [-1.0, 2.0, 0.0]])
        >>> interaction_tree(["a", "b", "c"], pairwise, torch.tensor([0.9, 0.1, 0.2])).heads
        [0, 3, 1]
        >>> interaction_tree(["a", "b", "c"], pairwise, torch.tensor([0.9, 0.1, 0.2]), "maximum").heads
        [0, 1, 2]
    """
    scores = pairwise.double().cpu().numpy()
    costs = {"minimum": scores, "maximum": -scores, "absolute": -abs(scores)}[spanning]
    costs = 1 + costs - costs.min()  # above 0, because SciPy reads 0 as no edge
    np.fill_diagonal(costs, 0)
    root = int(weights.argmax())
    _, parents = breadth_first_order(minimum_spanning_tree(costs), root, directed=False)
    heads = [0 if word == root else int(parent) + 1 for word, parent in enumerate(parents)]
    relations = [f"{scores[word, head - 1]:.2f}" if head else "" for word, head in enumerate(heads)]
    return Diagram(forms, [f"{weight:.2f}" for weight in weights.tolist()], heads, relations)
