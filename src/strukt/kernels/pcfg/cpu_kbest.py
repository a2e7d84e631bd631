"""The k best trees of a grammar: each but the best deviates from a better one at one place (Lawler 1972).

The places of a tree are the label of the whole sentence, and then its spans of more than one word, each before
those inside it. A choice there is a label, or the width of the left child with the labels of both.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from strukt.kernels.cpu_candidates import drop_first, offer
from strukt.kernels.jit import kernel
from strukt.kernels.pcfg.cpu_best import Room, Scores, best_children, fill, labels_of, make_room, values
from strukt.kernels.pcfg.cpu_products import Array


class Search(NamedTuple):
    """Memory for the search in one sentence.

    Attributes:
        scores: ``(k,)``, those of the candidates, as in `strukt.kernels.cpu_candidates`.
        entries: ``(k, 3)``, where they deviate.
        choices: ``(k, n)``, the choices at all places of the trees found.
    """

    scores: Array
    entries: Array
    choices: Array


@kernel
def kbest(
    grammar: Scores, spans: Array, emission: Array, lengths: Array,
    labels: Array, scores: Array, start: int, step: int,
) -> None:  # fmt: skip
    """The labels of the spans of the k best trees, where there are so many, and their scores."""
    (batch, k), n = scores.shape, spans.shape[1] - 1
    room = make_room(n, grammar.root.shape[1], emission.shape[2])
    search = Search(np.empty(k), np.empty((k, 3), np.int64), np.empty((k, n), np.int64))
    for b in range(start, batch, step):
        scores[b] = -np.inf
        if lengths[b] == 0:
            scores[b, 0] = 0.0
        elif lengths[b] > 1:
            fill(grammar, spans, emission, b, lengths[b], room)
            root = grammar.root[b * len(grammar.root) // batch]
            rules = grammar.rules[b * len(grammar.rules) // batch]
            _search(root, rules, lengths[b], room, search, labels[b], scores[b])


@kernel
def _search(
    root: Array, rules: Array, n: int, room: Room, search: Search, labels: Array, scores: Array
) -> None:
    count = _tops(root, n, room, search)
    for rank in range(len(scores)):
        if count == 0:
            return
        scores[rank], place = search.scores[0], search.entries[0, 1]
        parent, choice = search.entries[0, 0], search.entries[0, 2]
        search.choices[rank] = search.choices[parent]
        search.choices[rank, place] = choice
        count = drop_first(search.scores, search.entries, count)
        count = _complete(rules, n, room, search, rank, place, scores[rank], count, labels[rank])


@kernel
def _tops(root: Array, n: int, room: Room, search: Search) -> int:
    """The best tree with each label of the whole sentence is a candidate."""
    count = 0
    for label in range(len(root)):
        score = root[label] + room.chart[0, n, label]
        count = offer(search.scores, search.entries, count, score, 0, 0, label)
    return count


@kernel
def _complete(
    rules: Array, n: int, room: Room, search: Search, rank: int, given: int, score: float, count: int,
    labels: Array,
) -> int:  # fmt: skip
    """Follow the choices up to the place ``given``, make the best ones after it, and offer the others there."""
    choices = search.choices[rank]
    stack = np.empty((n, 3), np.int64)
    stack[0, 0], stack[0, 1], stack[0, 2] = 0, n, choices[0]
    depth, place = 1, 0
    while depth > 0:
        depth -= 1
        i, width, label = stack[depth]
        labels[i, i + width] = label
        if width == 1:
            continue
        place += 1
        if place > given:
            top, part, left, right = best_children(rules[label], i, width, room)
            choices[place] = _code(rules, part, left, right)
            count = _offer_others(rules[label], i, width, room, search, rank, place, score - top, count)
        part, left, right = _children(rules, choices[place])
        stack[depth, 0], stack[depth, 1], stack[depth, 2] = i, part, left
        stack[depth + 1, 0], stack[depth + 1, 1], stack[depth + 1, 2] = i + part, width - part, right
        depth += 2
    return count


@kernel
def _offer_others(
    rules: Array, i: int, width: int, room: Room, search: Search, rank: int, place: int, around: float,
    count: int,
) -> int:  # fmt: skip
    """All children of a span but those chosen; ``around`` is the score of all that is not below the span."""
    wanted = len(search.scores) - 1 - rank
    scores, taken = search.scores[:wanted], search.choices[rank, place]
    for part in range(1, width):
        above, below = values(room, i, part), values(room, i + part, width - part)
        (first, after), (start, _) = labels_of(room, part), labels_of(room, width - part)
        for left in range(first, after):
            least = scores[-1] if count == wanted > 0 else -np.inf
            high = around + above[left - first]
            if wanted == 0 or not _any_above(rules[left], start, below, high, least):
                continue
            for c in range(len(below)):
                choice = _code(rules, part, left, start + c)
                if choice != taken:
                    value = high + rules[left, start + c] + below[c]
                    count = offer(scores, search.entries, count, value, rank, place, choice)
    return count


@kernel
def _any_above(rules: Array, start: int, below: Array, high: float, least: float) -> bool:
    """Whether some right child gives a score above the least; in a loop that compiles to vectors."""
    found = 0
    for c in range(len(below)):
        found += int(high + rules[start + c] + below[c] > least)
    return found > 0


@kernel
def _code(rules: Array, part: int, left: int, right: int) -> int:
    """The width and the labels of children as one number."""
    labels = rules.shape[-1]
    return (part * labels + left) * labels + right  # type: ignore[no-any-return]


@kernel
def _children(rules: Array, code: int) -> tuple[int, int, int]:
    """The inverse of `_code`."""
    labels = rules.shape[-1]
    return code // (labels * labels), code // labels % labels, code % labels
