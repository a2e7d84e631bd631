"""Characters that belong to the character before them, such as accents; tokenisers keep both together."""

from __future__ import annotations

import re
import unicodedata

_KINDS = {"Mn", "Mc", "Me", "Cf"}  # combining marks, and format characters such as joiners and directions
_JOINER = "\u200d"  # attaches the next character, too
_SPACE = "\u200b"  # a format character that separates words
_SKIN_TONES = "🏻🏼🏽🏾🏿"
_MARK = "\u0301"

ATTACHED = f"[{_MARK}{_JOINER}]*"
"""A regular expression for attached characters, in a pattern for `all_matches`."""

JOINED = rf"\S{ATTACHED}(?:(?<={_JOINER})\S{ATTACHED})*"
"""A regular expression for one character with all that is attached to it, in a pattern for `all_matches`."""


def all_matches(pattern: re.Pattern[str], text: str) -> list[str]:
    r"""Return all matches of a pattern; takes O(n) time for n characters, in addition to the search.

    Args:
        pattern: A pattern without groups that capture text; it contains `ATTACHED` wherever a character may have
            others attached.
        text: Any text. In the search, all attached characters but the joiner look alike.

    Examples:
        >>> words = all_matches(re.compile(rf"(?:\w{ATTACHED})+|{JOINED}"), "हिन्दी, cafe\u0301")
        >>> [len(word) for word in words]
        [6, 1, 5]
    """
    if text.isascii():
        return pattern.findall(text)
    shape = "".join(_MARK if _is_attached(character) else character for character in text)
    return [text[slice(*match.span())] for match in pattern.finditer(shape)]


def _is_attached(character: str) -> bool:
    if character in (_JOINER, _SPACE):
        return False
    return unicodedata.category(character) in _KINDS or character in _SKIN_TONES
