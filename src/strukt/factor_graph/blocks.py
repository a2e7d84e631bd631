"""Blocks of variables that mean field updates at once: single variables, and groups of which exactly one is 1."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from strukt.factor_graph.factor import AnyFactor
from strukt.factor_graph.soft import Places, Soft
from strukt.factor_graph.variables import VariablesLike, collect

Block = tuple[Places, bool]
"""The indices of a block's variables in the graph, and True if they form a group, of which exactly one is 1.

The indices are ``(size,)``, or ``(blocks, size)`` for several blocks that are updated at once.
"""


def blocks_of(variables: int, factors: Sequence[AnyFactor]) -> list[Block]:
    """Return one block for each group of a factor, and one for each variable outside all groups.

    Raises:
        ValueError: If two groups overlap without being equal, a group has a negated variable, or a term of a
            factor has several variables of one group, which are not independent.
    """
    owner = np.full(variables, -1)
    blocks: list[Block] = []
    for factor in factors:
        assert isinstance(factor, Soft)
        for places in factor.groups():
            if factor.variables.negated[places].any():
                raise ValueError(
                    f"{factor} has a group with negated variables, which mean_field does not support; use "
                    "belief_propagation or lp_sparsemap"
                )
            group = np.sort(factor.variables.index[places])
            known = owner[group[0]]
            if known >= 0 and np.array_equal(blocks[known][0], group):
                continue
            if (owner[group] >= 0).any():
                raise ValueError(
                    f"{factor} has a group that shares some, but not all, of its variables with another one; use "
                    "belief_propagation or lp_sparsemap"
                )
            owner[group] = len(blocks)
            blocks.append((group, True))
    for factor in factors:
        _require_independent_terms(factor, owner)
    return blocks + [(np.array([variable]), False) for variable in np.flatnonzero(owner < 0)]


def _require_independent_terms(factor: AnyFactor, owner: Places) -> None:
    """Raise ValueError if a term of a factor has several variables of one group that is not a group of the factor.

    Args:
        factor: The factor.
        owner: The number of the group of each variable of the graph; -1 for those outside all groups.
    """
    assert isinstance(factor, Soft)
    member = np.full(factor.variables.size, -1)
    for number, places in enumerate(factor.groups()):
        member[places] = number
    for places in factor.cliques():
        rest = owner[factor.variables.index[places[member[places] < 0]]]
        grouped = rest[rest >= 0]
        if len(np.unique(grouped)) < len(grouped):
            raise ValueError(
                f"{factor} has a term with two variables of one group, of which exactly one is 1; mean_field does "
                "not support this; leave out the term, or use belief_propagation or lp_sparsemap"
            )


def colours(blocks: Sequence[Block], factors: Sequence[AnyFactor]) -> list[list[Block]]:
    """Return the steps of a sweep, by greedy colouring: blocks of one step share no term of a factor.

    The blocks of a step are stacked by size, as by `stacked`.
    """
    variables = sum(len(variables) for variables, _ in blocks)
    owner = np.empty(variables, dtype=np.int64)
    for number, (members, _) in enumerate(blocks):
        owner[members] = number
    neighbours: list[set[int]] = [set() for _ in blocks]
    for factor in factors:
        assert isinstance(factor, Soft)
        for places in factor.cliques():
            together = set(owner[factor.variables.index[places]].tolist())
            for number in together:
                neighbours[number] |= together - {number}
    colour = np.full(len(blocks), -1)
    for number in range(len(blocks)):
        taken = {int(colour[other]) for other in neighbours[number]}
        colour[number] = min(c for c in range(len(blocks)) if c not in taken)
    numbers = range(int(colour.max()) + 1)
    return [stacked([blocks[number] for number in np.flatnonzero(colour == c).tolist()]) for c in numbers]


def groupwise(blocks: Sequence[Block], groups: Sequence[VariablesLike]) -> list[list[Block]]:
    """Return a step for each entry of a user's schedule, which updates all blocks of its variables at once.

    Args:
        blocks: All blocks of the graph.
        groups: The schedule: arrays of variables, which together hold each variable of the graph once.

    Raises:
        ValueError: If a variable is in no entry or in two, or the variables of a block are in different entries.
    """
    owner = np.full(sum(len(members) for members, _ in blocks), -1)
    for number, group in enumerate(groups):
        index = collect(group, "schedule").index.reshape(-1)
        if (owner[index] >= 0).any():
            raise ValueError("schedule has a variable in two groups; expected each in one")
        owner[index] = number
    if (owner < 0).any():
        raise ValueError(
            f"schedule leaves out {int((owner < 0).sum())} variables; expected each in one group"
        )
    steps: list[list[Block]] = [[] for _ in groups]
    for members, grouped in blocks:
        if len(set(owner[members].tolist())) > 1:
            raise ValueError(
                "schedule splits variables of which exactly one is 1; expected all of them in one group"
            )
        steps[int(owner[members[0]])].append((members, grouped))
    return [stacked(step) for step in steps]


def stacked(blocks: Sequence[Block]) -> list[Block]:
    """Stack blocks of equal size and kind as the rows of one array."""
    stacks: dict[tuple[int, bool], list[Places]] = {}
    for members, grouped in blocks:
        stacks.setdefault((len(members), grouped), []).append(members)
    return [(np.stack(stack), grouped) for (_, grouped), stack in stacks.items()]
