"""Automata as tables: construction by breadth-first search, and minimisation."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import NamedTuple, TypeVar

import numpy as np
import torch
from torch import Tensor

State = TypeVar("State", bound=Hashable)


class Table(NamedTuple):
    """A complete deterministic automaton with initial state 0.

    Attributes:
        transitions: ``(q, c)``, the next state for each state and class of tokens.
        accepting: ``(q,)``, Boolean.
        classes: ``(v,)``, the class of each token.
    """

    transitions: Tensor
    accepting: Tensor
    classes: Tensor


def explored(
    first: State, step: Callable[[State, int], State], accepts: Callable[[State], bool], classes: Tensor
) -> Table:
    """Return the automaton of all reachable states, numbered in the order of breadth-first search.

    Args:
        first: The initial state.
        step: A function that returns the next state, from a state and a class of tokens.
        accepts: A function that returns True for accepting states.
        classes: ``(v,)``, the class of each token.
    """
    numbers, queue, rows = {first: 0}, [first], []
    letters = range(int(classes.max()) + 1)
    for state in queue:  # the queue grows during the loop
        row = []
        for letter in letters:
            after = step(state, letter)
            if after not in numbers:
                numbers[after] = len(queue)
                queue.append(after)
            row.append(numbers[after])
        rows.append(row)
    return Table(torch.tensor(rows), torch.tensor([accepts(state) for state in queue]), classes)


def smallest(table: Table) -> Table:
    """Return the minimal automaton of a language, in canonical form: equal languages have equal tables.

    Equivalent states are merged (Moore 1956), in at most O(q) passes over the table, usually few.
    """
    table = _reachable(_with_distinct_columns(table))
    blocks, count = torch.unique(table.accepting, return_inverse=True)[1], 0
    while (result := int(blocks.max()) + 1) > count:
        count = result
        blocks = _equal_rows(torch.cat([blocks.unsqueeze(1), blocks[table.transitions]], 1))
    transitions = table.transitions.new_empty(count, table.transitions.shape[1])
    accepting = table.accepting.new_empty(count)
    transitions[blocks], accepting[blocks] = blocks[table.transitions], table.accepting
    merged = Table(transitions, accepting, table.classes)
    return _reachable(_with_distinct_columns(merged), int(blocks[0]))


def distinct(numbers: Tensor) -> tuple[Tensor, Tensor]:
    """Return the distinct numbers ``(u,)``, ascending, and the index ``(v,)`` of each number among them."""
    result, places = np.unique(numbers.numpy(), return_inverse=True)  # torch.unique takes 20 times as long
    return torch.from_numpy(result), torch.from_numpy(places)


def _equal_rows(rows: Tensor) -> Tensor:
    """Number the distinct rows of ``(q, c)``, in any order, and return the number ``(q,)`` of each row."""
    whole = np.ascontiguousarray(rows.numpy())
    as_bytes = whole.view(np.dtype((np.void, whole.itemsize * whole.shape[1]))).ravel()
    # Rows as bytes are sorted 10 times as fast as by torch.unique(dim=0).
    return torch.from_numpy(np.unique(as_bytes, return_inverse=True)[1])


def _reachable(table: Table, first: int = 0) -> Table:
    """Return the states that can be reached from ``first``, numbered in the order of breadth-first search."""
    rows, accepting = table.transitions.tolist(), table.accepting.tolist()
    return explored(first, lambda state, letter: rows[state][letter], accepting.__getitem__, table.classes)


def _with_distinct_columns(table: Table) -> Table:
    """Merge classes of tokens that lead to equal states, and number them in the order of their first tokens."""
    used, classes = distinct(table.classes)
    columns, merged = torch.unique(table.transitions[:, used], dim=1, return_inverse=True)
    classes = merged[classes]
    firsts = torch.full((columns.shape[1],), len(classes))
    firsts = firsts.scatter_reduce(0, classes, torch.arange(len(classes)), "amin")
    order = firsts.argsort()
    return Table(columns[:, order], table.accepting, order.argsort()[classes])
