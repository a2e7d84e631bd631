"""Pictures of structures with weights: the result of SparseMAP, the best few, samples."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from strukt.inference.sparsemap import SparseMAP
from strukt.structures.binary_tree import BinaryTree
from strukt.structures.non_projective_tree.distribution import NonProjectiveTree
from strukt.structures.projective_tree.distribution import ProjectiveTree
from strukt.structures.semi_markov.distribution import SemiMarkov
from strukt.viz.pictures.brackets.picture import Bracket, BracketDiagram
from strukt.viz.pictures.dependency_tree.picture import Diagram
from strukt.viz.pictures.heat_map import HeatMap
from strukt.viz.pictures.weighted import WeightedStructures

LEAST = 0.01
"""The smallest weight of a drawn structure."""

MOST = 10
"""The largest number of drawn structures of a set, and of drawn sets of a batch."""

_TREES = (NonProjectiveTree, ProjectiveTree)


def of_sparsemap(
    result: SparseMAP, forms: Sequence[str] = (), labels: Sequence[str] = ()
) -> list[WeightedStructures]:
    """Return the structures of a SparseMAP result, a set for each of the first `MOST` (10) items of a batch.

    Args:
        result: The result of `StructuredDistribution.sparsemap`.
        forms: The words; positions are drawn if they are empty.
        labels: The names of tags or labels; numbers are drawn if they are empty.

    Raises:
        ValueError: If the result is not that of a distribution, or words or labels do not fit it, as in `picture`.

    Examples:
        >>> import torch
        >>> scores = torch.tensor([[0.0, -9.0, 0.4], [0.3, 0.0, -9.0]])
        >>> [result] = of_sparsemap(ProjectiveTree(scores).sparsemap(), ["Dogs", "bark"])
        >>> [f"{weight:.2f} {tree.heads}" for weight, tree in zip(result.weights, result.pictures)]
        ['0.68 [2, 0]', '0.32 [0, 1]']
    """
    if result.family is None:
        raise ValueError("result.family is None; expected the result of a distribution's sparsemap()")
    axis = result.status.dim()
    weights, events = (
        value.detach().reshape(-1, *value.shape[axis:])[:MOST] for value in (result.weights, result.events)
    )
    titles = [f"item {item}" if axis else "" for item in range(len(weights))]
    return [
        weighted(result.family, of_item, weights_of_item, forms, labels, title)
        for of_item, weights_of_item, title in zip(events, weights, titles, strict=True)
    ]


def weighted(
    family: type, events: Tensor, weights: Tensor, forms: Sequence[str] = (), labels: Sequence[str] = (),
    title: str = "",
) -> WeightedStructures:  # fmt: skip
    """Return structures with weights, such as the best few or different samples, the heaviest first.

    Args:
        family: The class of the distribution, which determines the kind of picture.
        events: The k structures, ``(k, *event_shape)``.
        weights: ``(k,)``, the probabilities of the structures. Up to `MOST` (10) structures are drawn, those with
            weights of at least `LEAST` (0.01), but always the heaviest one, unless its weight is 0.
        forms: The words; positions are drawn if they are empty.
        labels: The names of tags or labels; numbers are drawn if they are empty.
        title: The title.

    Raises:
        ValueError: If words or labels do not fit the structures, as in `picture`.

    Examples:
        >>> import torch
        >>> from strukt import LinearChain
        >>> chain = LinearChain(torch.tensor([[0.0, 1.0], [2.0, 0.0]]), torch.zeros(2, 2))
        >>> _, best = chain.topk(2)
        >>> structures = weighted(LinearChain, best, chain.log_prob(best).exp(), ["a", "b"], ["X", "Y"])
        >>> [tags.tags for tags in structures.pictures]
        [['Y', 'X'], ['X', 'X']]
    """
    order = weights.argsort(descending=True, stable=True)
    values = [weight for weight in weights[order].tolist() if weight > 0]
    drawn = max(1, sum(weight >= LEAST for weight in values[:MOST]))
    pictures = [picture(family, event, forms, labels) for event in events[order[: len(values)][:drawn]]]
    return WeightedStructures(
        pictures, values[:drawn], title, len(values[drawn:]), min(sum(values[drawn:]), 1.0)
    )


def picture(
    family: type, event: Tensor, forms: Sequence[str] = (), labels: Sequence[str] = ()
) -> Diagram | BracketDiagram | HeatMap:
    """Return the picture of one structure.

    Dependency trees are drawn with arcs, spans and segments with brackets, and other matrices as tables. All other
    structures are drawn as a tag for each position.

    Args:
        family: The class of the distribution.
        event: The structure, of the event shape of the distribution.
        forms: The words; positions are drawn if they are empty.
        labels: The names of tags or labels; numbers are drawn if they are empty.

    Raises:
        ValueError: If `forms` does not have one word for each position of the structure (if brackets are drawn,
            more words are allowed); or if `labels` has no name for a label of the structure.
    """
    if issubclass(family, BinaryTree):
        return _brackets(_spans(event), forms, labels)
    if issubclass(family, SemiMarkov):
        return _brackets(_segments(event), forms, labels)
    if issubclass(family, _TREES):
        return _tree(event, forms, labels)
    if event.dim() > 1:
        rows, columns = ([str(place) for place in range(1, size + 1)] for size in event.shape)
        return HeatMap("", forms or rows, labels or columns, event.tolist())
    values = event[: _used(event)].tolist()
    words = forms or [str(place) for place in range(1, len(values) + 1)]
    return Diagram(words, [_name(value, labels) if value >= 0 else "" for value in values])


def _tree(event: Tensor, forms: Sequence[str], labels: Sequence[str]) -> Diagram:
    """Return a tree with its heads, and with the labels of its arcs if the event is ``(n, 2)``."""
    pairs = event if event.dim() > 1 else event.unsqueeze(-1)
    values = pairs[: _used(pairs[:, 0])]
    words = forms or [str(place) for place in range(1, len(values) + 1)]
    heads, *of_arcs = values.unbind(-1)
    relations = [_name(value, labels) for column in of_arcs for value in column.tolist()]
    return Diagram(words, heads=heads.tolist(), relations=relations)


def _used(values: Tensor) -> int:
    """Return the number of positions up to the last one that is not -1."""
    places = (values >= 0).nonzero()
    return int(places[-1]) + 1 if len(places) else 0


def _spans(event: Tensor) -> list[tuple[int, int, int]]:
    """Return start, end and label of the spans of a tree, from left to right, outer ones first."""
    places = (event >= 0).nonzero().tolist()
    spans = [(start, end, int(event[start, end])) for start, end in places]
    return sorted(spans, key=lambda span: (span[0], -span[1]))


def _segments(event: Tensor) -> list[tuple[int, int, int]]:
    """Return start, end and label of the segments, from left to right; the last one ends where the event ends."""
    starts = (event >= 0).nonzero().flatten().tolist()
    ends = [*starts[1:], len(event)]
    return [(start, end, int(event[start])) for start, end in zip(starts, ends, strict=True)]


def _brackets(
    spans: Sequence[tuple[int, int, int]], forms: Sequence[str], labels: Sequence[str]
) -> BracketDiagram:
    length = max((end for _, end, _ in spans), default=0)
    words = forms or [str(place) for place in range(1, length + 1)]
    return BracketDiagram(words, [Bracket(_name(label, labels), start, end) for start, end, label in spans])


def _name(value: int, labels: Sequence[str]) -> str:
    """Return the name of a label, or its number if `labels` is empty; raise ValueError if it has no name."""
    if labels and value >= len(labels):
        raise ValueError(f"labels has {len(labels)} entries; expected at least {value + 1}, one for each label")
    return labels[value] if labels else str(value)
