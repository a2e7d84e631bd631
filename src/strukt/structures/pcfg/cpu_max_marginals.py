"""Max-marginals of grammars: for each labelled span the best inside score plus the best outside score.

The outside pass takes maxima over parents, so inner loops run over children: rules have the parent first here.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from strukt.kernels.arrays import Array
from strukt.kernels.jit import inner, kernel
from strukt.structures.pcfg.cpu_cky import Scores, Workspace, fill, make_workspace
from strukt.structures.pcfg.cpu_products import max_pull
from strukt.structures.pcfg.cpu_weights import laid_out


class Downwards(NamedTuple):
    """The scores of rules in the order in which the outside pass reads them.

    Attributes:
        pairs: ``(groups, s, s s)``, the rules with two nonterminals as children, ``[A, (B, C)]``.
        words: ``(groups, s, p p)``, the rules with two words as children, ``[A, (b, c)]``.
        beside: ``(groups, s s, p)``, the rules A -> B word, ``[(B, A), c]`` for preterminal c.
        before: ``(groups, s s, p)``, the rules A -> word C, ``[(C, A), c]`` for preterminal c.
    """

    pairs: Array
    words: Array
    beside: Array
    before: Array


class Around(NamedTuple):
    """The best outside scores of the chart of one sentence, and workspace for those of one span.

    Attributes:
        spans: ``(n, n + 1, s)``, those of labelled spans, by first fencepost and width.
        words: ``(n, p)``, those of words with each preterminal.
        beside: ``(n, s, s)``, those of the rules A -> B word for each word, ``[B, A]``.
        before: ``(n, s, s)``, those of the rules A -> word C for each word, ``[C, A]``.
        above: ``(s,)``, for one span with each label, its best outside score plus its own score.
        pairs: ``(s, s)``, the best outside score of each pair of labels of its children, ``[B, C]``.
        turned: ``(s, s)``, ``pairs`` transposed, ``[C, B]``.
        two: ``(p, p)``, the same as ``pairs`` for two words.
    """

    spans: Array
    words: Array
    beside: Array
    before: Array
    above: Array
    pairs: Array
    turned: Array
    two: Array


def downwards(rules: Array) -> Downwards:
    """Return rules ``(groups, s, s + p, s + p)`` in the layout of `Downwards`."""
    s, p = rules.shape[1], rules.shape[2] - rules.shape[1]
    return Downwards(
        laid_out(rules[:, :, :s, :s], s, s * s),
        laid_out(rules[:, :, s:, s:], s, p * p),
        laid_out(rules[:, :, :s, s:].swapaxes(1, 2), s * s, p),
        laid_out(rules[:, :, s:, :s].transpose(0, 3, 1, 2), s * s, p),
    )


@inner
def _make_around(n: int, s: int, p: int) -> Around:
    """Allocate uninitialised scores."""
    return Around(
        np.empty((n, n + 1, s)),
        np.empty((n, p)),
        np.empty((n, s, s)),
        np.empty((n, s, s)),
        np.empty(s),
        np.empty((s, s)),
        np.empty((s, s)),
        np.empty((p, p)),
    )


@kernel
def max_marginals(
    grammar: Scores, rules: Downwards, spans: Array, emission: Array, lengths: Array, best: Array,
    start: int, step: int,
) -> None:  # fmt: skip
    """Write the max-marginals to ``best``, in the shape of ``spans``, initialised to -inf.

    The other arrays are ``spans (batch, n + 1, n + 1, s + p)``, ``emission (g, n, p)`` and ``lengths (batch,)``.
    """
    batch, n, s = len(spans), spans.shape[1] - 1, grammar.root.shape[1]
    p = emission.shape[2]
    workspace, around = make_workspace(n, s, p), _make_around(n, s, p)
    for b in range(start, batch, step):
        n, g = lengths[b], b * len(grammar.rules) // batch
        if n < 2:
            continue
        fill(grammar, spans, emission, b, n, workspace)
        for each in (around.spans, around.beside, around.before):
            each[:n] = -np.inf
        around.words[:n] = -np.inf
        around.spans[0, n] = grammar.root[b * len(grammar.root) // batch]
        for width in range(n, 1, -1):
            for i in range(n + 1 - width):
                for label in range(s):
                    around.above[label] = around.spans[i, width, label] + spans[b, i, i + width, label]
                _to_children(rules, g, i, width, workspace, around)
        for i in range(n):
            max_pull(rules.beside[g], around.beside[i].reshape(-1), around.words[i])
            max_pull(rules.before[g], around.before[i].reshape(-1), around.words[i])
            for c in range(p):
                best[b, i, i + 1, s + c] = workspace.words[i, c] + around.words[i, c]
            for width in range(2, n - i + 1):
                for label in range(s):
                    best[b, i, i + width, label] = workspace.chart[i, width, label] + around.spans[i, width, label]


@inner
def _to_children(rules: Downwards, g: int, i: int, width: int, workspace: Workspace, around: Around) -> None:
    """Propagate the outside scores of a span, which are in ``around.above``, to its children."""
    s, p = workspace.best.shape[0], workspace.words.shape[1]
    if width == 2:
        around.two[:] = -np.inf
        max_pull(rules.words[g], around.above, around.two.reshape(-1))
        for b in range(p):
            for c in range(p):
                best = around.two[b, c]
                around.words[i, b] = max(around.words[i, b], best + workspace.words[i + 1, c])
                around.words[i + 1, c] = max(around.words[i + 1, c], best + workspace.words[i, b])
        return
    last, narrow = i + width - 1, width - 1
    above = around.above
    _to_side(
        workspace.beside[last], above, workspace.chart[i, narrow], around.spans[i, narrow], around.beside[last]
    )
    _to_side(
        workspace.before[i], above, workspace.chart[i + 1, narrow], around.spans[i + 1, narrow], around.before[i]
    )
    if width > 3:
        around.pairs[:] = -np.inf
        max_pull(rules.pairs[g], around.above, around.pairs.reshape(-1))
        for left in range(s):
            for right in range(s):
                around.turned[right, left] = around.pairs[left, right]
        for k in range(2, width - 1):
            max_pull(around.turned, workspace.chart[i + k, width - k], around.spans[i, k])
            max_pull(around.pairs, workspace.chart[i, k], around.spans[i + k, width - k])


@inner
def _to_side(rules: Array, above: Array, inside: Array, span: Array, around: Array) -> None:
    """Propagate outside scores from a span to one child, and to the rules with the other child, a word.

    Arrays: ``rules (s, s)``, by child and parent, the scores with this word; ``above (s,)``; ``inside (s,)`` and
    ``span (s,)``, the inside and outside scores of the child; ``around (s, s)``, the outside scores of ``rules``.
    """
    s = len(above)
    for child in range(s):
        best = span[child]
        for parent in range(s):
            best = max(best, above[parent] + rules[child, parent])
            around[child, parent] = max(around[child, parent], above[parent] + inside[child])
        span[child] = best
