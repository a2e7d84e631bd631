"""The best tree of a grammar (CKY) in Triton: the inside pass with maxima, then a walk down from the root.

Back-pointers are not stored: the walk finds the best children of each span again, in the order of `cpu_cky`.
"""

from __future__ import annotations

import triton
import triton.language as tl

from strukt.kernels.engine.gpu.inside_outside import barrier
from strukt.structures.pcfg.gpu_inside import places_of, spans_of


@triton.jit(
    do_not_specialize=[
        "a_item", "a_start", "a_first", "b_item", "b_start", "b_first", "c_item", "c_start", "c_first", "starts",
        "rows", "columns", "depth",
    ]
)  # fmt: skip
def multiply(
    a_scores, a_item, a_start, a_first, a_row, a_step, b_scores, b_item, b_start, b_first, b_row, b_step, out,
    c_item, c_start, c_first, c_row, c_step, starts, rows, columns, depth, ADD: tl.constexpr, R: tl.constexpr,
    C: tl.constexpr, K: tl.constexpr,
):  # fmt: skip
    """Write the largest ``a[r, k] + b[c, k]`` over k to ``out[r, c]``; arguments as in `gpu_products.multiply`.

    With ADD, the result is the maximum of this and the number that is already in ``out``. K is not used.
    """
    item = (tl.program_id(0) // starts).to(tl.int64)
    start = (tl.program_id(0) % starts).to(tl.int64)
    r = (tl.program_id(1) * R + tl.arange(0, R)).to(tl.int64)
    c = (tl.program_id(2) * C + tl.arange(0, C)).to(tl.int64)
    a = a_scores + (item * a_item + start * a_start + a_first + r * a_row)
    b = b_scores + (item * b_item + start * b_start + b_first + c * b_row)
    best = tl.full([R, C], float("-inf"), tl.float64)
    for _ in range(depth):
        left, right = tl.load(a, r < rows, float("-inf")), tl.load(b, c < columns, float("-inf"))
        best = tl.maximum(best, left[:, None] + right[None, :])
        a += a_step
        b += b_step
    place = item * c_item + start * c_start + c_first + r[:, None] * c_row + c[None, :] * c_step
    live = (r < rows)[:, None] & (c < columns)[None, :]
    if ADD:
        best = tl.maximum(best, tl.load(out + place, live, float("-inf")))
    tl.store(out + place, best, live)


@triton.jit
def raise_side(best, scores, a, a_step, matrices, b, b_step, depth, live):
    """Return the maximum of ``best`` and all ``scores[a + k * a_step] + matrices[b + k * b_step]`` over k.

    The tile ``best`` has a row for each span and a column for each label, as has ``live``, the mask of those that
    exist. The indices ``a`` have one column.
    """
    some = tl.max(live.to(tl.int32), 1)[:, None] > 0
    for _ in range(depth):
        score = tl.load(scores + a, some, float("-inf"))
        best = tl.maximum(best, score + tl.load(matrices + b, live, float("-inf")))
        a += a_step
        b += b_step
    return best


@triton.jit
def scores_of(spans, item_step, start_step, end_step, label_step, item, start, width, label, on):
    """Load the scores of spans with their labels, in float64; 0 where the mask ``on`` is False."""
    place = item * item_step + start * start_step + (start + width) * end_step
    return tl.load(spans + place[:, None] + label[None, :] * label_step, on, 0.0).to(tl.float64)


@triton.jit(
    do_not_specialize=[
        "a_first", "b_first", "left_depth", "c_first", "d_first", "right_depth", "batch", "width", "starts",
        "parts", "part",
    ]
)  # fmt: skip
def close(
    left, a_item, a_start, a_first, a_row, a_step, ending, b_item, b_start, b_first, b_row, b_step, left_depth,
    right, c_item, c_start, c_first, c_row, c_step, starting, d_item, d_start, d_first, d_row, d_step, right_depth,
    spans, item_step, start_step, end_step, label_step, lengths, batch, size, labels, width, starts, chart, ways,
    parts, part, R: tl.constexpr, C: tl.constexpr, K: tl.constexpr,
):  # fmt: skip
    """Write the best scores of spans of a width, from narrower spans; arguments as in `gpu_inside.close`.

    ``ways`` are the best scores of two nonterminals as children, in the shape of the sums there. K is not used.
    """
    row, item, start, label, live = spans_of(width, starts, lengths, batch, labels, R, C)
    one, best = tl.zeros([1], tl.int32), tl.full([R, C], float("-inf"), tl.float64)
    place = (row * labels)[:, None] + label[None, :]
    for _ in range(parts):
        best = tl.maximum(best, tl.load(ways + place, live, float("-inf")))
        place += part
    best = raise_side(
        best, left, places_of(a_item, a_start, a_first, a_row, item, start, one), a_step, ending,
        places_of(b_item, b_start, b_first, b_row, item, start, label), b_step, left_depth, live,
    )  # fmt: skip
    best = raise_side(
        best, right, places_of(c_item, c_start, c_first, c_row, item, start, one), c_step, starting,
        places_of(d_item, d_start, d_first, d_row, item, start, label), d_step, right_depth, live,
    )  # fmt: skip
    span_scores = scores_of(spans, item_step, start_step, end_step, label_step, item, start, width, label, live)
    cell = ((item * size + start) * size + start + width) * labels
    tl.store(chart + cell[:, None] + label[None, :], best + span_scores, live)


@triton.jit
def walk(
    chart, words, root, rules, sharing, root_sharing, lengths, queue, events, result, n, s, p, B: tl.constexpr,
    C: tl.constexpr,
):  # fmt: skip
    """Write the labels of the spans of the best tree of each item, if there is one, and its score.

    Args:
        chart: ``(batch, n + 1, n + 1, s)``, the best scores of spans.
        words: ``(batch, n, p)``, the scores of words.
        root, root_sharing: ``(groups, s)``, and the number of items in a group.
        rules, sharing: ``(groups, s, s + p, s + p)``, and the number of items in a group.
        lengths: ``(batch,)``.
        queue: Workspace ``(batch, 2 n, 3)`` for the first and the last fencepost of spans, and their labels.
        events: ``(batch, n + 1, n + 1)``, all -1.
        result: ``(batch,)``, the scores.
        n, s, p: The numbers of words, nonterminals and preterminals.
        B, C: The numbers of labels of left and of right children in a tile of rules.
    """
    item = tl.program_id(0).to(tl.int64)
    length = tl.load(lengths + item).to(tl.int32)
    size, labels = n + 1, s + p
    chart += item * size * size * s
    words += item * n * p
    root += item // root_sharing * s
    rules += item // sharing * s * labels * labels
    queue += item * 6 * n
    events += item * size * size
    score, label = best_top(chart, root, length, s, C)
    score = tl.where(length == 0, 0.0, score)
    tl.store(result + item, score.to(result.dtype.element_ty))
    push(queue, 0, length, label)
    barrier()
    end = 1
    for node in range(tl.where((score > float("-inf")) & (length > 0), 2 * length - 1, 0)):
        i, j, label = tl.load(queue + 3 * node), tl.load(queue + 3 * node + 1), tl.load(queue + 3 * node + 2)
        tl.store(events + i * size + j, label.to(tl.int64))
        if j - i > 1:
            _, split, left, right = best_children(
                chart, words, rules + label.to(tl.int64) * labels * labels, i, j, size, s, p, B, C
            )
            push(queue + 3 * end, i, split, left)
            push(queue + 3 * end + 3, split, j, right)
            end += 2
        barrier()


@triton.jit
def best_top(chart, root, length, s, C: tl.constexpr):
    """Return the best score of an item's trees, and the root label of the best tree."""
    score, label = tl.full([], float("-inf"), tl.float64), tl.full([], 0, tl.int32)
    for start in range(0, s, C):
        c = start + tl.arange(0, C)
        below = tl.load(chart + length.to(tl.int64) * s + c, c < s, float("-inf"))
        each = tl.load(root + c, c < s, float("-inf")).to(tl.float64) + below
        score, label = first_best(score, label, each, start)
    return score, label


@triton.jit
def push(queue, i, j, label):
    """Store the fenceposts of a span and its label in a queue."""
    tl.store(queue, i)
    tl.store(queue + 1, j)
    tl.store(queue + 2, label)


@triton.jit
def first_best(score, place, each, start):
    """Return the best score and its index, of those so far and of ``each``, whose indices begin at ``start``.

    Ties are broken by the first index.
    """
    best = tl.max(each, 0)
    better = best > score
    first = tl.min(tl.where(each == best, tl.arange(0, each.shape[0]), each.shape[0]), 0)  # unlike argmax, no NaN
    return tl.where(better, best, score), tl.where(better, start + first, place)


@triton.jit
def values_of(chart, words, i, j, size, s, p):
    """Return a pointer to the numbers of a span or a word, its first possible label, and the number of labels."""
    word = j - i == 1
    values = tl.where(word, words + i * p, chart + (i * size + j) * s)
    return values, tl.where(word, s, 0), tl.where(word, p, s)


@triton.jit
def best_children(chart, words, rules, i, j, size, s, p, B: tl.constexpr, C: tl.constexpr):
    """Return the score of the best children of a span, the fencepost between them, and their labels."""
    top, split, right = tl.full([], float("-inf"), tl.float64), i, i * 0
    for k in range(i + 1, j):
        below, first, count = values_of(chart, words, k, j, size, s, p)
        for start in range(0, count, C):
            c = start + tl.arange(0, C)
            best = _best_left(chart, words, rules, i, k, first + c, c < count, size, s, p, B)
            each = best + tl.load(below + c, c < count, float("-inf"))
            high = tl.max(each, 0)
            split = tl.where(high > top, k, split)
            top, right = first_best(top, right, each, first + start)
    above, first, count = values_of(chart, words, i, split, size, s, p)
    highest, left = tl.full([], float("-inf"), tl.float64), first
    for start in range(0, count, C):
        b = start + tl.arange(0, C)
        rule = tl.load(rules + (first + b) * (s + p) + right, b < count, float("-inf")).to(tl.float64)
        each = tl.load(above + b, b < count, float("-inf")) + rule
        highest, left = first_best(highest, left, each, first + start)
    return top, split, left, right


@triton.jit
def _best_left(chart, words, rules, i, k, right, on, size, s, p, B: tl.constexpr):
    """Return, for some labels of a right child, the best score of a left child plus the rule."""
    above, first, count = values_of(chart, words, i, k, size, s, p)
    best = tl.full(right.shape, float("-inf"), tl.float64)
    for start in range(0, count, B):
        b = start + tl.arange(0, B)
        live = (b < count)[:, None] & on[None, :]
        rule = tl.load(rules + ((first + b) * (s + p))[:, None] + right[None, :], live, float("-inf"))
        score = tl.load(above + b, b < count, float("-inf"))
        best = tl.maximum(best, tl.max(score[:, None] + rule.to(tl.float64), 0))
    return best
