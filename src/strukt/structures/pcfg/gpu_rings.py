"""The numbers of a grammar's recursion on GPUs: extended numbers that are added, or scores and their maxima."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from strukt.kernels.autograd import Scores
from strukt.kernels.engine.gpu.launching import device_of, launcher
from strukt.kernels.engine.gpu.precision import input_precision
from strukt.kernels.semiring import NEG_INF
from strukt.structures.pcfg.gpu_charts import Chart, open_chart, tables_of
from strukt.structures.pcfg.gpu_layout import Numbers, Product, Sides, sizes_of

TILE = 32
"""The numbers of rows, columns and terms in a tile of a product; tiles have half as many rows if that suffices."""

SPANS, TERMS = 4, 16
"""The numbers of spans of one width in a tile, each of which has its own matrix, and of terms at a time."""

BLOCK = 1024
"""The number of elements that a program converts."""


@dataclass(frozen=True)
class Sums:
    """The ring of sums: extended numbers (mantissas and exponents) that are added and multiplied.

    Attributes:
        like: A tensor of the type to compute in, on the device to compute on.
    """

    like: Tensor

    def nothing(self, *shape: int) -> Numbers:
        return self.like.new_zeros(shape), self.like.new_zeros(shape, dtype=torch.int32)

    def of(self, scores: Tensor) -> Numbers:
        """Return the exponentials of scores as extended numbers."""
        from strukt.structures.pcfg import gpu_products  # needs Triton

        mantissas = self.like.new_empty(scores.shape)
        exponents = self.like.new_empty(scores.shape, dtype=torch.int32)
        with device_of(self.like):
            launcher(gpu_products.split, (blocks(scores.numel(), BLOCK),))(
                scores.contiguous(), mantissas, exponents, scores.numel(), B=BLOCK
            )
        return mantissas, exponents

    def multiply(self, product: Product, add: bool = False) -> None:
        from strukt.structures.pcfg import gpu_products  # needs Triton

        _multiply(gpu_products.multiply, product, ADD=add, PRECISION=input_precision(), num_stages=3)

    def plain_product(self, left: Numbers, right: Numbers) -> Tensor:
        from strukt.structures.pcfg import gpu_products  # needs Triton

        result = self.like.new_empty(left[0].shape)
        with device_of(self.like):
            launcher(gpu_products.plain_products, (blocks(result.numel(), BLOCK),))(
                *left, *right, result, result.numel(), B=BLOCK
            )
        return result

    def close(self, chart: Chart, sides: Sides, width: int, *others: Any) -> None:
        from strukt.structures.pcfg import gpu_inside  # needs Triton

        close_spans(gpu_inside.close, chart, sides, width, *others)

    def slopes(self, chart: Chart, parents: Sides, width: int, *others: Any) -> None:
        from strukt.structures.pcfg import gpu_outside  # needs Triton

        close_spans(gpu_outside.slopes, chart, parents, width, *others)


@dataclass(frozen=True)
class Maxima:
    """The ring of maxima: scores in float64; a product is a sum of scores, and a sum is a maximum.

    Attributes:
        like: A tensor on the device to compute on.
    """

    like: Tensor

    def nothing(self, *shape: int) -> Numbers:
        return (self.like.new_full(shape, NEG_INF, dtype=torch.float64),)

    def of(self, scores: Tensor) -> Numbers:
        """Return scores as numbers of the ring, in float64."""
        return (scores.double().contiguous(),)

    def multiply(self, product: Product, add: bool = False) -> None:
        from strukt.structures.pcfg import gpu_cky  # needs Triton

        _multiply(gpu_cky.multiply, product, ADD=add)

    def plain_product(self, left: Numbers, right: Numbers) -> Tensor:
        """Return elementwise sums of scores."""
        return left[0] + right[0]

    def close(self, chart: Chart, sides: Sides, width: int, *others: Any) -> None:
        from strukt.structures.pcfg import gpu_cky  # needs Triton

        close_spans(gpu_cky.close, chart, sides, width, *others)

    def slopes(self, chart: Chart, parents: Sides, width: int, *others: Any) -> None:
        """Write the best outside scores of the spans of a width; see `gpu_cky_outside.slopes`."""
        from strukt.structures.pcfg import gpu_cky_outside  # needs Triton

        close_spans(gpu_cky_outside.slopes, chart, parents, width, *others)


def opened(ring: Sums | Maxima, scores: Scores, lengths: Tensor) -> Chart:
    """Return a chart of these scores that holds the words but no spans yet."""
    tables = [ring.of(table) for table in tables_of(scores, lengths, NEG_INF)]
    return open_chart(ring, sizes_of(scores, lengths), scores[:1], lengths, tables)


def close_spans(kernel: Any, chart: Chart, sides: Sides, width: int, *others: Any) -> None:
    """Launch a kernel with the arguments of `gpu_inside.close` for all spans of a width; ``others`` come last."""
    sizes = chart.sizes
    starts = sizes.n + 1 - width
    spans = (argument for scores in chart.spans for argument in (scores, *scores.stride()))
    with device_of(chart.spans[0]):
        launcher(kernel, (blocks(sizes.batch * starts, SPANS), blocks(sizes.s, TILE)))(
            *sides.arguments(), *spans, chart.lengths, sizes.batch, sizes.n + 1, sizes.s, width, starts,
            *chart.inside, *others, R=SPANS, C=TILE, K=TERMS,
        )  # fmt: skip


def _multiply(kernel: Any, product: Product, **options: Any) -> None:
    """Launch the kernel of a product."""
    left, right, out, (items, starts), shape = product
    rows, columns, _ = shape
    high = TILE if rows > TILE // 2 else TILE // 2
    grid = items * starts, blocks(rows, high), blocks(columns, TILE)
    if min(grid) > 0:
        with device_of(out.numbers[0]):
            launcher(kernel, grid)(
                *left.arguments(), *right.arguments(), *out.arguments(), starts, *shape, R=high, C=TILE, K=TILE,
                **options,
            )  # fmt: skip


def blocks(count: int, size: int) -> int:
    """Return the number of blocks of ``size`` that hold ``count`` elements."""
    return -(-count // size)
