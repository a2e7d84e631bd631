"""Brown clusters: word classes from bigram counts alone, or read from a file."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from strukt.data.brown.merges import Counts, Indices, slots_of
from strukt.data.files import Source, lines, name_of
from strukt.errors import DataError


def brown_clusters(texts: Iterable[Sequence[int]], words: int, clusters: int) -> list[int]:
    """Cluster words by the mutual information of adjacent clusters (Brown et al. 1992, section 3).

    Each of the c most frequent words begins with a cluster of its own. The others follow in order of frequency,
    each in a new cluster; after each, the two clusters whose merge loses the least average mutual information are
    merged.

    Complexity: O(v c^2 + v^2 + n log n) for texts of n words; about a minute for 30,000 words and 128 clusters.

    Args:
        texts: Sequences of word indices, 0 to v - 1; words of different texts are not neighbours.
        words: Size of the vocabulary, v.
        clusters: Number of clusters, c.

    Returns:
        The cluster of each word, 0 to c - 1: cluster 0 has the most frequent word, and each next cluster the most
        frequent of the remaining words. Words without neighbours are in the last cluster.

    Raises:
        ValueError: If `clusters` is below 1, or above the number of words that have neighbours, or one of these
            words is not from 0 to v - 1.

    Examples:
        >>> brown_clusters([[0, 2, 1, 2, 0, 3, 1, 3, 0, 2]], words=4, clusters=2)
        [0, 0, 1, 1]
    """
    firsts, seconds, counts = _pairs(texts)
    ends = np.concatenate([firsts, seconds])
    if len(outside := ends[(ends < 0) | (ends >= words)]):
        raise ValueError(f"texts has word {outside[0]}; expected 0 to {words - 1}, as words is {words}")
    left, right = (np.bincount(ends, counts, words).astype(np.float64) for ends in (firsts, seconds))
    frequency = np.bincount(firsts, counts, words) + np.bincount(seconds, counts, words)
    order = np.argsort(-frequency, kind="stable")[: np.count_nonzero(frequency)]
    if clusters < 1 or len(order) < clusters:
        raise ValueError(f"clusters is {clusters}; expected 1 to {len(order)}, the words that have neighbours")
    after, before = (_grouped(words, *sides, counts) for sides in ((firsts, seconds), (seconds, firsts)))
    slots = slots_of(order, *after, *before, left, right, clusters)
    numbers = np.full(words, clusters - 1, dtype=np.int64)
    numbers[order] = _numbered(slots[order])
    return [int(cluster) for cluster in numbers]


def read_clusters(source: Source) -> dict[str, int]:
    r"""Read the cluster of each word from a file in the format of Percy Liang's program.

    Each line has the bit string of a cluster, such as 0110, a word, and its frequency, which is ignored, separated
    by TABs. Clusters are numbered from 0 in order of appearance. If a word occurs twice, its last cluster counts.
    An empty file has no clusters.

    Args:
        source: A path, `-` for standard input, or an open stream.

    Raises:
        DataError: If the file cannot be read, or a line does not have three columns with a bit string first. The
            error names file and line.

    Examples:
        >>> import io
        >>> read_clusters(io.BytesIO(b"00\tthe\t7\n00\ta\t3\n01\tcat\t2\n"))
        {'the': 0, 'a': 0, 'cat': 1}
    """
    numbers: dict[str, int] = {}
    clusters: dict[str, int] = {}
    for number, line in enumerate(lines(source), 1):
        parts = line.split("\t")
        if len(parts) != 3 or not parts[0] or set(parts[0]) - {"0", "1"}:
            message = "expected the path of a cluster in 0 and 1, a word and its frequency, with TABs between"
            raise DataError(message, name_of(source), number)
        clusters[parts[1]] = numbers.setdefault(parts[0], len(numbers))
    return clusters


def _pairs(texts: Iterable[Sequence[int]]) -> tuple[Indices, Indices, Counts]:
    """Return the p distinct bigrams: first words, second words, and numbers of occurrences, ``(p,)`` each."""
    parts = [np.asarray(text, dtype=np.int64) for text in texts if len(text) > 1]
    pairs = np.concatenate([np.stack([text[:-1], text[1:]], 1) for text in parts] or [np.zeros((0, 2), np.int64)])
    pairs, counts = np.unique(pairs, axis=0, return_counts=True)
    return pairs[:, 0].copy(), pairs[:, 1].copy(), counts.astype(np.float64)


def _grouped(
    words: int, ends: Indices, others: Indices, counts: Counts
) -> tuple[Indices, Indices, Counts]:
    """Group bigrams by one of their two words.

    Args:
        words: Size of the vocabulary, v.
        ends: ``(p,)``, the words by which the p bigrams are grouped.
        others: ``(p,)``, the other word of each bigram.
        counts: ``(p,)``, the number of occurrences of each bigram.

    Returns:
        The index at which the group of each word begins, ``(v + 1,)``, the last one being p; and the other words
        and the counts, group by group.
    """
    order = np.argsort(ends, kind="stable")
    starts = np.concatenate([[0], np.cumsum(np.bincount(ends, minlength=words))])
    return starts.astype(np.int64), others[order], counts[order]


def _numbered(slots: Indices) -> Indices:
    """Replace the slots by numbers 0, 1, ... in order of first occurrence."""
    _, first, inverse = np.unique(slots, return_index=True, return_inverse=True)
    rank = np.argsort(np.argsort(first, kind="stable"), kind="stable")
    numbered: Indices = rank[inverse]
    return numbered
