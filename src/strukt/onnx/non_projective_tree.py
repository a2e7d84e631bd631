"""The best tree (Chu and Liu 1965; Edmonds 1967) in ONNX operators: a loop contracts cycles, another expands them.

A step finds the best head of each node; if these arcs have a cycle, it contracts the cycle into one of its nodes.
"""

from __future__ import annotations

import torch
from torch import Tensor

from strukt.onnx.loops import scan

NEVER = -1e30
"""A score in place of -inf, whose differences would be NaN; it fits float32, the type of constants in ONNX."""

DOUBLINGS = 14
"""Number of doublings of paths of heads: enough for sentences of fewer than 16,384 words."""

Step = tuple[Tensor, ...]


def best_heads(arcs: Tensor, lengths: Tensor, single_root: bool) -> Tensor:
    """Return the heads of the best tree ``(batch, n)``; time O(n^3) per item, in O(n) sequential steps.

    Args:
        arcs: ``(batch, n, n + 1)``, the score of each head for each word.
        lengths: ``(batch,)``, the numbers of words.
        single_root: Whether exactly one word depends on the root.
    """
    scores = _prepared(arcs, lengths, single_root)
    index = torch.arange(scores.shape[-1], device=arcs.device)
    words = index.expand_as(scores[:, 0])
    heads = index.expand_as(scores)
    (scores, origins, dependents, nodes), steps = scan(
        _contract, (scores, heads, heads.transpose(1, 2), words), index
    )
    chosen = scores.argmax(2, keepdim=True)
    there = (nodes == index) & (index > 0)
    start = _attach(words, there, dependents.gather(2, chosen)[:, :, 0], origins.gather(2, chosen)[:, :, 0])
    expanded, _ = scan(_expand, start, steps, reverse=True)
    best: Tensor = expanded[0]
    return best[:, 1:]


def _prepared(arcs: Tensor, lengths: Tensor, single_root: bool) -> Tensor:
    """Return the scores of heads ``(batch, n + 1, n + 1)``, with a row for the root.

    Padding depends on the root. With ``single_root``, the scores of arcs from the root are lowered so far that the
    best tree has only one of them.
    """
    arcs = torch.cat([torch.full_like(arcs[:, :1], NEVER), arcs], 1)
    index = torch.arange(arcs.shape[-1], device=arcs.device)
    word, head = index[:, None], index
    inside = (torch.maximum(word, head) <= lengths[:, None, None]) & (word >= 1) & (word != head)
    finite = inside & arcs.isfinite()
    if single_root:  # every tree with a single child of the root beats all others
        most = torch.where(finite, arcs, -torch.inf).amax((1, 2), keepdim=True)
        least = torch.where(finite, arcs, torch.inf).amin((1, 2), keepdim=True)
        arcs = torch.where(head == 0, arcs - ((most - least) * lengths[:, None, None] + 1.0), arcs)
    padding = (word > lengths[:, None, None]) & (head == 0)
    return torch.where(finite, arcs, torch.where(padding, torch.zeros_like(arcs), NEVER))


def _contract(state: Step, _: Tensor) -> tuple[Step, Step]:
    """Contract a cycle, if there is one, into one of its nodes.

    Args:
        state: ``scores`` ``(batch, n + 1, n + 1)``, the score of a node (column) as head of another (row);
            ``origins`` and ``dependents``, the head and the word of the arc with this score; and ``nodes``
            ``(batch, n + 1)``, the node that each word belongs to.

    Returns:
        The next state; and for `_expand`, a mask of the nodes of the cycle, the old ``nodes``, and for each node
        the word and the head of its best arc.
    """
    scores, origins, dependents, nodes = state
    index = torch.arange(scores.shape[-1], device=scores.device)
    best, head = scores.max(2)
    head = torch.where(best > NEVER / 2, head, 0)
    node, cycle = _cycle(head)
    row, column = (index == node) & (node > 0), cycle[:, None, :]
    entering = torch.where(cycle[:, :, None], scores - best[:, :, None], 4 * NEVER)
    entering, entered = entering.max(1, keepdim=True)
    leaving, left = torch.where(column, scores, 4 * NEVER).max(2, keepdim=True)
    inner = cycle[:, :, None] | column

    def contracted(values: Tensor, into: Tensor, out: Tensor, none: Tensor) -> Tensor:
        """Set the contracted node's row to `into` and column to `out`, and other entries of the cycle to `none`.

        Where there is no cycle, return `values` unchanged.
        """
        into = torch.where(row[:, :, None] & ~column, into, none)
        out = torch.where(row[:, None, :] & ~cycle[:, :, None], out, into)
        return torch.where(inner & (node > 0)[:, :, None], out, values)

    arcs = [
        contracted(values, values.gather(1, entered), values.gather(2, left), values)
        for values in (origins, dependents)
    ]
    fresh = contracted(scores, entering, leaving, torch.full_like(scores, NEVER))
    in_cycle = [values.gather(2, head[:, :, None])[:, :, 0] for values in (dependents, origins)]
    merged = torch.where(cycle.gather(1, nodes), node, nodes)
    return (fresh, *arcs, merged), (cycle, nodes, *in_cycle)


def _cycle(head: Tensor) -> tuple[Tensor, Tensor]:
    """Return a node of a cycle ``(batch, 1)``, 0 without a cycle, and a mask of its nodes ``(batch, n + 1)``."""
    index = torch.arange(head.shape[1], device=head.device)
    powers = [head]
    for _ in range(DOUBLINGS - 1):
        powers.append(powers[-1].gather(1, powers[-1]))
    node = powers[-1].gather(1, powers[-1]).amax(1, keepdim=True)  # after 2**DOUBLINGS steps
    path = node.expand_as(head)
    for bit, power in enumerate(powers):
        path = torch.where((index >> bit) % 2 == 1, power.gather(1, path), path)
    return node, (path[:, :, None] == index).any(1) & (node > 0)


def _expand(state: Step, step: Step) -> tuple[Step, Tensor]:
    """Expand a cycle: attach its nodes to each other, except the node that has a head outside the cycle.

    Args:
        state: The heads of words so far, ``(batch, n + 1)``, and a mask of the words that are attached.
        step: The result of `_contract` for this step.

    Returns:
        The next state, and an output that is ignored.
    """
    heads, attached = state
    cycle, nodes, dependents, origins = step
    index = torch.arange(heads.shape[1], device=heads.device)
    entrance = (cycle.gather(1, nodes) & attached).int().argmax(1, keepdim=True)
    along = cycle & (index != nodes.gather(1, entrance))
    heads, more = _attach(heads, along, dependents, origins)
    return (heads, attached | more), cycle[0, 0]


def _attach(heads: Tensor, nodes: Tensor, dependents: Tensor, origins: Tensor) -> tuple[Tensor, Tensor]:
    """Set the heads of words by the arcs into some nodes; return all heads, and a mask of the words attached.

    Args:
        heads: ``(batch, n + 1)``, the heads of words so far.
        nodes: ``(batch, n + 1)``, a mask of the nodes whose arcs are used.
        dependents: ``(batch, n + 1)``, the word of the arc into each node.
        origins: ``(batch, n + 1)``, the head of the arc into each node.
    """
    index = torch.arange(heads.shape[1], device=heads.device)
    same = (dependents[:, None, :] == index[:, None]) & nodes[:, None, :]
    attached = same.any(2)
    return torch.where(attached, origins.gather(1, same.int().argmax(2)), heads), attached
