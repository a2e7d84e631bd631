"""Obtaining a corpus: download, verify, convert, and record the licence; existing files are kept."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import date
from pathlib import Path
from typing import Any

from strukt.data.corpora.download import NotThereError, Progress, Wait, fetch, pause, silent
from strukt.data.corpora.sources import Corpus, File, checksums
from strukt.data.files import atomic_write
from strukt.data.files.digests import Digest, digest, explained
from strukt.errors import DataError

RECORD = "SOURCE.json"
"""The name of the file in a corpus folder that records name, version, licence, citation, addresses and digests."""

_LICENCE = re.compile(r"^License:[ \t]*(\S.*)", re.MULTILINE)  # as in Universal Dependencies

Watch = Callable[[str], Progress]
"""Called before a file is fetched, with its path in the corpus folder; returns the `Progress` for its bytes."""


def unwatched(name: str) -> Progress:  # noqa: ARG001
    """Return the `Progress` that does nothing: the default `Watch`."""
    return silent


def obtain(
    corpus: Corpus, folder: str | os.PathLike[str], *, wait: Wait = pause, watch: Watch = unwatched
) -> dict[str, Any]:
    r"""Fetch the missing files of a corpus, and convert them if necessary.

    Existing downloads are never overwritten, and cause no network access. If a converted file is missing, all of
    them are written again. A file whose digest is not known to strukt is accepted the first time; from then on it
    must not change.

    Args:
        corpus: The corpus.
        folder: The target folder; created if necessary. If it is not empty, it must hold an earlier download of
            the same corpus at the same version.
        wait: Called before each further attempt to fetch a file; by default it sleeps, see `download.fetch`.
        watch: Called for each missing file; by default, no progress is shown.

    Returns:
        The content of the folder's `SOURCE.json`.

    Raises:
        DataError: If the folder holds something else, cannot be written or locked, or is in use by another
            process; if a file has another digest, or cannot be read or converted; or if `download.fetch` raises
            it, except for an optional file that the server does not have.

    Examples:
        >>> from pathlib import Path
        >>> from strukt.data.corpora.sources import Corpus
        >>> from tempfile import TemporaryDirectory
        >>> def conversion(folder):  # of published files; here there are none
        ...     yield "train.txt", ["Dogs bark"]
        >>> corpus = Corpus("dogs", "https://example.org", "1.0", "CC0 1.0", "", (), ("lm",), conversion)
        >>> with TemporaryDirectory() as folder:
        ...     record = obtain(corpus, folder)
        ...     record["licence"], sorted(path.name for path in Path(folder).iterdir())
        ('CC0 1.0', ['SOURCE.json', 'train.txt'])
    """
    folder = Path(folder)
    with _locked(folder):
        record = _Record(corpus, folder)
        try:
            for file in corpus.files:
                _fetch(file, folder, record, wait, watch)
        finally:
            record.write()
        if corpus.licence is None:
            record.content["licence"] = _licence(folder / "README.md")
        if corpus.conversion is not None and not record.are_made():
            record.content["made"] = {
                name: _noted(_written(folder / name, rows, checksums().get(f"{corpus.name}/{name}")))
                for name, rows in corpus.conversion(folder)
            }
        record.write()
    return record.content


class _Record:
    """The content of `SOURCE.json`, which is written only if it has changed."""

    def __init__(self, corpus: Corpus, folder: Path) -> None:
        self._folder = folder
        self._written = ""
        self.content: dict[str, Any] = {
            "name": corpus.name,
            "version": corpus.version,
            "licence": corpus.licence,
            "home": corpus.home,
            "citation": corpus.citation,
            "fetched": None,
            "files": {},
            "made": {},
        }
        if (folder / RECORD).exists():
            self._read()
        else:
            if any(folder.iterdir()):
                raise DataError(f"is not empty, and has no {RECORD}; give another folder", folder)
            self.write()

    def expected(self, file: File) -> Digest | None:
        """Return the digest that a file must have: the published one, or that of its first download."""
        note = self.content["files"].get(file.path)
        return file.expected or (_digest(note) if note else None)

    def is_absent(self, file: File) -> bool:
        """Return True if it is known that the publisher does not have this optional file."""
        return self.content["files"].get(file.path, "unknown") is None

    def note(self, file: File, fetched: Digest | None) -> None:
        """Record the digest of a fetched file, or None if the publisher does not have the file."""
        self.content["files"][file.path] = fetched and {"address": file.address, **_noted(fetched)}
        self.content["fetched"] = date.today().isoformat()

    def are_made(self) -> bool:
        """Return True if all converted files exist; raise `DataError` if one of them was changed."""
        made = self.content["made"]
        there = {name: self._folder / name for name in made if (self._folder / name).exists()}
        for name, path in there.items():
            if (actual := digest(path)) != (expected := _digest(made[name])):
                raise DataError(f"has {actual}; expected {expected}; move it away to convert it again", path)
        return bool(made) and len(there) == len(made)

    def write(self) -> None:
        """Write the record if it has changed; for a complete corpus it has not, so its folder may be read-only."""
        text = json.dumps(self.content, indent=2, ensure_ascii=False) + "\n"
        if text != self._written:
            with atomic_write(self._folder / RECORD) as stream:
                stream.write(text)
            self._written = text

    def _read(self) -> None:
        """Read the record of an earlier download; raise `DataError` if it is of another corpus or version."""
        path = self._folder / RECORD
        try:
            with explained(path, "read"):
                text = path.read_text(encoding="utf-8")
            content = json.loads(text)
            is_same = all(content[key] == self.content[key] for key in ("name", "version"))
            for note in filter(None, [*content["files"].values(), *content["made"].values()]):
                _digest(note)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise DataError("is not the record of a corpus; give another folder", path) from error
        if not is_same:
            held = f"the folder holds {content['name']}, {content['version']}"
            requested = f"{self.content['name']}, {self.content['version']}"
            raise DataError(f"{held}; give another one for {requested}", path)
        self.content |= {key: content[key] for key in ("licence", "fetched", "files", "made")}
        self._written = text


def _fetch(file: File, folder: Path, record: _Record, wait: Wait, watch: Watch) -> None:
    """Fetch a file if it does not exist, and record its digest, or that the publisher does not have it."""
    if record.is_absent(file):
        return
    path = folder / file.path
    is_there = path.exists()
    with explained(path.parent, "written"):
        path.parent.mkdir(parents=True, exist_ok=True)
    progress = silent if is_there else watch(file.path)
    try:
        fetched = fetch(file.address, path, record.expected(file), wait=wait, progress=progress)
    except NotThereError as error:
        if not file.is_optional:
            raise DataError(f"{error.message}; check the name and the version", error.path) from error
        record.note(file, None)
    else:
        if not is_there or file.path not in record.content["files"]:
            record.note(file, fetched)


def _written(path: Path, rows: Iterable[str], expected: Digest | None) -> Digest:
    """Write the lines of a converted file; return its digest. Raise `DataError` if another digest is expected."""
    state = hashlib.sha256()
    size = 0
    with atomic_write(path) as stream:
        for row in rows:
            line = row + "\n"
            stream.write(line)
            content = line.encode()
            state.update(content)
            size += len(content)
        actual = Digest(state.hexdigest(), size)
        if expected not in (None, actual):
            message = f"would have {actual}; expected {expected}: its sources differ from the published ones"
            raise DataError(f"{message}; delete the folder, and fetch the corpus again", path)
    return actual


def _noted(fetched: Digest) -> dict[str, Any]:
    """Return a digest as JSON for the record; `_digest` undoes this."""
    return {"sha256": fetched.sha256, "bytes": fetched.size}


def _digest(note: Mapping[str, Any]) -> Digest:
    return Digest(note["sha256"], note["bytes"])


def _licence(path: Path) -> str:
    """Return the licence that a README in the form of Universal Dependencies states."""
    with explained(path, "read"):
        match = _LICENCE.search(path.read_text(encoding="utf-8", errors="replace"))
    return match[1].rstrip() if match else f"not stated in {path.name}"


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Create the folder, and lock out other processes while the context lasts; the lock leaves no file."""
    with explained(folder, "written"):
        folder.mkdir(parents=True, exist_ok=True)
        handle = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise DataError("another process is fetching into this folder; wait for it", folder) from error
        except OSError as error:  # some network file systems have no locks
            reason = f"cannot be locked ({error.strerror}); choose a folder on a local disk"
            raise DataError(reason, folder) from error
        yield
    finally:
        os.close(handle)
