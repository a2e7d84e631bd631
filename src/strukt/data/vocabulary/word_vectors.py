"""Vectors of words from a text file, as GloVe, word2vec and fastText write them."""

from __future__ import annotations

import os
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from strukt.data.files import lines
from strukt.data.vocabulary.vocabulary import Vocabulary
from strukt.errors import DataError

Floats = npt.NDArray[np.float32]


def read(path: str) -> tuple[Vocabulary, Floats]:
    r"""Read a file of vectors: on each line a word and its numbers, separated by spaces.

    A first line of two whole numbers, as word2vec writes it, is skipped. If a word occurs twice, its first
    vector counts.

    Args:
        path: The file; gzip is recognised by its content.

    Returns:
        The vocabulary of the words, and a float32 array ``(words, size)`` of vectors with ``size`` numbers each.
        Later calls may return the same array, so do not modify it.

    Raises:
        DataError: If the file cannot be read or holds no vectors, or a line does not have as many finite
            numbers as the first line. The error names file and line.

    Examples:
        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     file = Path(folder, "vectors.txt")
        ...     _ = file.write_text("dog 1.0 0.5\ncat 0.5 1.0\n")
        ...     vocabulary, vectors = read(str(file))
        >>> vocabulary.symbols, vectors.shape
        (('dog', 'cat'), (2, 2))
    """
    return _read(path, os.stat(path).st_mtime_ns if os.path.exists(path) else 0)


@lru_cache(maxsize=1)
def _read(path: str, _: int) -> tuple[Vocabulary, Floats]:
    """Read a file, or return the cached result if the path and the time of its last change are the same.

    Training reads the file several times.
    """
    rows: dict[str, Floats] = {}
    size = 0
    for number, line in enumerate(lines(path), 1):
        parts = line.split()
        if not parts or (number == 1 and len(parts) == 2 and all(map(str.isdigit, parts))):
            continue
        size = size or len(parts) - 1
        word, *numbers = line.rstrip().rsplit(" ", size)
        word = word.strip(" ")
        vector = _vector(numbers)
        if size < 1 or not word or len(vector) != size or not np.isfinite(vector).all():
            raise DataError(
                f"the vector of {word!r} does not have {max(size, 1)} finite numbers, like the first one; write a "
                "word and its numbers, with spaces between them",
                path,
                number,
            )
        rows.setdefault(word, vector)
    if not rows:
        raise DataError("the file holds no vectors; give one with a word and its numbers on each line", path)
    return Vocabulary(rows), np.stack(list(rows.values()))


def _vector(numbers: list[str]) -> Floats:
    """Return numbers as an array ``(size,)``, which is empty if one of them is not a number."""
    try:
        return np.array(numbers, dtype=np.float32)
    except ValueError:
        return np.zeros(0, dtype=np.float32)
