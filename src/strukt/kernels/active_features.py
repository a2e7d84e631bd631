"""Scores of labels from sparse features, and expected counts of features from marginals of labels.

An attribute, such as the word itself, has a feature with one weight for each of some labels. The labels of
attribute a are ``labels[starts[a] : starts[a + 1]]``, in ascending order; ``weights`` has the same layout.
"""

from __future__ import annotations

from strukt.kernels.arrays import Array
from strukt.kernels.jit import kernel, rows_of


@kernel
def gather(
    indptr: Array, attributes: Array, values: Array, starts: Array, labels: Array, weights: Array, cells: Array,
    out: Array, start: int, step: int,
) -> None:  # fmt: skip
    """Write the scores of the c labels of each token t to row ``cells[t]`` of ``out (cells, c)``.

    The attributes of token t and their values are the entries from ``indptr[t]`` to before ``indptr[t + 1]``. The
    thread ``start`` of ``step`` threads writes its share of the tokens.

    Arrays: ``indptr (tokens + 1,)``, ``attributes`` and ``values (entries,)``, ``starts (attributes + 1,)``,
    ``labels`` and ``weights (features,)``, and ``cells (tokens,)``.
    """
    c = out.shape[1]
    first, last = rows_of(cells.shape[0], start, step)
    for t in range(first, last):
        row = out[cells[t]]
        row[:] = 0.0
        for entry in range(indptr[t], indptr[t + 1]):
            begin, end = starts[attributes[entry]], starts[attributes[entry] + 1]
            value = values[entry]
            if end - begin == c:  # has all labels, in order: vectorised
                complete = weights[begin:end]
                for j in range(c):
                    row[j] += complete[j] * value
            else:
                for f in range(begin, end):
                    row[labels[f]] += weights[f] * value


@kernel
def scatter(
    indptr: Array, attributes: Array, values: Array, starts: Array, labels: Array, cells: Array, marginals: Array,
    out: Array, start: int, step: int,
) -> None:  # fmt: skip
    """Add to ``out (features,)``, for each feature, its values times the ``marginals (cells, c)`` of its label.

    Token t has the marginals of row ``cells[t]``. Each thread reads all tokens, and adds for a range of labels.
    The other arrays are those of `gather`.
    """
    c = marginals.shape[1]
    low, high = rows_of(c, start, step)
    for t in range(cells.shape[0]):
        row = marginals[cells[t]]
        part = row[low:high]
        for entry in range(indptr[t], indptr[t + 1]):
            begin, end = starts[attributes[entry]], starts[attributes[entry] + 1]
            value = values[entry]
            if end - begin == c:
                complete = out[begin + low : begin + high]
                for j in range(high - low):
                    complete[j] += part[j] * value
            else:
                for f in range(begin, end):
                    if low <= labels[f] < high:
                        out[f] += row[labels[f]] * value
