"""What a person at a terminal reads: messages, suggestions, colour. Nothing here imports anything slow."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable
from typing import TextIO

from strukt.errors import StruktError
from strukt.viz.canvas.width import printable

LONGEST_MESSAGE = 2000
"""Characters of an error or warning; more of what was given than that helps nobody."""


MANY = 30
"""So many names that one of them is always somewhat like what was given, and that nobody reads them in a line."""


class UsageError(StruktError):
    """The command line cannot be understood."""


def message(text: str) -> None:
    """Tells the person something, on standard error; results go to standard output with `print`."""
    print(text, file=sys.stderr, flush=True)


def error(text: str) -> None:
    """Says in one line why the command ends."""
    message(f"{_coloured('error:', '31', sys.stderr)} {_one_line(text)}")


def warning(text: str) -> None:
    """Says in one line what the person should know, though the command goes on."""
    message(f"{_coloured('warning:', '33', sys.stderr)} {_one_line(text)}")


def shown(text: str, stream: TextIO) -> str:
    """Text of a file as a stream may have it: to the byte, but without what steers a terminal if it is one."""
    if not stream.isatty():
        return text
    return re.sub(r"[^\t\n]+", lambda found: printable(found[0]), text)


def choose(given: str, known: Iterable[str], kind: str) -> str:
    """Gives `given` back if it is known.

    Raises:
        UsageError: It is not known; the message names the nearest that is.

    Examples:
        >>> choose("tag", ["tag", "dependency"], "task")
        'tag'
        >>> choose("tga", ["tag", "dependency"], "task")
        Traceback (most recent call last):
        strukt.cli.console.UsageError: unknown task 'tga'; did you mean 'tag'?
    """
    names = list(known)
    if given in names:
        return given
    raise UsageError(f"unknown {kind} {given!r}; {suggestion(given, names)}")


def suggestion(given: str, known: list[str]) -> str:
    """The nearest of the known names as a question; all of them if none is near.

    Examples:
        >>> suggestion("--jsno", ["--json", "--format"])
        "did you mean '--json'?"
    """
    from difflib import get_close_matches

    from strukt.cli.guesses import meant

    if given.startswith("--") and (same := meant(given, known)):
        return f"did you mean {same!r}?"
    if len(known) < MANY:
        near = get_close_matches(given, known, n=1, cutoff=0.5)
    else:
        last = {option.rpartition(".")[2].lstrip("-"): option for option in reversed(known)}
        near = [last[name] for name in get_close_matches(given.rpartition(".")[2].lstrip("-"), last, n=1)]
    if near:
        return f"did you mean {near[0]!r}?"
    return f"known are: {', '.join(known)}" if len(known) < MANY else "nothing here has a name like it"


def use_colour(stream: TextIO) -> bool:
    """Whether a stream is a terminal that shows colours and whose owner wants them (see no-color.org)."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def _coloured(text: str, code: str, stream: TextIO) -> str:
    return f"\x1b[{code}m{text}\x1b[0m" if use_colour(stream) else text


def _one_line(text: str) -> str:
    line = printable(" ".join(text.split()))
    return line if len(line) <= LONGEST_MESSAGE else f"{line[:LONGEST_MESSAGE]} ..."
