"""The best structure of a distribution, in ONNX operators."""

from __future__ import annotations

import torch
from torch import Tensor

from strukt.onnx import linear_chain, non_projective_tree, projective_tree, span_tree
from strukt.structures.dependency import DependencyTree
from strukt.structures.distribution import StructuredDistribution
from strukt.structures.linear_chain.distribution import LinearChain
from strukt.structures.non_projective_tree.distribution import NonProjectiveTree
from strukt.structures.projective_tree.distribution import ProjectiveTree
from strukt.structures.span_tree.distribution import SpanTree


def mode(distribution: StructuredDistribution) -> Tensor:
    """Return the best structure, computed by operators that `torch.onnx.export` can export.

    Outside an export, this is ``distribution.mode``. In an exported graph, it is a few loops of ONNX operators, so
    that a graph from words to structures runs in any ONNX runtime, without strukt. The axes of batch and words may
    be dynamic, and the lengths may be an input of the graph.

    Args:
        distribution: For an export, a `LinearChain`, `ProjectiveTree`, `NonProjectiveTree` or `SpanTree`, with
            labels or without. A graph cannot raise errors, so values are not checked.

    Returns:
        The event, with the shape and padding of ``distribution.mode``. Among several best structures, any may be
        returned. If all structures are forbidden, an exported graph returns an arbitrary event.

    Raises:
        NotImplementedError: If a distribution of another class is exported, or if ``torch.jit.trace`` or
            ``torch.onnx.export`` with ``dynamo=False`` traces the model, because the result would be a constant in
            their graphs.
        InfeasibleError: If all structures of an item are forbidden, outside an export.

    Complexity: O(n c^2) time per item of n words for chains with c tags, and O(n^3 + n^2 c) for trees with c
    labels; the loops have O(n) steps.

    Examples:
        >>> from strukt import LinearChain
        >>> class Tagger(torch.nn.Module):
        ...     def __init__(self):
        ...         super().__init__()
        ...         self.scores, self.transition = torch.nn.Linear(8, 3), torch.nn.Parameter(torch.zeros(3, 3))
        ...     def forward(self, vectors, lengths):
        ...         return mode(LinearChain(self.scores(vectors), self.transition, lengths))
        >>> vectors, lengths = torch.randn(2, 5, 8), torch.tensor([5, 3])
        >>> tags = Tagger()(vectors, lengths)  # no export: the usual mode
        >>> free = torch.export.Dim.DYNAMIC
        >>> torch.onnx.export(  # takes some seconds  # doctest: +SKIP
        ...     Tagger(), (vectors, lengths), "tagger.onnx", dynamo=True, input_names=["vectors", "lengths"],
        ...     dynamic_shapes={"vectors": {0: free, 1: free}, "lengths": {0: free}},
        ... )
    """
    if not torch.compiler.is_exporting():
        if torch.jit.is_tracing():  # type: ignore[attr-defined, no-untyped-call]
            raise NotImplementedError(
                "torch.jit.trace and torch.onnx.export with dynamo=False would make the mode a constant; expected "
                "torch.onnx.export with dynamo=True"
            )
        return distribution.mode
    scores = [_flattened(part, distribution) for part in distribution.scores]
    lengths = distribution.lengths.flatten()
    if isinstance(distribution, LinearChain):
        event = linear_chain.best_tags(scores[0], scores[1], lengths)
    elif isinstance(distribution, (ProjectiveTree, NonProjectiveTree)):
        event = _heads(distribution, scores[0], lengths)
    elif isinstance(distribution, SpanTree):
        event = _spans(distribution, scores[0], lengths)
    else:
        raise NotImplementedError(
            f"the mode of {type(distribution).__name__} cannot be exported to ONNX; expected LinearChain, "
            "ProjectiveTree, NonProjectiveTree or SpanTree. Export the scores, and let strukt find the structure"
        )
    return event.reshape(*distribution.batch_shape, *event.shape[1:])


def _flattened(scores: Tensor, distribution: StructuredDistribution) -> Tensor:
    """Return scores in float64, with a single batch axis, and without gradients.

    In float32, a part of -1e9 that every structure must have would hide the differences of all others.
    """
    axes = len(distribution.batch_shape)
    scores = scores.detach().double().expand(*distribution.batch_shape, *scores.shape[axes:])
    return scores.flatten(0, axes - 1) if axes else scores[None]


def _heads(trees: DependencyTree, arcs: Tensor, lengths: Tensor) -> Tensor:
    """Return the best heads ``(batch, n)``; for labelled trees, heads and labels, ``(batch, n, 2)``."""
    best, labels = arcs.max(-1) if trees.labelled else (arcs, None)
    if isinstance(trees, ProjectiveTree):
        heads = projective_tree.best_heads(best, lengths, trees.single_root)
    else:
        heads = non_projective_tree.best_heads(best, lengths, trees.single_root)
    inside = torch.arange(heads.shape[1], device=heads.device) < lengths[:, None]
    heads = torch.where(inside, heads, -1)
    if labels is None:
        return heads
    chosen = labels.gather(2, heads[:, :, None].clamp(min=0))[:, :, 0]
    return torch.stack([heads, torch.where(inside, chosen, -1)], 2)


def _spans(trees: SpanTree, spans: Tensor, lengths: Tensor) -> Tensor:
    """Return the labels of the best trees' spans (0 if unlabelled), -1 elsewhere, ``(batch, n + 1, n + 1)``."""
    best, labels = spans.max(-1) if trees.labelled else (spans, torch.zeros_like(spans, dtype=torch.int64))
    return torch.where(span_tree.best_spans(best, lengths), labels, -1)
