"""Table programs: a recursion as a table of sums of products over cells and weights, and its builder."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field, fields
from importlib import import_module
from typing import Any
from weakref import WeakValueDictionary

import numpy as np

from strukt.kernels.arrays import Array
from strukt.shown import DRAWER, Shown

OUT, MIRROR, LEFT, RIGHT, COUNT, WEIGHT, EACH = range(7)
"""The columns of `Program.rows`."""


ALIVE: WeakValueDictionary[int, Program] = WeakValueDictionary()
"""All programs in use, by `Program.number`; an entry vanishes with its program."""


@dataclass(frozen=True, eq=False)
class Program(Shown):
    """A recursion as a table of sums over the cells of a chart, which `ProgramBuilder` writes.

    A row is one sum; its columns are out, mirror, left, right, count, w and each. It means the following, where a
    factor is 1 if its column is negative, and mirror is a second cell with the same value, or out itself::

        value[out] = value[mirror] = weight[w] * sum over k < count of
                                     value[left + k] * value[right + k] * weight[each + k]

    Attributes:
        rows: ``(rows, 7)``, in an order in which every cell is computed before it is used.
        leaves: The cells that are 1 and not computed by rows; other cells that no row computes are 0.
        maker: ``(cells,)``, the row that computes each cell; -1 if none does.
        groups: ``(groups + 1,)``; group g has the weights ``groups[g]`` to ``groups[g + 1] - 1``.
        times: ``(groups,)``, the number of weights of each group that every structure uses; 0 if structures
            differ.
        degrees: ``(weights,)``, the progress that each weight makes, such as the length of a segment; all
            structures have the same sum of these.
        places: ``(weights, axes)``, the place of each weight's score in the main scores of an item.
        top: The cell of the total.
        stages: The stage of each row except the one that `ProgramBuilder.build` may add. Rows of one stage do not
            use each other's cells.
        ends: ``(sizes, 3)``, the total for items of each size up to that of the program, as ``(left, right,
            count)``: the sum over k < count of the products of cells left + k and right + k. If right is -1, the
            total is the cell left.
        number: A number that is unique in this process, by which operators refer to the program.
    """

    rows: Array
    leaves: Array
    maker: Array
    groups: Array
    times: Array
    degrees: Array
    places: Array
    top: int
    stages: Array
    ends: Array
    number: int = field(default_factory=itertools.count().__next__, init=False)

    def __post_init__(self) -> None:
        ALIVE[self.number] = self

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle without the number, which is unique only within a process."""
        return Program, tuple(getattr(self, each.name) for each in fields(self) if each.init)

    def __copy__(self) -> Program:
        return self

    def __deepcopy__(self, memo: Any) -> Program:
        return self

    def __repr__(self) -> str:
        return f"Program({len(self.rows)} sums, {len(self.maker)} cells, {len(self.places)} weights)"

    def svg(self) -> str:
        """Draw the cells from left to right in the order of computation, as a standalone SVG document.

        Raises:
            ValueError: If the total needs more than 150 cells. Cells that it does not need are not drawn.
        """
        drawer = import_module(DRAWER)
        drawn: str = drawer.svg.document(*drawer.pictures(self))
        return drawn


class ProgramBuilder:
    """Write a recursion as a `Program` for `TableStructure`: sums over cells and weights, given by their indices.

    Weights are the exponentials of scores; a cell holds the total of a subproblem, such as that of a span.

    Each structure must have exactly one derivation, that is, one choice of a term in each sum from the total down
    to the leaves, and use a weight at most once. `TableStructure` checks that, not the builder.

    Examples:
        All ways to choose one of two numbers three times:

        >>> import numpy as np
        >>> p = ProgramBuilder()
        >>> weight = p.weights(np.ones((3, 2), bool))
        >>> total, ones = p.cells(3), p.cells(2)
        >>> p.leaf(ones)
        >>> p.sum(total[0], ones[0], count=2, each=weight[0, 0], stage=0)
        >>> choice = p.cells(3)
        >>> p.sum(choice[1:], ones[0], count=2, each=weight[1:, 0], stage=0)
        >>> p.sum(total[1:], total[:-1], choice[1:], stage=[1, 2])
        >>> p.build(total[2])
        Program(5 sums, 8 cells, 6 weights)
    """

    def __init__(self) -> None:
        self._cells = 0
        self._leaves: list[Array] = []
        self._rows: list[Array] = []
        self._stages: list[Array] = []
        self._groups = np.zeros(1, np.int32)
        self._times = np.zeros(0, np.int32)
        self._degrees = np.zeros(0, np.int32)
        self._places = np.zeros((0, 0), np.int32)

    def weights(self, allowed: Array, times: int | None = None) -> Array:
        """Declare all weights in one call. Every structure uses one weight of each row, or ``times`` in total.

        Args:
            allowed: ``(rows, ...)``, a Boolean array, True for the main scores of an item that have a weight.
            times: The number of weights that every structure uses; None for one of each row.

        Returns:
            The indices of the weights, in the shape of ``allowed``; -1 where there is no weight.

        Raises:
            ValueError: If weights were declared before, ``allowed`` is not Boolean or has no axis, or ``times`` is
                not positive.
        """
        allowed = np.asarray(allowed)
        if allowed.dtype != bool or not allowed.ndim:
            raise ValueError(
                f"allowed is of type {allowed.dtype} and shape {allowed.shape}; expected Booleans (rows, ...)"
            )
        if len(self._times):
            raise ValueError("weights are declared already; declare all in one call, or all by scattered")
        if times is not None and times < 1:
            raise ValueError(
                f"times is {times}; expected 1 or more, or None for one weight of each row; scattered declares "
                "weights of which structures use different numbers"
            )
        numbers = np.full(allowed.shape, -1)
        numbers[allowed] = np.arange(np.count_nonzero(allowed))
        sizes = [row.sum() for row in allowed] if times is None else [allowed.sum()]
        self._groups = np.cumsum([0, *sizes], dtype=np.int32)
        self._times = np.full(len(sizes), times or 1, np.int32)
        self._degrees = np.full(np.count_nonzero(allowed), int((times or 1) > 1), np.int32)
        self._places = np.argwhere(allowed).astype(np.int32)
        return numbers

    def scattered(self, places: Array, times: int = 0, degrees: Any = 0) -> Array:
        """Declare a group of weights by the places of their scores; repeat for more groups.

        Args:
            places: The place of each weight's score in the flat row of scores of an item, in any order and
                possibly repeated; -1 where there is no weight. `TableStructure` ignores places: its scores are in
                the order of the weights.
            times: The number of weights of this group that every structure uses; 0 if structures differ.
            degrees: If structures differ, the progress that each weight makes, such as the length of a segment;
                all structures must have the same sum of degrees. 0 for weights without progress.

        Returns:
            The indices of the weights, consecutive along the array; -1 where there is no weight.

        Raises:
            ValueError: If weights were declared by `weights` with a mask of several axes, or ``times`` is
                negative.
        """
        if self._places.shape[1] > 1:
            raise ValueError("weights are declared already, with several axes of places; declare all by scattered")
        if times < 0:
            raise ValueError(f"times is {times}; expected 1 or more, or 0 if structures differ")
        places = np.asarray(places)
        there = places >= 0
        first, count = int(self._groups[-1]), np.count_nonzero(there)
        numbers = np.full(places.shape, -1)
        numbers[there] = np.arange(first, first + count)
        self._groups = np.append(self._groups, np.int32(first + count))
        self._times = np.append(self._times, np.int32(times))
        degree = np.broadcast_to(int(times > 1) if times else degrees, places.shape)[there]
        self._degrees = np.append(self._degrees, degree.astype(np.int32))
        self._places = np.concatenate([self._places.reshape(-1, 1), places[there][:, None].astype(np.int32)])
        return numbers

    def cells(self, *shape: int) -> Array:
        """Create cells and return their consecutive indices, in the given shape; one cell without a shape."""
        first = self._cells
        self._cells += int(np.prod(shape, dtype=np.int64))
        return np.arange(first, self._cells).reshape(shape)

    def leaf(self, *cells: Array) -> None:
        """Set cells to 1."""
        self._leaves += [np.ravel(each) for each in cells]

    def sum(
        self, out: Any, left: Any, right: Any = -1, *, count: Any = 1, weight: Any = -1, each: Any = -1,
        mirror: Any = None, stage: Any,
    ) -> None:  # fmt: skip
        """Set ``out`` to ``weight`` times a sum over k < ``count`` of products, as in a row of `Program`.

        The factors of product k are the cells ``left + k`` and ``right + k``, and the weight ``each + k``.

        Args:
            out: Cells. All arguments are broadcast against each other: one sum for each element.
            left: The first of a run of cells, one for each term.
            right: The first of a second run; -1 for none.
            count: The number of terms.
            weight: A weight of the whole sum; -1 for none, which is the factor 1. Where `weights` or `scattered`
                returned -1, there is no weight: leave that sum out.
            each: The first of a run of weights, one for each term; -1 for none.
            mirror: Further cells that get the same total, so that later sums find their cells in one run; None for
                none.
            stage: The stage of the sum; it may use the cells of smaller stages only.
        """
        columns = np.broadcast_arrays(
            out, out if mirror is None else mirror, left, right, count, weight, each, stage
        )
        *row, stages = (column.ravel() for column in columns)
        self._rows.append(np.stack(row, 1).astype(np.int32))
        self._stages.append(stages)

    def build(self, left: Any, right: Any = -1, *, count: Any = 1) -> Program:
        """Return the program whose total is a sum of products of two runs of cells, or one cell.

        The arguments are broadcast against each other: one total for each size of items, the largest last. The
        totals of smaller sizes serve kernels that process all items of a batch by one table.

        Args:
            left: The first of a run of cells, one for each term.
            right: The first of a second run, whose cells are multiplied with those of the first; -1 for none.
            count: The number of terms.
        """
        ends = np.stack([column.ravel() for column in np.broadcast_arrays(left, right, count)], 1)
        self._pair_with_ones(ends, 1, 2)
        stages = np.sort(np.concatenate([np.zeros(0, np.int64), *self._stages]))
        top, right, count = ends[-1].tolist()
        if count != 1 or right >= 0:
            top = self.cells()
            self.sum(top, *ends[-1, :2], count=count, stage=stages.max(initial=0) + 1)
        order = np.argsort(np.concatenate([np.zeros(0, np.int64), *self._stages]), kind="stable")
        rows = np.concatenate([np.zeros((0, 7), np.int32), *self._rows])[order]
        alone = rows[:, EACH] < 0
        rows[alone] = self._pair_with_ones(rows[alone], RIGHT, COUNT)
        maker = np.full(self._cells, -1, np.int32)
        maker[rows[:, OUT]] = maker[rows[:, MIRROR]] = np.arange(len(rows))
        leaves = np.concatenate([np.zeros(0, np.int32), *self._leaves]).astype(np.int32)
        return Program(
            rows, leaves, maker, self._groups, self._times, self._degrees, self._places, int(top), stages,
            ends.astype(np.int32),
        )  # fmt: skip

    def _pair_with_ones(self, sums: Array, right: int, count: int) -> Array:
        """Multiply the terms of sums over a single run of cells by ones: kernels sum products of two factors only.

        ``right`` and ``count`` are the columns of ``sums`` with these entries. ``sums`` is changed and returned;
        sums of a single term are unchanged.
        """
        alone = (sums[:, count] > 1) & (sums[:, right] < 0)
        if alone.any():
            ones = self.cells(int(sums[alone, count].max()))
            self.leaf(ones)
            sums[alone, right] = ones[0]
        return sums
