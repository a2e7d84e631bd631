"""Shades and bars of block characters."""

from __future__ import annotations

from math import ceil

_SHADES, _EIGHTHS = " ░▒▓█", " ▏▎▍▌▋▊▉"


def shade(share: float) -> str:
    """A character that is the darker the larger a share is, from 0 to 1; only 0 is empty.

    Examples:
        >>> shade(0.0), shade(0.01), shade(0.5), shade(1.0)
        (' ', '░', '▒', '█')
    """
    return _SHADES[ceil(min(max(share, 0.0), 1.0) * 4)]


def bar(share: float, columns: int) -> str:
    """A bar that fills so many columns if the share is 1; it ends with an eighth of a column.

    Examples:
        >>> bar(0.5, 5), bar(1.0, 3), bar(0.0, 3)
        ('██▌', '███', '')
    """
    whole, eighths = divmod(round(min(max(share, 0.0), 1.0) * columns * 8), 8)
    return "█" * whole + _EIGHTHS[eighths].strip()
