"""Numbers of a grammar's recursion on GPUs with derivatives along a direction of the scores (dual numbers).

Each number is four tensors: its mantissa and exponent, and the mantissa and exponent of its derivative, its
*move*. With such numbers, the passes of `gpu_charts` and `gpu_gradients` run in forward mode: the moves of a
gradient are the Hessian times the direction. The move of a product, (a b)' = a' b + a b', is a sum of two
products, so that each product takes three launches of the kernel in `gpu_products`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from strukt.kernels.autograd import Scores
from strukt.kernels.engine.gpu.launching import device_of, launcher
from strukt.kernels.semiring import NEG_INF
from strukt.structures.pcfg.gpu_charts import Chart, open_chart, tables_of
from strukt.structures.pcfg.gpu_layout import Matrices, Numbers, Product, Sides, sizes_of
from strukt.structures.pcfg.gpu_rings import BLOCK, Sums, blocks, close_spans


@dataclass(frozen=True)
class Duals:
    """The ring of dual numbers: mantissas and exponents of numbers and of their moves.

    Attributes:
        like: A tensor of the type to compute in, on the device to compute on.
    """

    like: Tensor

    def nothing(self, *shape: int) -> Numbers:
        numbers = Sums(self.like)
        return *numbers.nothing(*shape), *numbers.nothing(*shape)

    def of(self, scores: Tensor, directions: Tensor) -> Numbers:
        """Return the exponentials of scores that move along directions; 0 does not move."""
        from strukt.structures.pcfg import gpu_moves  # needs Triton

        numbers = Sums(self.like).of(scores)
        moves = tuple(map(torch.empty_like, numbers))
        with device_of(self.like):
            launcher(gpu_moves.move, (blocks(scores.numel(), BLOCK),))(
                *numbers, directions.contiguous(), *moves, scores.numel(), B=BLOCK
            )
        return *numbers, *moves

    def multiply(self, product: Product, add: bool = False) -> None:
        *matrices, places, shape = product
        (a, a_moves), (b, b_moves), (c, c_moves) = map(_halves, matrices)
        numbers = Sums(self.like)
        numbers.multiply(Product(a, b, c, places, shape), add)
        numbers.multiply(Product(a_moves, b, c_moves, places, shape), add)
        numbers.multiply(Product(a, b_moves, c_moves, places, shape), add=True)

    def plain_product(self, left: Numbers, right: Numbers) -> Tensor:
        from strukt.structures.pcfg import gpu_moves  # needs Triton

        result = self.like.new_empty(left[0].shape)
        with device_of(self.like):
            launcher(gpu_moves.plain_moves, (blocks(result.numel(), BLOCK),))(
                *left, *right, result, result.numel(), B=BLOCK
            )
        return result

    def close(self, chart: Chart, sides: Sides, width: int, *others: Any) -> None:
        from strukt.structures.pcfg import gpu_dual_inside  # needs Triton

        close_spans(gpu_dual_inside.close, chart, sides, width, *others)

    def slopes(self, chart: Chart, parents: Sides, width: int, *others: Any) -> None:
        from strukt.structures.pcfg import gpu_dual_outside  # needs Triton

        close_spans(gpu_dual_outside.slopes, chart, parents, width, *others)


def _halves(matrices: Matrices) -> tuple[Matrices, Matrices]:
    """Split matrices of dual numbers into those of numbers and those of their moves."""
    return matrices._replace(numbers=matrices.numbers[:2]), matrices._replace(numbers=matrices.numbers[2:])


def opened(ring: Duals, scores: Scores, directions: Scores, lengths: Tensor) -> Chart:
    """Return a chart of scores that move along directions; it holds the words but no spans yet."""
    tables = tables_of(scores, lengths, NEG_INF), tables_of(directions, lengths, 0.0)
    numbers = [ring.of(*both) for both in zip(*tables, strict=True)]
    return open_chart(ring, sizes_of(scores, lengths), (scores[0], directions[0]), lengths, numbers)
