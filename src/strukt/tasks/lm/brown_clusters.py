"""The block of states of each word: its Brown cluster."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import torch
from torch import Tensor

from strukt.data.brown import brown_clusters, read_clusters
from strukt.data.vocabulary import Vocabulary
from strukt.errors import SettingError
from strukt.tasks.lm.config import Config


def blocks_of(config: Config, words: Vocabulary, texts: Iterable[Sequence[int]]) -> Tensor:
    """Return the block of each word, ``(v,)``: its cluster in a corpus, or in a file.

    Words that are not there, such as the unknown word, are in the last one.

    Args:
        config: With a number of blocks.
        words: The vocabulary.
        texts: The corpus in numbers of words.

    Raises:
        SettingError: If there are fewer words than blocks, or not as many clusters in the file.
    """
    if not config.clusters:
        try:
            return torch.tensor(brown_clusters(texts, len(words), config.blocks))
        except ValueError as error:
            raise SettingError(f"--blocks is {config.blocks}, but {error}") from error
    clusters = read_clusters(config.clusters)
    found = [clusters.get(word, config.blocks - 1) for word in words.symbols]
    count, used = len(set(clusters.values())), len(set(found))
    if count != config.blocks or used < count:
        raise SettingError(
            f"--blocks is {config.blocks}, but {config.clusters} has {count} clusters, and the corpus words of "
            f"{used} of them; expected as many"
        )
    return torch.tensor(found)
