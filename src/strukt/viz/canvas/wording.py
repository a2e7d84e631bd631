"""How pictures are told in words to those who do not see them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence


def sentences(*parts: str) -> str:
    """Parts one after the other, each with a full stop behind it; empty ones are left out.

    Examples:
        >>> sentences("Dogs bark", "", "Tags: NOUN, VERB"), sentences("Why?")
        ('Dogs bark. Tags: NOUN, VERB.', 'Why?')
    """
    return " ".join(part if part.endswith((".", "!", "?")) else f"{part}." for part in parts if part)


def told_apart(forms: Sequence[str]) -> list[str]:
    """The words, with their place, counted from 1, behind those that there are several of.

    Examples:
        >>> told_apart(["the", "dog", "the"])
        ['the (1)', 'dog', 'the (3)']
    """
    counts = Counter(forms)
    return [f"{form} ({place})" if counts[form] > 1 else form for place, form in enumerate(forms, start=1)]


def with_number(text: str, probability: float | None) -> str:
    """A text, and its probability where that is known.

    Examples:
        >>> with_number("NOUN", 0.9), with_number("NOUN", None)
        ('NOUN 0.90', 'NOUN')
    """
    return text if probability is None else f"{text} {probability:.2f}"
