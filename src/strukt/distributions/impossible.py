"""A warning for training on events of probability 0, whose mean loss is infinite whatever is learned."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from strukt.kernels.semiring import NEG_INF

if TYPE_CHECKING:
    from strukt.distributions.chain import LinearChain
    from strukt.distributions.distribution import StructuredDistribution

_said = False


def warn_once(distribution: StructuredDistribution, event: Tensor, log_prob: Tensor) -> None:
    """Warn of the first item whose event is impossible, once in a process, where a gradient is to be taken.

    Events of probability 0 are asked for in other places, too, where nothing is wrong with them.
    """
    global _said
    if _said or not log_prob.requires_grad or torch.compiler.is_compiling():
        return
    try:
        wrong = (log_prob.detach() == NEG_INF).nonzero()
        first = wrong[0].tolist() if len(wrong) else None
    except RuntimeError:  # tensors of torch.func.vmap, which hide their data
        return
    if first is None:
        return
    _said = True
    one = event.expand(*log_prob.shape, *distribution.event_shape)[tuple(first)]
    reason = distribution._why_impossible(one, tuple(first[log_prob.dim() - len(distribution.batch_shape) :]))
    item = first[0] if len(first) == 1 else tuple(first)
    warnings.warn(
        f"log_prob of batch item {item} is -inf, and a mean loss with it inf: {reason}. Mend the event, or "
        "allow it (said once; other items may be like this one)",
        stacklevel=3,
    )


def forbidden_step(chain: LinearChain, tags: Tensor, item: tuple[int, ...]) -> str:
    """Say which tag of a sequence `(n,)`, or which pair of tags, the scores of an item of a chain forbid."""
    unary, transition = (score.detach() for score in chain.scores)
    steps = transition.expand(*chain.batch_shape, *transition.shape[-3:])[item]
    before = None
    for position, tag in enumerate(tags[: int(chain.lengths[item])].tolist()):
        if unary[item][position, tag] == NEG_INF:
            return f"tag {tag} is forbidden at position {position}"
        if before is not None and steps[min(position - 1, len(steps) - 1), before, tag] == NEG_INF:
            return f"tag {tag} at position {position} follows tag {before}, which is forbidden"
        before = tag
    return "every sequence is forbidden"
