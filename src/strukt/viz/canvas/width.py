"""How much room text takes in a terminal."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator

_NO_WIDTH = {"Mn", "Me", "Cf"}  # combining marks and format characters stand on the character before
_CONTROL = {"Cc", "Cs", "Zl", "Zp"}


def printable(text: str) -> str:
    r"""Text that cannot steer a terminal: control characters (an escape, a newline) become `�`.

    Examples:
        >>> printable("red\x1b[31m")
        'red�[31m'
    """
    return "".join("�" if unicodedata.category(character) in _CONTROL else character for character in text)


def clusters(text: str) -> Iterator[tuple[str, int]]:
    """The characters of a text with the marks that stand on them, and the columns that each takes.

    Examples:
        >>> list(clusters("a国"))
        [('a', 1), ('国', 2)]
    """
    cluster, columns = "", 0
    for character in printable(text):
        if unicodedata.category(character) in _NO_WIDTH:
            cluster += character
            continue
        if cluster:
            yield cluster, columns
        cluster, columns = character, 2 if unicodedata.east_asian_width(character) in "WF" else 1
    if cluster:
        yield cluster, columns


def display_width(text: str) -> int:
    r"""The columns that a text takes: two for East Asian wide characters, none for combining marks.

    Examples:
        >>> display_width("国境"), display_width("cafe\u0301"), display_width("")
        (4, 4, 0)
    """
    return sum(columns for _, columns in clusters(text))


def pad(text: str, columns: int) -> str:
    """The text, made printable, followed by spaces up to a number of columns.

    Examples:
        >>> pad("国", 4) + "|"
        '国  |'
    """
    return printable(text) + " " * (columns - display_width(text))


def pad_left(text: str, columns: int) -> str:
    """The text, made printable, after spaces up to a number of columns.

    Examples:
        >>> pad_left("国", 4)
        '  国'
    """
    return " " * (columns - display_width(text)) + printable(text)


def clip(text: str, columns: int) -> str:
    """As much of a text as fits, with `…` at its end where something is left out.

    Examples:
        >>> clip("Donaudampfschiff", 6), clip("Dogs", 6)
        ('Donau…', 'Dogs')
    """
    if display_width(text) <= columns:
        return text
    kept, room = "", columns - 1
    for cluster, taken in clusters(text):
        room -= taken
        if room < 0:
            break
        kept += cluster
    return f"{kept}…"
