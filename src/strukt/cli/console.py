"""Output on a terminal: messages, suggestions, colours. This module imports nothing slow."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable
from typing import TextIO

from strukt.errors import StruktError
from strukt.viz.canvas.width import printable

LONGEST_MESSAGE = 2000
"""Maximum number of characters of an error or warning."""

MANY = 30
"""With at least this many known names, messages list none, and compare only the last parts of dotted names."""


class UsageError(StruktError):
    """The command line is invalid."""


def message(text: str) -> None:
    """Print a message to standard error; results are printed to standard output."""
    print(text, file=sys.stderr, flush=True)


def error(text: str) -> None:
    """Print the reason why the command fails, in one line."""
    message(f"{_coloured('error:', '31', sys.stderr)} {_one_line(text)}")


def warning(text: str) -> None:
    """Print a warning in one line."""
    message(f"{_coloured('warning:', '33', sys.stderr)} {_one_line(text)}")


def shown(text: str, stream: TextIO) -> str:
    """Return a text to print; if the stream is a terminal, replace control characters."""
    if not stream.isatty():
        return text
    return re.sub(r"[^\t\n]+", lambda match: printable(match[0]), text)


def choose(name: str, known: Iterable[str], kind: str) -> str:
    """Return a name, after checking that it is known.

    Raises:
        UsageError: If it is unknown; the message suggests the nearest known name.

    Examples:
        >>> choose("tag", ["tag", "dependency"], "task")
        'tag'
        >>> choose("tga", ["tag", "dependency"], "task")
        Traceback (most recent call last):
        strukt.cli.console.UsageError: unknown task 'tga'; did you mean 'tag'?
    """
    names = list(known)
    if name in names:
        return name
    raise UsageError(f"unknown {kind} {name!r}; {suggestion(name, names)}")


def suggestion(name: str, known: list[str]) -> str:
    """Suggest the nearest known name, as a question; if none is near, list all known names if they are few.

    Examples:
        >>> suggestion("--jsno", ["--json", "--format"])
        "did you mean '--json'?"
    """
    from difflib import get_close_matches

    from strukt.cli.guesses import meant

    if name.startswith("--") and (same := meant(name, known)):
        return f"did you mean {same!r}?"
    if len(known) < MANY:
        near = get_close_matches(name, known, n=1, cutoff=0.5)
    else:
        last = {option.rpartition(".")[2].lstrip("-"): option for option in reversed(known)}
        near = [last[each] for each in get_close_matches(name.rpartition(".")[2].lstrip("-"), last, n=1)]
    if near:
        return f"did you mean {near[0]!r}?"
    return f"known are: {', '.join(known)}" if len(known) < MANY else "no option has a similar name"


def use_colour(stream: TextIO) -> bool:
    """Return True if a stream is a terminal with colours that are not disabled (see https://no-color.org)."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def _coloured(text: str, code: str, stream: TextIO) -> str:
    return f"\x1b[{code}m{text}\x1b[0m" if use_colour(stream) else text


def _one_line(text: str) -> str:
    """Return a text on one line, without control characters, cut off after `LONGEST_MESSAGE` characters."""
    line = printable(" ".join(text.split()))
    return line if len(line) <= LONGEST_MESSAGE else f"{line[:LONGEST_MESSAGE]} ..."
