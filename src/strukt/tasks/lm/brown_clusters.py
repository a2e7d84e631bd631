"""Blocks of hidden states: the Brown clusters of words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import torch
from torch import Tensor

from strukt.data.brown import brown_clusters, read_clusters
from strukt.data.vocabulary import Vocabulary
from strukt.errors import SettingError
from strukt.tasks.lm.config import Config


def blocks_of(config: Config, words: Vocabulary, texts: Iterable[Sequence[int]]) -> Tensor:
    """Return the block of each word, ``(v,)``: its Brown cluster, computed from a corpus or read from a file.

    Words that the file lacks, such as the unknown word, are in the last block.

    Args:
        config: The options of the model, with a positive number of blocks.
        words: The vocabulary of words.
        texts: The training corpus, as word indices.

    Raises:
        SettingError: If there are fewer words than blocks, or if the number of clusters in the file, or of those
            with a word of the vocabulary, differs from the number of blocks.
        DataError: If the file cannot be read or is malformed.
    """
    if not config.clusters:
        try:
            return torch.tensor(brown_clusters(texts, len(words), config.blocks))
        except ValueError as error:
            raise SettingError(f"--blocks is {config.blocks}, but {error}") from error
    clusters = read_clusters(config.clusters)
    blocks = [clusters.get(word, config.blocks - 1) for word in words.symbols]
    count, used = len(set(clusters.values())), len(set(blocks))
    if count != config.blocks or used < count:
        raise SettingError(
            f"--blocks is {config.blocks}, but {config.clusters} has {count} clusters, and the corpus has words "
            f"of {used} of them; expected the same number"
        )
    return torch.tensor(blocks)
