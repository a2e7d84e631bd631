"""Corpora built from the Python standard library: a treebank and prose.

They need no download, and serve for demonstrations and tests. The split is decided by a hash of the
file name (for prose, of the sentence): 80 % training, 10 % development, 10 % test. The text comes from
the running Python, so results are comparable only within one version of Python.
"""

from __future__ import annotations

import hashlib
import importlib
import os
import re
import sys
import tokenize
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Literal

from strukt.data import conllu, text
from strukt.data.corpora import python_syntax
from strukt.errors import DataError

Split = Literal["train", "dev", "test"]
SPLITS: Mapping[str, range] = {"train": range(8), "dev": range(8, 9), "test": range(9, 10)}
"""The tenths of the data that make up each split."""

_LEFT_OUT = {"test", "tests", "idle_test", "pydoc_data", "site-packages", "dist-packages", "__pycache__"}
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z\"'(*])")


def treebank(split: Split = "train", limit: int | None = None, longest: int = 60) -> list[conllu.Sentence]:
    """Return the standard library's statements as dependency trees, by the rules of `python_syntax`.

    Repeated statements within the split are left out, and so are statements of one token, of more than `longest`
    tokens, or with a string that contains a line end or a TAB. Reading yields about 4,000 statements per second,
    and stops at `limit`.

    Args:
        split: "train", "dev" or "test".
        limit: Maximum number of sentences; all if None. Files are read in a shuffled but fixed order.
        longest: Maximum number of tokens of a sentence.

    Raises:
        DataError: If this Python was installed without the source of its library.
        ValueError: If there is no such split.

    Examples:
        >>> sentences = treebank("dev", limit=100)
        >>> len(sentences), all(conllu.require_tree(sentence) for sentence in sentences)
        (100, True)
    """
    _require(split)
    files = {path.relative_to(_library()).as_posix(): path for path in _source_files(_library())}
    if not files:
        raise DataError("holds no source files; this Python comes without them", _library())
    sentences = (
        sentence
        for name in sorted(files, key=_hash)
        if _belongs(name, split)
        for sentence in _statements(files[name], name, longest)
    )
    return list(islice(_distinct(sentences), limit))


def prose(split: Split = "train", limit: int | None = None) -> list[conllu.Sentence]:
    """Return the sentences of the language reference, tokenised by `text.tokenize`, for language models.

    They are read from the texts of `help()`. Repeated sentences within the split are left out.

    Args:
        split: "train", "dev" or "test".
        limit: Maximum number of sentences, from the first topics in alphabetical order; all if None.

    Raises:
        DataError: If this Python was installed without the texts of `help()`.
        ValueError: If there is no such split.

    Examples:
        >>> len(prose("dev", limit=10))
        10
    """
    _require(split)
    try:
        topics: dict[str, str] = importlib.import_module("pydoc_data.topics").topics
    except ImportError as error:
        raise DataError("this Python comes without pydoc_data; install its full standard library") from error
    sentences = (
        conllu.from_forms(forms, [f"# topic = {name}"], f"pydoc_data.topics[{name!r}]")
        for name in sorted(topics)
        for paragraph in _paragraphs(topics[name])
        for sentence in _SENTENCE_END.split(paragraph)
        if _belongs(sentence, split) and (forms := text.tokenize(sentence))
    )
    return list(islice(_distinct(sentences), limit))


def _require(split: Split) -> None:
    if split not in SPLITS:
        raise ValueError(f"split: got {split!r}, expected one of {', '.join(SPLITS)}")


def _hash(name: str) -> int:
    """Return a hash of a name that is the same in all processes."""
    return int(hashlib.sha256(name.encode()).hexdigest(), 16)


def _belongs(name: str, split: Split) -> bool:
    return _hash(name) % 10 in SPLITS[split]


def _distinct(sentences: Iterable[conllu.Sentence]) -> Iterator[conllu.Sentence]:
    seen: set[tuple[str, ...]] = set()
    for sentence in sentences:
        key = tuple(sentence.forms)
        if key not in seen:
            seen.add(key)
            yield sentence


def _library() -> Path:
    return Path(os.__file__).parent


def _source_files(library: Path) -> Iterator[Path]:
    """Yield the modules that are part of Python on every machine, without Python's own tests."""
    for entry in sorted(library.iterdir()):
        if entry.stem not in sys.stdlib_module_names or entry.stem.startswith("_sysconfigdata"):
            continue
        for path in [entry] if entry.suffix == ".py" else sorted(entry.rglob("*.py")):
            if _LEFT_OUT.isdisjoint(path.relative_to(library).parts):
                yield path


def _statements(path: Path, name: str, longest: int) -> Iterator[conllu.Sentence]:
    """Yield the statements of a source file as sentences; none if this Python cannot parse the file."""
    try:
        with tokenize.open(path) as stream:
            yield from python_syntax.statements(stream.read(), name, longest)
    except (OSError, SyntaxError, UnicodeError, RecursionError, tokenize.TokenError):
        return


def _paragraphs(topic: str) -> Iterator[str]:
    """Yield the paragraphs of prose: they begin and end as a sentence does, and contain no grammar or code."""
    for paragraph in re.split(r"\n\s*\n", topic):
        line = " ".join(paragraph.split())
        if line[:1].isupper() and line.endswith((".", "!", "?")) and "::=" not in line and ">>>" not in line:
            yield line
