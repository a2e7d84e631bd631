"""Numbers and sentences in pictures, and in their descriptions for screen readers."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence


def sentences(*parts: str) -> str:
    """Join texts, each with a full stop; empty ones are left out.

    Examples:
        >>> sentences("Dogs bark", "", "Tags: NOUN, VERB"), sentences("Why?")
        ('Dogs bark. Tags: NOUN, VERB.', 'Why?')
    """
    return " ".join(part if part.endswith((".", "!", "?")) else f"{part}." for part in parts if part)


def made_distinct(forms: Sequence[str]) -> list[str]:
    """Return the words, made distinct: repeated ones are followed by their position, counted from 1.

    Examples:
        >>> made_distinct(["the", "dog", "the"])
        ['the (1)', 'dog', 'the (3)']
    """
    counts = Counter(forms)
    return [f"{form} ({place})" if counts[form] > 1 else form for place, form in enumerate(forms, start=1)]


def with_number(text: str, probability: float | None) -> str:
    """Append a probability, if it is known, to a text in a description.

    Examples:
        >>> with_number("NOUN", 0.9), with_number("NOUN", None)
        ('NOUN 0.90', 'NOUN')
    """
    return text if probability is None else f"{text} {probability:.2f}"


def with_probability(text: str, probability: float | None) -> str:
    """Append a shortened probability, if it is known, to a text in a picture.

    Examples:
        >>> with_probability("det", 0.984), with_probability("det", None), with_probability("", 1.0)
        ('det .98', 'det', '1.0')
    """
    if probability is None:
        return text
    return f"{text} {shorten(probability)}".strip()


def shorten(probability: float) -> str:
    """Return a probability with two decimals and without its leading zero, as in papers; 1.0 from 0.995 on.

    Examples:
        >>> shorten(0.984), shorten(0.997), shorten(0.0)
        ('.98', '1.0', '.00')
    """
    digits = f"{probability:.2f}"
    return "1.0" if digits == "1.00" else digits.removeprefix("0")


def fixed(number: float, decimals: int) -> str:
    """Return a number rounded to `decimals` decimals; zero has no sign.

    Examples:
        >>> fixed(-1.234, 2), fixed(-0.001, 2), fixed(-0.0, 0)
        ('-1.23', '0.00', '0')
    """
    return f"{round(number, decimals) + 0.0:.{decimals}f}"


def two_digits(probability: float) -> str:
    """Return the probability of a whole structure, which may be tiny: two significant digits, one below 1e-4.

    Examples:
        >>> two_digits(0.984), two_digits(0.0123), two_digits(0.000012), two_digits(1e-310)
        ('.98', '.012', '1e-5', '<1e-300')
    """
    if probability >= 0.0995:
        return shorten(probability)
    if probability >= 1e-4:
        return f"{probability:.2g}".removeprefix("0")
    return re.sub("e-0?", "e-", f"{probability:.0e}") if probability >= 1e-300 else "<1e-300"
