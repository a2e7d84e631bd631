"""Dependency trees with a single root.

Arc scores are `(batch, n, n + 1)`; `[m, h]` scores head h of word m + 1, head 0 being the root.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import pad

from benchmarks import gold
from benchmarks.contest import TRAINING, Case, Contestant, Family, Loss
from benchmarks.exact import matrix_tree
from benchmarks.peers import supar_structs


def strukt_non_projective_log_partition(arcs: Tensor) -> Tensor:
    from strukt.distributions import NonProjectiveTree

    return NonProjectiveTree(arcs).log_partition


def strukt_non_projective_mode(arcs: Tensor) -> Tensor:
    from strukt.distributions import NonProjectiveTree

    return NonProjectiveTree(arcs).mode


def strukt_projective_log_partition(arcs: Tensor) -> Tensor:
    from strukt.distributions import ProjectiveTree

    return ProjectiveTree(arcs).log_partition


def strukt_projective_mode(arcs: Tensor) -> Tensor:
    from strukt.distributions import ProjectiveTree

    return ProjectiveTree(arcs).mode


def strukt_non_projective_loss(heads: Tensor, *_: Tensor) -> Loss:
    from strukt.distributions import NonProjectiveTree

    return lambda arcs: -NonProjectiveTree(arcs).log_prob(heads).mean()


def strukt_projective_loss(heads: Tensor, *_: Tensor) -> Loss:
    from strukt.distributions import ProjectiveTree

    return lambda arcs: -ProjectiveTree(arcs).log_prob(heads).mean()


def _head_child(arcs: Tensor) -> Tensor:
    """Return scores in torch-struct's layout `(batch, n, n)`: `[head, child]`, root scores on the diagonal."""
    return torch.diagonal_scatter(arcs[..., 1:].transpose(1, 2), arcs[..., 0], dim1=1, dim2=2)


def torch_struct_non_projective_log_partition(arcs: Tensor) -> Tensor:
    from torch_struct import NonProjectiveDependencyCRF

    return NonProjectiveDependencyCRF(_head_child(arcs), multiroot=False).partition


def _torch_struct_projective(arcs: Tensor) -> Any:
    """Return torch-struct's distribution; it writes into its scores, which must not be leaves of autograd."""
    from torch_struct import DependencyCRF

    return DependencyCRF(_head_child(arcs.requires_grad_()), multiroot=False)


def torch_struct_projective_log_partition(arcs: Tensor) -> Tensor:
    with torch.enable_grad():
        log_partition: Tensor = _torch_struct_projective(arcs).partition
    return log_partition


def torch_struct_projective_mode(arcs: Tensor) -> Tensor:
    with torch.enable_grad():
        head = _torch_struct_projective(arcs).argmax.argmax(1)
    child = torch.arange(head.shape[-1], device=head.device)
    return torch.where(head == child, 0, head + 1)


def torch_struct_non_projective_loss(heads: Tensor, *_: Tensor) -> Loss:
    """Return the loss of torch-struct; arcs are summed here, as `log_prob` of this class raises AttributeError."""
    from torch_struct import DepTree, NonProjectiveDependencyCRF

    parts = DepTree.to_parts(heads).float()

    def loss(arcs: Tensor) -> Tensor:
        scores = _head_child(arcs)
        trees = NonProjectiveDependencyCRF(scores, multiroot=False)
        found: Tensor = (trees.partition - (scores * parts).sum((1, 2))).mean()
        return found

    return loss


def torch_struct_projective_loss(heads: Tensor, *_: Tensor) -> Loss:
    """Return the loss of torch-struct, whose `log_prob` needs contiguous scores."""
    from torch_struct import DependencyCRF, DepTree

    parts = DepTree.to_parts(heads).float()
    return lambda arcs: -DependencyCRF(_head_child(arcs).contiguous(), multiroot=False).log_prob(parts).mean()


def _with_root_row(arcs: Tensor) -> Tensor:
    """Return scores in supar's layout `(batch, n + 1, n + 1)`: `[child, head]`, with a row for the root."""
    return pad(arcs, (0, 0, 1, 0))


def supar_non_projective_log_partition(arcs: Tensor) -> Tensor:
    return supar_structs().MatrixTree(_with_root_row(arcs)).log_partition


def supar_non_projective_mode(arcs: Tensor) -> Tensor:
    return supar_structs().MatrixTree(_with_root_row(arcs)).argmax[:, 1:]


def supar_projective_log_partition(arcs: Tensor) -> Tensor:
    return supar_structs().DependencyCRF(_with_root_row(arcs)).log_partition


def supar_projective_mode(arcs: Tensor) -> Tensor:
    return supar_structs().DependencyCRF(_with_root_row(arcs)).argmax[:, 1:]


def supar_non_projective_loss(heads: Tensor, *_: Tensor) -> Loss:
    target = pad(heads, (1, 0))
    return lambda arcs: -supar_structs().MatrixTree(_with_root_row(arcs)).log_prob(target).mean()


def supar_projective_loss(heads: Tensor, *_: Tensor) -> Loss:
    target = pad(heads, (1, 0))
    return lambda arcs: -supar_structs().DependencyCRF(_with_root_row(arcs)).log_prob(target).mean()


def gold_heads(arcs: Tensor) -> Tensor:
    return gold.heads(*arcs.shape[:2])


def score(arcs: Tensor, heads: Tensor) -> Tensor:
    """Return the scores `(batch,)` of trees `(batch, n)`, the head of each word, in float64."""
    return arcs.double().gather(-1, heads[..., None]).squeeze(-1).sum(-1)


def case(batch: int, words: int, scale: float = 1.0) -> Case:
    name = f"{batch}x{words}" if scale == 1 else f"{batch}x{words}, scores of standard deviation {scale:g}"
    return Case(name, ((batch, words, words + 1),), (scale,))


NON_PROJECTIVE = Family(
    name="matrix-tree",
    title="Non-projective tree, single root (batch x words)",
    cases=(case(32, 40), case(1, 40), case(1, 20)),
    warm_up=case(2, 4),
    contestants=(
        Contestant(
            "strukt",
            strukt_non_projective_log_partition,
            strukt_non_projective_mode,
            learn=strukt_non_projective_loss,
        ),
        Contestant(
            "torch-struct",
            torch_struct_non_projective_log_partition,
            learn=torch_struct_non_projective_loss,
        ),
        Contestant(
            "supar",
            supar_non_projective_log_partition,
            supar_non_projective_mode,
            learn=supar_non_projective_loss,
        ),
    ),
    score=score,
    operations=TRAINING,
    gold=gold_heads,
    accuracy=tuple(case(4, 40, scale=scale) for scale in (1, 50, 200)),
    exact=matrix_tree,
)

# Complete and incomplete spans to the left and to the right: four triangles, the size of two squares.
PROJECTIVE = Family(
    name="projective-tree",
    title="Projective tree, single root (batch x words)",
    cases=(case(16, 40), case(1, 40), case(1, 20)),
    warm_up=case(2, 4),
    contestants=(
        Contestant(
            "strukt",
            strukt_projective_log_partition,
            strukt_projective_mode,
            learn=strukt_projective_loss,
        ),
        Contestant(
            "torch-struct",
            torch_struct_projective_log_partition,
            torch_struct_projective_mode,
            learn=torch_struct_projective_loss,
        ),
        Contestant(
            "supar",
            supar_projective_log_partition,
            supar_projective_mode,
            learn=supar_projective_loss,
        ),
    ),
    score=score,
    operations=TRAINING,
    gold=gold_heads,
)
