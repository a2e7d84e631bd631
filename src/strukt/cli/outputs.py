"""The files that commands write: nothing that was there before is lost unasked."""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import stat
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import TextIO

from strukt.cli.console import UsageError
from strukt.cli.corpora import STANDARD_INPUT

CARD = "README.md"
"""The file of a model that is written for people; no command reads it."""


def add_force(parser: argparse.ArgumentParser) -> None:
    """The option that allows a command to replace files."""
    parser.add_argument("--force", action="store_true", help="replace an output file that is there already")


def require_free(
    path: str, inputs: Iterable[str], force: bool, models: Iterable[str] = (), endings: Sequence[str] = ()
) -> None:
    """Looks whether a file may be written, before anything is computed.

    Pipes and devices may; they hold nothing.

    Args:
        path: The output.
        inputs: Files that the command reads; `-` is standard input.
        force: Whether a file that is there may be replaced. One that is read never is.
        models: Folders of the models that are used.
        endings: How the name of such a file ends; any if there are none.

    Raises:
        UsageError: The output is a folder, has another ending, is read by the command itself, or is there
            already and `force` is false.
    """
    if os.path.isdir(path) or path.endswith(os.sep):
        raise UsageError(f"{path} is a folder; give a file")
    if endings and not path.lower().endswith(tuple(endings)) and not _is_stream(path):
        raise UsageError(f"{path} does not end in {' or '.join(endings)}, which is what is written")
    place = os.path.realpath(path)  # a folder that is missing yet may have `..` behind it
    if not os.path.isfile(place):
        return
    status = os.stat(place)
    for name in inputs:
        if _is_same(name, status):
            raise UsageError(f"{path} is {_role(name, path)}; give another output")
    for folder in models:
        if any(_is_same(name, status) for name in _files(folder)):
            raise UsageError(f"{path} is a file of the model {folder}; give another output")
    if not force:
        raise UsageError(f"{path} is there already; add --force to replace it, or give another file")


def require_uncompressed(path: str) -> None:
    """Refuses a file whose name promises gzip, which no command writes.

    Raises:
        UsageError: It does.
    """
    if path.endswith(".gz"):
        raise UsageError(f"{path}: the output is not compressed; leave off .gz")


def require_corpus(path: str | None, inputs: Sequence[str], force: bool, model: str) -> None:
    """Refuses an output of sentences that would take the place of something else.

    Args:
        path: The file; None for standard output.
        inputs: Corpora that the command reads; `-` is standard input.
        force: Whether a file that is there may be replaced.
        model: The folder of the model that is used.

    Raises:
        UsageError: As `require_free`, `require_uncompressed` and `require_no_loop`.
    """
    if path is None:
        require_no_loop(inputs)
        return
    require_uncompressed(path)
    require_free(path, inputs, force, [model])


@contextlib.contextmanager
def opened(path: str | None) -> Iterator[TextIO]:
    """A stream for sentences: a file that appears whole or not at all, or standard output if there is no path."""
    if path is None:
        sys.stdout.reconfigure(encoding="utf-8", newline="")  # type: ignore[union-attr]
        yield sys.stdout
        return
    from strukt.data.files import atomic_write

    with atomic_write(path) as stream:
        yield stream


def require_other_folder(path: str, models: Iterable[str]) -> None:
    """Refuses an output folder that is the folder of a model.

    Raises:
        UsageError: It is one of these models.
    """
    for folder in models:
        if os.path.realpath(path) == os.path.realpath(folder):
            raise UsageError(f"{path} is the folder of the model; give another one")


def require_no_loop(inputs: Iterable[str]) -> None:
    """Refuses standard output that goes into one of the inputs, as in `strukt predict MODEL FILE >> FILE`.

    Raises:
        UsageError: It does.
    """
    with contextlib.suppress(OSError, ValueError, io.UnsupportedOperation):
        status = os.fstat(sys.stdout.fileno())
        if not stat.S_ISREG(status.st_mode):
            return
        for name in inputs:
            if _is_same(name, status):
                raise UsageError(f"{name} is both input and standard output; give another output")


def _role(name: str, path: str) -> str:
    """The part that an input plays which is the output as well."""
    if name == STANDARD_INPUT:
        return "both standard input and output"
    return "both input and output" if name == path else f"the input {name} by another name"


def _is_same(path: str, status: os.stat_result) -> bool:
    """Whether a file, whatever its name, is the one with this status."""
    with contextlib.suppress(OSError, ValueError, io.UnsupportedOperation):
        found = os.fstat(sys.stdin.fileno()) if path == STANDARD_INPUT else os.stat(path)
        return os.path.samestat(found, status)
    return False


def _is_stream(path: str) -> bool:
    return os.path.exists(path) and not os.path.isfile(path)


def _files(folder: str) -> Iterator[str]:
    """The files of a model, without its card."""
    for inside, _, names in os.walk(folder):
        yield from (os.path.join(inside, name) for name in names if name != CARD)
