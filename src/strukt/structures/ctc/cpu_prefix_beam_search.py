"""CTC prefix beam search in Numba: see `strukt.structures.ctc.decoding`.

A text is a sequence of labels without blanks: a prefix of a transcript. Each text on the beam has two totals: over
its labellings of the frames so far that end in a blank, and over those that end in its last label. Texts are nodes
of a tree (a trie), so that a text that returns to the beam is recognised.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from strukt.kernels.arrays import Array
from strukt.kernels.jit import inner, kernel
from strukt.structures.ctc.cpu_prefix_tree import Tree, child_of, grow, make_tree
from strukt.structures.ctc.ngrams import Ngrams, begin, next_probabilities


class Beam(NamedTuple):
    """The texts on a beam.

    Attributes:
        node: The node of each text in the tree.
        slot: The row of the table with the scores of each text's next labels, -1 if it is not computed yet.
        blank: The log of the total over labellings that end in a blank.
        label: The log of the total over labellings that end in the last label.
    """

    node: Array
    slot: Array
    blank: Array
    label: Array


class Best(NamedTuple):
    """A heap of the best candidates for the next beam, with the worst of them at the root.

    Attributes:
        rank: The score of each candidate.
        source: The index on the beam of the text that it extends.
        label: The label by which it extends the text, or -1 for the text itself.
    """

    rank: Array
    source: Array
    label: Array


@kernel
def search(
    log_probs: Array, lengths: Array, blank: int, size: int, ngrams: Ngrams, weight: float, bonus: Array,
    labels: Array, scores: Array, start: int, step: int,
) -> None:  # fmt: skip
    """Write the k best texts, ``labels (batch, k, n)`` and ``scores (batch, k)``, with a beam of ``size`` texts.

    Labels after the end of a text, and entries beyond the number of texts, are left as they are. The other arrays
    are ``log_probs (batch, n, c)``, ``lengths (batch,)`` and ``bonus (c,)``, added for each label; ``weight`` is
    that of the language model.
    """
    rows, used = np.empty((size, log_probs.shape[2])), np.empty(size, np.bool_)
    taken = np.zeros(rows.shape, np.bool_)
    beam, stay, other, best = _make_beam(size), _make_beam(size), _make_beam(size), _make_best(size)
    for b in range(start, log_probs.shape[0], step):
        tree = make_tree(1 + lengths[b] * size, len(ngrams.first) - 1)
        position = np.full(len(tree.parent), -1)
        begin(ngrams, tree.state[0])
        beam.node[0], beam.slot[0], beam.blank[0], beam.label[0] = 0, -1, 0.0, -np.inf
        result = 1
        for t in range(lengths[b]):
            frame, on_beam = log_probs[b, t], result
            _fill_new(tree, beam, on_beam, rows, used, ngrams, weight, bonus)
            _stay(frame, blank, tree, beam, on_beam, stay, position, taken)
            result = _choose(frame, blank, tree, beam, on_beam, stay, rows, taken, best)
            _clear(tree, beam, on_beam, position, taken)
            _move(frame, tree, beam, stay, result, rows, best, ngrams, other)
            beam, other = other, beam
        _list(tree, beam, result, labels[b], scores[b])


@inner
def _make_beam(size: int) -> Beam:
    """Allocate a beam of at most ``size`` texts."""
    return Beam(np.zeros(size, np.int64), np.zeros(size, np.int64), np.zeros(size), np.zeros(size))


@inner
def _make_best(size: int) -> Best:
    """Allocate a heap of at most ``size`` candidates."""
    return Best(np.zeros(size), np.zeros(size, np.int64), np.zeros(size, np.int64))


@inner
def _add(a: float, b: float) -> float:
    """Return log(exp(a) + exp(b))."""
    high, low = max(a, b), min(a, b)
    return high if low == -np.inf else high + np.log1p(np.exp(low - high))


@inner
def _fill(ngrams: Ngrams, state: Array, weight: float, bonus: Array, row: Array) -> None:
    """Write to ``row (c,)`` the score that the language model and the bonus add for each label after a text.

    ``state`` is the state of the text; see `Ngrams`.
    """
    row[:] = bonus
    if len(state) and weight != 0.0:  # 0 times -inf of impossible words would be NaN
        probability = np.empty(len(row))
        next_probabilities(ngrams, state, probability)
        row += weight * np.log(probability)


@inner
def _last(tree: Tree, beam: Beam, i: int) -> int:
    """Return the last label of text i on the beam, -1 for the empty text."""
    return tree.label[beam.node[i]]  # type: ignore[no-any-return]


@inner
def _before(tree: Tree, beam: Beam, i: int, label: int) -> float:
    """Return the log of the total over labellings of text i that ``label`` can follow as a new label.

    A repeated label needs a blank in between.
    """
    return beam.blank[i] if _last(tree, beam, i) == label else _add(beam.blank[i], beam.label[i])


@inner
def _stay(
    frame: Array, blank: int, tree: Tree, beam: Beam, size: int, stay: Beam, position: Array, taken: Array
) -> None:
    """Write to ``stay`` the totals, after the frame, of the ``size`` texts on the beam.

    A labelling of a text comes from one of the same text or of its parent, if that is on the beam. The extension
    of a parent to a child on the beam is marked in ``taken (size, c)``, since it makes no new text. ``position``
    gets the index on the beam of each node; it must be -1 before. `_clear` resets both.
    """
    for i in range(size):
        last = _last(tree, beam, i)
        stay.node[i], stay.slot[i] = beam.node[i], beam.slot[i]
        stay.blank[i] = _add(beam.blank[i], beam.label[i]) + frame[blank]
        stay.label[i] = beam.label[i] + frame[last] if last >= 0 else -np.inf
        position[beam.node[i]] = i
    for i in range(size):
        parent = tree.parent[beam.node[i]]
        if parent >= 0 and position[parent] >= 0:
            last, source = _last(tree, beam, i), position[parent]
            stay.label[i] = _add(stay.label[i], _before(tree, beam, source, last) + frame[last])
            taken[source, last] = True


@inner
def _clear(tree: Tree, beam: Beam, size: int, position: Array, taken: Array) -> None:
    """Reset ``position`` and ``taken``, in which `_stay` made entries."""
    for i in range(size):
        parent = tree.parent[beam.node[i]]
        if parent >= 0 and position[parent] >= 0:
            taken[position[parent], _last(tree, beam, i)] = False
    for i in range(size):
        position[beam.node[i]] = -1


@inner
def _choose(
    frame: Array, blank: int, tree: Tree, beam: Beam, size: int, stay: Beam, rows: Array, taken: Array, best: Best
) -> int:
    """Write the texts with the highest scores after the frame to the heap ``best``; return their number."""
    result = 0
    for i in range(size):
        rank = _add(stay.blank[i], stay.label[i]) + tree.bonus[beam.node[i]]
        result = _offer(best, result, rank, i, -1)
    for i in range(size):
        last, bonus, row = _last(tree, beam, i), tree.bonus[beam.node[i]], rows[beam.slot[i]]
        every = _add(beam.blank[i], beam.label[i]) + bonus
        for label in range(len(frame)):
            rank = (beam.blank[i] + bonus if label == last else every) + frame[label] + row[label]
            if (result < len(best.rank) or rank > best.rank[0]) and label != blank and not taken[i, label]:
                result = _offer(best, result, rank, i, label)
    return result


@inner
def _offer(best: Best, count: int, rank: float, source: int, label: int) -> int:
    """Add a candidate to the heap of ``count`` candidates if it is among the best; return the new number."""
    if rank == -np.inf or (count == len(best.rank) and rank <= best.rank[0]):
        return count
    if count < len(best.rank):
        place = count
        count += 1
        while place > 0 and best.rank[(place - 1) // 2] > rank:
            _copy(best, (place - 1) // 2, place)
            place = (place - 1) // 2
    else:
        place = 0
        while 2 * place + 1 < count:
            lower = 2 * place + 1
            if lower + 1 < count and best.rank[lower + 1] < best.rank[lower]:
                lower += 1
            if best.rank[lower] >= rank:
                break
            _copy(best, lower, place)
            place = lower
    best.rank[place], best.source[place], best.label[place] = rank, source, label
    return count


@inner
def _copy(best: Best, source: int, place: int) -> None:
    """Copy a candidate within the heap, from index ``source`` to index ``place``."""
    best.rank[place], best.source[place], best.label[place] = (
        best.rank[source],
        best.source[source],
        best.label[source],
    )


@inner
def _move(
    frame: Array, tree: Tree, beam: Beam, stay: Beam, count: int, rows: Array, best: Best, ngrams: Ngrams,
    other: Beam,
) -> None:  # fmt: skip
    """Put the ``count`` best texts on the beam ``other``; new texts have no row of scores yet: slot -1."""
    for place in range(count):
        source, label = best.source[place], best.label[place]
        if label < 0:
            other.node[place], other.slot[place] = stay.node[source], stay.slot[source]
            other.blank[place], other.label[place] = stay.blank[source], stay.label[source]
        else:
            node = child_of(tree, beam.node[source], label)
            if node < 0:
                node = grow(tree, beam.node[source], label, rows[beam.slot[source], label], ngrams)
            other.node[place], other.slot[place] = node, -1
            other.blank[place], other.label[place] = -np.inf, _before(tree, beam, source, label) + frame[label]


@inner
def _fill_new(
    tree: Tree, beam: Beam, size: int, rows: Array, used: Array, ngrams: Ngrams, weight: float, bonus: Array
) -> None:
    """Give each new text on the beam a free row of the table, and fill it with the scores of its next labels."""
    used[:] = False
    for i in range(size):
        if beam.slot[i] >= 0:
            used[beam.slot[i]] = True
    slot = 0
    for i in range(size):
        if beam.slot[i] < 0:
            while used[slot]:
                slot += 1
            used[slot] = True
            beam.slot[i] = slot
            _fill(ngrams, tree.state[beam.node[i]], weight, bonus, rows[slot])


@inner
def _list(tree: Tree, beam: Beam, size: int, labels: Array, scores: Array) -> None:
    """Write the best texts on the beam and their scores, best first."""
    ranks = np.empty(size)
    for i in range(size):
        ranks[i] = _add(beam.blank[i], beam.label[i]) + tree.bonus[beam.node[i]]
    order = np.argsort(-ranks)
    for place in range(min(size, len(scores))):
        node = beam.node[order[place]]
        scores[place] = ranks[order[place]]
        length, above = 0, node
        while above > 0:
            length, above = length + 1, tree.parent[above]
        while node > 0:
            length -= 1
            labels[place, length] = tree.label[node]
            node = tree.parent[node]
