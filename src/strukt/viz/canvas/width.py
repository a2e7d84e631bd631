"""The width of text in the columns of a terminal."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence

_NO_WIDTH = {"Mn", "Me", "Cf"}  # combining marks and format characters belong to the previous character
_CONTROL = {"Cc", "Cs", "Zl", "Zp"}
_NOT_IN_XML = "\ufffe\uffff"


def printable(text: str) -> str:
    r"""Replace control characters such as escapes and newlines by `�`, so that text cannot control a terminal.

    The two characters that XML forbids elsewhere are replaced, too, so that SVG stays well-formed.

    Examples:
        >>> printable("red\x1b[31m")
        'red�[31m'
    """
    return "".join("�" if _is_forbidden(character) else character for character in text)


def _is_forbidden(character: str) -> bool:
    return unicodedata.category(character) in _CONTROL or character in _NOT_IN_XML


def clusters(text: str) -> Iterator[tuple[str, int]]:
    """Yield the characters of a text, with their combining marks, and the number of columns of each.

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
    r"""Return the number of columns of a text: two for East Asian wide characters, none for combining marks.

    Examples:
        >>> display_width("国境"), display_width("cafe\u0301"), display_width("")
        (4, 4, 0)
    """
    return sum(columns for _, columns in clusters(text))


def pad(text: str, columns: int) -> str:
    """Make a text printable and append spaces up to a number of columns.

    Examples:
        >>> pad("国", 4) + "|"
        '国  |'
    """
    return printable(text) + " " * (columns - display_width(text))


def pad_left(text: str, columns: int) -> str:
    """Make a text printable and prepend spaces up to a number of columns.

    Examples:
        >>> pad_left("国", 4)
        '  国'
    """
    return " " * (columns - display_width(text)) + printable(text)


def clip(text: str, columns: int) -> str:
    """Return as much of a text as fits, with `…` at its end if it is cut.

    Examples:
        >>> clip("Donaudampfschiff", 6), clip("Dogs", 6)
        ('Donau…', 'Dogs')
    """
    if display_width(text) <= columns:
        return text
    kept, remaining = "", columns - 1
    for cluster, taken in clusters(text):
        remaining -= taken
        if remaining < 0:
            break
        kept += cluster
    return f"{kept}…"


def folded(columns: Sequence[int], width: int) -> list[list[int]]:
    """Distribute entries over lines, two columns apart: as many as fit in each, and at least one.

    Args:
        columns: The number of columns of each entry.
        width: The number of columns of a line.

    Returns:
        The indices of the entries of each line.

    Examples:
        >>> folded([3, 4, 5], 9)
        [[0, 1], [2]]
    """
    lines: list[list[int]] = []
    used = 0
    for entry, needed in enumerate(columns):
        if not lines or used + 2 + needed > width:
            lines.append([])
            used = -2
        lines[-1].append(entry)
        used += 2 + needed
    return lines
