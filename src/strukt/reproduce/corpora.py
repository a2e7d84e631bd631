"""The files of a table: found in a folder, downloaded, generated at random, or extracted from other files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType

from strukt.data import brackets, listops
from strukt.data.constituents import Tree
from strukt.data.corpora.download import Wait, pause
from strukt.data.corpora.obtain import Watch, obtain, unwatched
from strukt.data.corpora.open_corpora import CORPORA
from strukt.data.corpora.synthetic import sequences
from strukt.data.corpora.treebanks import treebank
from strukt.data.files import atomic_write
from strukt.errors import DataError, StruktError
from strukt.metrics.parseval import PUNCTUATION
from strukt.reproduce.table import Table

LONGEST_EXPRESSION, LONGEST_SENTENCE = 40, 20
"""The most symbols of an expression, and words of a sentence, in the extracts for short inputs."""


def provide(table: Table, file: str, folder: Path, *, wait: Wait = pause, watch: Watch = unwatched) -> Path:
    """Return the path of a file of a table; if it does not exist, download, generate or extract it.

    Args:
        table: The table that needs the file.
        file: The folder of a corpus and a file in it, such as `cogs/train.tsv`; `cogs/train.tsv.gz` also serves.
        folder: The folder with a subfolder for each corpus.
        wait: Called before a download is tried again; see `strukt.data.corpora.obtain.obtain`.
        watch: Returns a function that shows progress; see `strukt.data.corpora.obtain.obtain`.

    Raises:
        DataError: If the file does not exist, and cannot be downloaded.
    """
    path = folder / file
    if there := _existing(path):
        return there
    if file in table.made:
        _write(path, (" ".join(map(str, numbers)) for numbers in sequences(**table.made[file])))
    elif file in table.extracts:
        origin, kind = table.extracts[file]
        _write(path, EXTRACTS[kind](provide(table, origin, folder, wait=wait, watch=watch)))
    else:
        _fetch(file.partition("/")[0], folder, wait, watch)
    if there := _existing(path):
        return there
    raise DataError("is not in the published corpus; give a folder that has it with --data", path)


def short_trees(path: Path) -> Iterator[Tree]:
    """Yield the trees that have 2 to 20 words after punctuation, traces and function tags are removed."""
    for sentence in brackets.read(path):
        tree = sentence.tree.without_traces().without_functions()
        if PUNCTUATION.issuperset(tree.tags):
            continue
        tree = tree.without(PUNCTUATION)
        if 2 <= len(tree.words) <= LONGEST_SENTENCE:
            yield tree


def short_trees_of_tags(path: Path) -> Iterator[Tree]:
    """Yield the trees of `short_trees` with tags in place of words."""
    for tree in short_trees(path):
        yield Tree.build(tree.tags, tree.tags, tree.constituents)


def short_expressions(path: Path) -> Iterator[str]:
    """Yield the lines of a ListOps file whose expressions have at most 40 symbols."""
    for sentence in listops.read(path):
        if len(sentence) <= LONGEST_EXPRESSION:
            yield str(sentence).rstrip("\n")


EXTRACTS: Mapping[str, Callable[[Path], Iterable[object]]] = MappingProxyType(
    {
        "short trees": short_trees,
        "short trees of tags": short_trees_of_tags,
        "short expressions": short_expressions,
    }
)
"""The functions that extract parts of corpora, by their names in the files of tables."""


def _existing(path: Path) -> Path | None:
    """Return the path of a file or, if it does not exist, of its copy in gzip; None if neither exists."""
    compressed = path.with_name(f"{path.name}.gz")
    return next((one for one in (path, compressed) if one.exists()), None)


def _fetch(name: str, folder: Path, wait: Wait, watch: Watch) -> None:
    """Download an open corpus to the subfolder with its name; raise a `DataError` with advice if that fails."""
    place = folder / name
    try:
        obtain(CORPORA[name] if name in CORPORA else treebank(name), place, wait=wait, watch=watch)
    except (StruktError, OSError) as error:
        remedy = f"strukt data get {name} -o {place}, or give the parent folder of your copy with --data"
        raise DataError(f"the corpus {name} cannot be fetched ({error}); try: {remedy}") from error


def _write(path: Path, rows: Iterable[object]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(path) as stream:
        for row in rows:
            stream.write(f"{row}\n")
