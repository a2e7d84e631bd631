"""Colours `#rrggbb`: their terminal codes, their luminance, and legible text on them."""

from __future__ import annotations


def channels(colour: str) -> tuple[int, int, int]:
    """Return red, green and blue of `#rrggbb`, from 0 to 255."""
    red, green, blue = bytes.fromhex(colour.removeprefix("#"))
    return red, green, blue


def terminal_code(colour: str) -> str:
    """Return the terminal code of the nearest colour of the 6 x 6 x 6 cube that nearly every terminal has.

    Examples:
        >>> terminal_code("#ff0000")
        '38;5;196'
    """
    levels = (0, 95, 135, 175, 215, 255)
    red, green, blue = (min(range(6), key=lambda i: abs(levels[i] - channel)) for channel in channels(colour))
    return f"38;5;{16 + 36 * red + 6 * green + blue}"


def luminance(colour: str) -> float:
    """Return the relative luminance of a colour in [0, 1], as defined by the WCAG, version 2."""
    shares = (channel / 255 for channel in channels(colour))
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in shares)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def ink_on(colour: str) -> str:
    """Return white or black, whichever is easier to read on a colour; the contrast is at least 4.5.

    Examples:
        >>> ink_on("#ffff00"), ink_on("#000080")
        ('#000000', '#ffffff')
    """
    on_black, on_white = luminance(colour) + 0.05, 1.05 / (luminance(colour) + 0.05)
    return "#000000" if on_black / 0.05 > on_white else "#ffffff"
