"""Descriptions of open corpora: where they are published, under which licence, and the digests of their files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files as resources
from types import MappingProxyType
from typing import NamedTuple

from strukt.data.corpora.conversions import Conversion
from strukt.data.files.digests import Digest

RAW = "https://raw.githubusercontent.com"
"""The URL under which GitHub serves the files of every commit."""


@dataclass(frozen=True)
class File:
    """A file of a corpus.

    Attributes:
        address: The URL at which it is published.
        path: The path to write it to, in the folder of the corpus.
        expected: The `strukt.data.files.digests.Digest` (SHA-256 and size) of the file; None accepts any file.
        is_optional: Whether the corpus is complete without this file.

    Examples:
        >>> File("https://example.org/train.conllu", "train.conllu").is_optional
        False
    """

    address: str
    path: str
    expected: Digest | None = None
    is_optional: bool = False


@dataclass(frozen=True)
class Corpus:
    """An open corpus, at one version.

    Attributes:
        name: The name of the corpus for `strukt data get`.
        home: The page of its authors.
        version: The release or commit to which the addresses are pinned.
        licence: The licence; None if the README.md of the corpus states it.
        citation: The reference that its authors ask to be cited.
        files: The files to fetch.
        commands: The arguments of `strukt train` for each model that can be trained on the corpus, as one string;
            `{}` is replaced by the folder of the corpus.
        conversion: Converts the published files to files that the tasks read; None if they read the originals.

    Examples:
        >>> from strukt.data.corpora.open_corpora import CORPORA
        >>> wnut = CORPORA["wnut17"]
        >>> wnut.tasks, wnut.licence, wnut.size
        (['tag'], 'CC BY 4.0', 800955)
    """

    name: str
    home: str
    version: str
    licence: str | None
    citation: str
    files: tuple[File, ...]
    commands: tuple[str, ...]
    conversion: Conversion | None = field(default=None, repr=False)

    @property
    def size(self) -> int | None:
        """The number of bytes to fetch, without files of unknown size; None if no size is known."""
        known = [file.expected.size for file in self.files if file.expected is not None]
        return sum(size for size in known if size) or None

    @property
    def tasks(self) -> list[str]:
        """The tasks that learn from it."""
        return list(dict.fromkeys(command.split()[0] for command in self.commands))


@cache
def checksums() -> Mapping[str, Digest]:
    """Return the digests of known files: by address, or for converted files by corpus and name.

    Examples:
        >>> checksums()["sentence-polarity/dev.tsv"].size
        132134
    """
    digests = {}
    folder = ""
    known = resources("strukt.data.corpora").joinpath("checksums.txt")
    for line in known.read_text(encoding="utf-8").splitlines():
        if line.endswith("/"):
            folder = line
        elif not line.startswith("#"):
            sha256, size, name = line.split(" ")
            digests[folder + name] = Digest(sha256, None if size == "-" else int(size))
    return MappingProxyType(digests)


def published(address: str, path: str, *, is_optional: bool = False) -> File:
    """Return the file of a corpus, with its digest if that is known."""
    return File(address, path, checksums().get(address), is_optional)


class Snapshot(NamedTuple):
    """A repository on GitHub at one commit.

    Attributes:
        repository: Owner and name, such as `najoungkim/COGS`.
        commit: The hash of the commit.

    Examples:
        >>> Snapshot("najoungkim/COGS", "165a7b6").licence().address
        'https://raw.githubusercontent.com/najoungkim/COGS/165a7b6/LICENSE'
    """

    repository: str
    commit: str

    @property
    def root(self) -> str:
        """The URL of the root folder of the repository at this commit."""
        return f"{RAW}/{self.repository}/{self.commit}/"

    def licence(self, name: str = "LICENSE") -> File:
        """Return the licence file, which is optional because a repository may lack it."""
        return published(self.root + name, name, is_optional=True)

    def below(self, folder: str = "", to: str = "") -> tuple[File, ...]:
        """Return the files of a folder and its subfolders that have known digests, to be written to another one.

        Paths inside the folder stay the same.

        Args:
            folder: The folder in the repository, with a slash at the end; empty for the whole repository.
            to: The target folder, with a slash at the end; empty for the folder of the corpus.
        """
        root = self.root + folder
        known = (address for address in checksums() if address.startswith(root))
        return tuple(published(address, to + address.removeprefix(root)) for address in known)
