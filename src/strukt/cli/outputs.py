"""Output files of commands: existing files are never overwritten silently."""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import stat
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import TextIO

from strukt.cli.console import UsageError, message
from strukt.cli.corpora import STANDARD_INPUT

STANDARD_OUTPUT = "-"

CARD = "README.md"
"""The model card: the only file in the folder of a model that a command may replace."""


HELP = "write to this file, atomically (- is standard output)"
"""The description of the option `--output`."""


def add_force(parser: argparse.ArgumentParser) -> None:
    """Add the option `--force`, which allows a command to replace existing files."""
    parser.add_argument("--force", action="store_true", help="replace an existing output file")


def add_required(parser: argparse.ArgumentParser, metavar: str) -> None:
    """Add the option `--output` of a command that writes nothing without it."""
    parser.add_argument("-o", "--output", metavar=metavar, required=True, help=HELP)


def require_free(
    path: str, inputs: Iterable[str], force: bool, models: Iterable[str] = (), endings: Sequence[str] = ()
) -> None:
    """Check that a command may write to a file, before anything is computed.

    Pipes and devices are always permitted.

    Args:
        path: The output file.
        inputs: Files that the command reads; `-` is standard input.
        force: Permit an existing file, unless the command reads it.
        models: Folders of the models that the command reads.
        endings: Permitted suffixes of the name; if empty, all are permitted.

    Raises:
        UsageError: If the output is a folder or standard output, has another suffix, is an input of the command,
            or exists while `force` is false.
    """
    if path == STANDARD_OUTPUT:
        raise UsageError("-: cannot write to standard output; give the name of a file")
    if os.path.isdir(path) or path.endswith(os.sep):
        raise UsageError(f"{path} is a folder; give a file")
    if endings and not path.lower().endswith(tuple(endings)) and not _is_stream(path):
        raise UsageError(f"{path} has another suffix; expected {' or '.join(endings)}")
    place = os.path.realpath(path)  # resolves `..` after a folder that does not exist yet
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
        raise UsageError(f"{path} exists already; add --force to replace it, or give another file")


def require_uncompressed(path: str) -> None:
    """Check that a file name does not have the suffix of gzip, because no command compresses its output.

    Raises:
        UsageError: If the name ends in `.gz`.
    """
    if path.endswith(".gz"):
        raise UsageError(f"{path}: the output is not compressed; remove .gz from the name")


def require_corpus(path: str | None, inputs: Sequence[str], force: bool, models: Iterable[str] = ()) -> None:
    """Check that a command may write sentences to a file or to standard output.

    Args:
        path: The output file; None or `-` for standard output.
        inputs: Corpora that the command reads; `-` is standard input.
        force: Permit an existing file, unless the command reads it.
        models: Folders of the models that the command reads.

    Raises:
        UsageError: If the output may not be written: see `require_free`, `require_uncompressed` and
            `require_no_loop`.
    """
    if path is None or path == STANDARD_OUTPUT:
        require_no_loop(inputs)
        return
    require_uncompressed(path)
    require_free(path, inputs, force, models)


@contextlib.contextmanager
def opened(path: str | None) -> Iterator[TextIO]:
    """Open a file to write it atomically, or standard output if the path is None or `-`."""
    if path is None or path == STANDARD_OUTPUT:
        if isinstance(sys.stdout, io.TextIOWrapper):  # unlike the output of a notebook
            sys.stdout.reconfigure(encoding="utf-8", newline="")
        yield sys.stdout
        return
    from strukt.data.files import atomic_write

    with atomic_write(path) as stream:
        yield stream


def name_of(path: str) -> str:
    """Return the name of an output file in messages."""
    return "standard output" if path == STANDARD_OUTPUT else path


def write(path: str, content: str) -> None:
    """Write a file atomically, and say so on standard error."""
    with opened(path) as stream:
        stream.write(content)
    message(f"wrote {path}")


def require_other_folder(path: str, models: Iterable[str]) -> None:
    """Check that an output folder is not the folder of a model.

    Raises:
        UsageError: If it is the folder of one of the models.
    """
    for folder in models:
        if os.path.realpath(path) == os.path.realpath(folder):
            raise UsageError(f"{path} is the folder of the model; give another folder")


def require_no_loop(inputs: Iterable[str]) -> None:
    """Check that standard output does not go to one of the inputs, as in `strukt predict MODEL FILE >> FILE`.

    Raises:
        UsageError: If standard output is one of the inputs.
    """
    with contextlib.suppress(OSError, ValueError, io.UnsupportedOperation):
        status = os.fstat(sys.stdout.fileno())
        if not stat.S_ISREG(status.st_mode):
            return
        for name in inputs:
            if _is_same(name, status):
                raise UsageError(f"{name} is both input and standard output; give another output")


def _role(name: str, path: str) -> str:
    """Describe the input `name`, which is the same file as the output `path`, for an error message."""
    if name == STANDARD_INPUT:
        return "both standard input and output"
    return "both input and output" if name == path else f"the input {name} by another name"


def _is_same(path: str, status: os.stat_result) -> bool:
    """Return True if a path leads to the file with this status; `-` is standard input."""
    with contextlib.suppress(OSError, ValueError, io.UnsupportedOperation):
        other = os.fstat(sys.stdin.fileno()) if path == STANDARD_INPUT else os.stat(path)
        return os.path.samestat(other, status)
    return False


def _is_stream(path: str) -> bool:
    """Return True if a path leads to something other than a regular file, such as a pipe or a device."""
    return os.path.exists(path) and not os.path.isfile(path)


def _files(folder: str) -> Iterator[str]:
    """Yield the files of a model, except its card."""
    for inside, _, names in os.walk(folder):
        yield from (os.path.join(inside, name) for name in names if name != CARD)
