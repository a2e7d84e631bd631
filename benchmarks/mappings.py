"""Mappings of rows of scores `(rows, d)`, with softmax beside them for scale."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from benchmarks.contest import MAPPINGS, Case, Contestant, Family


def softmax(scores: Tensor) -> Tensor:
    return scores.softmax(-1)


def strukt_sparsemax(scores: Tensor) -> Tensor:
    from strukt.mappings import sparsemax

    return sparsemax(scores)


def strukt_entmax15(scores: Tensor) -> Tensor:
    from strukt.mappings import entmax15

    return entmax15(scores)


def strukt_entmax(scores: Tensor) -> Tensor:
    from strukt.mappings import entmax

    return entmax(scores, 4 / 3)


def entmax_sparsemax(scores: Tensor) -> Tensor:
    from entmax import sparsemax

    return sparsemax(scores, dim=-1)  # type: ignore[no-any-return]


def entmax_entmax15(scores: Tensor) -> Tensor:
    from entmax import entmax15

    return entmax15(scores, dim=-1)  # type: ignore[no-any-return]


def entmax_bisect(scores: Tensor) -> Tensor:
    from entmax import entmax_bisect

    return entmax_bisect(scores, 4 / 3, dim=-1)  # type: ignore[no-any-return]


def strukt_fusedmax(scores: Tensor) -> Tensor:
    from strukt.mappings import fusedmax

    return fusedmax(scores, 0.1)


class RowByRow(torch.autograd.Function):
    """Fusedmax by torchsparseattn's functions for one row; its own autograd function no longer runs in PyTorch."""

    @staticmethod
    def forward(ctx: Any, scores: Tensor) -> Tensor:
        from torchsparseattn.fused import prox_tv1d
        from torchsparseattn.sparsemax import project_simplex

        fused, found = scores.clone(), torch.zeros_like(scores)
        for i, row in enumerate(fused):
            prox_tv1d(row.numpy(), 0.1)
            found[i] = project_simplex(row)
        ctx.save_for_backward(fused, found)
        return found

    @staticmethod
    def backward(ctx: Any, direction: Tensor) -> Tensor:
        from torchsparseattn.fused import _inplace_fused_prox_jv
        from torchsparseattn.sparsemax import sparsemax_grad

        fused, found = ctx.saved_tensors
        grad = torch.zeros_like(direction)
        for i, row in enumerate(direction):
            grad[i] = sparsemax_grad(row, found[i])
            _inplace_fused_prox_jv(fused[i].numpy(), grad[i].numpy())
        return grad


def torchsparseattn_fusedmax(scores: Tensor) -> Tensor:
    return RowByRow.apply(scores)  # type: ignore[no-any-return]


def case(rows: int, d: int) -> Case:
    return Case(f"{rows}x{d}", ((rows, d),))


YARDSTICK = Contestant("torch", softmax, yardstick=f"softmax, torch {torch.__version__}")


def family(name: str, title: str, ours: Contestant, theirs: Contestant, *cases: Case) -> Family:
    """Return a family of two libraries and softmax, with some cases."""
    return Family(
        name=name,
        title=f"{title} (rows x scores)",
        cases=cases,
        warm_up=case(4, 9),
        contestants=(ours, theirs, YARDSTICK),
        operations=MAPPINGS,
    )


SIZES = (case(4096, 128), case(512, 32000), case(65536, 1024))
FAMILIES = (
    family(
        "sparsemax",
        "Sparsemax",
        Contestant("strukt", strukt_sparsemax),
        Contestant("entmax", entmax_sparsemax),
        *SIZES,
    ),
    family(
        "entmax15",
        "Entmax with alpha 1.5",
        Contestant("strukt", strukt_entmax15),
        Contestant("entmax", entmax_entmax15),
        *SIZES,
    ),
    family(
        "entmax",
        "Entmax with any alpha, here 4/3",
        Contestant("strukt", strukt_entmax),
        Contestant("entmax", entmax_bisect),
        *SIZES[:2],
    ),
    family(
        "fusedmax",
        "Fusedmax with weight 0.1",
        Contestant("strukt", strukt_fusedmax),
        Contestant("torchsparseattn", torchsparseattn_fusedmax),
        case(512, 128),
        case(512, 1024),
    ),
)
