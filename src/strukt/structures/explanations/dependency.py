"""Explanations of heads that are not a dependency tree."""

from __future__ import annotations

from collections.abc import Sequence

from strukt.structures.explanations.wording import listed, unknown


def tree(event: Sequence[int], length: int, single_root: bool, projective: bool) -> str | None:
    """Return a clause about the first fault of heads; None if they are a tree.

    ``event (n,)`` holds the head of each word, 0 for the root; words count from 1. ``length`` is the number of
    words.

    Examples:
        >>> tree([0, 5, 1, 1, 2], 5, single_root=True, projective=False)
        'words 2 and 5 form a cycle'
        >>> tree([0, 4, 1, 1], 4, single_root=True, projective=True)
        'the arcs between 1 and 3 and between 2 and 4 cross; NonProjectiveTree allows it'
    """
    heads = list(event[:length])
    if not heads:
        return None
    for word, head in enumerate(heads, 1):
        if head < 0:
            return unknown(f"word {word}", head, length, f"a head from 0, the root, to {length}")
        if head > length:
            return f"head {head} of word {word} is out of range; expected 0 for the root, or a word up to {length}"
        if head == word:
            return f"word {word} is its own head; expected another word, or 0 for the root"
    roots = [word for word, head in enumerate(heads, 1) if head == 0]
    if not roots:
        return "no word is the root; expected one with head 0"
    if single_root and len(roots) > 1:
        return f"words {listed(roots)} are roots, with head 0; expected one; single_root=False allows several"
    cycle = _cycle(heads)
    if cycle:
        return f"words {listed(cycle)} form a cycle"
    return _crossing(heads) if projective else None


def _cycle(heads: Sequence[int]) -> list[int]:
    """Return the words of a cycle in ascending order; an empty list if every word reaches the root."""
    safe = {0}
    for start in range(1, len(heads) + 1):
        path, word = [], start
        while word not in safe and word not in path:
            path.append(word)
            word = heads[word - 1]
        if word not in safe:
            return sorted(path[path.index(word) :])
        safe.update(path)
    return []


def _crossing(heads: Sequence[int]) -> str | None:
    """Return a clause about the first two arcs that cross; None if none do."""
    arcs = sorted((min(word, head), max(word, head)) for word, head in enumerate(heads, 1))
    for place, (low, high) in enumerate(arcs):
        for start, end in arcs[place + 1 :]:
            if low < start < high < end:
                return (
                    f"the arcs between {_named(low)} and {high} and between {start} and {end} cross; "
                    "NonProjectiveTree allows it"
                )
    return None


def _named(word: int) -> str:
    return str(word) if word else "the root"
