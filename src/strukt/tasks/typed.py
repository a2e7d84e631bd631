"""Whether values read from a file have the types that a configuration states."""

from __future__ import annotations

import math
import types
from typing import Any, Literal, Union, get_args, get_origin

_NAMES = {int: "a whole number", float: "a number", bool: "true or false", str: "text", type(None): "null"}


def require_type(name: str, hint: Any, value: object) -> None:
    """Compares a value with the type of an option: a simple one, a choice, or several of them.

    Args:
        name: Of the option, for the message.
        hint: Its type.
        value: As JSON has it.

    Raises:
        ValueError: It is of another type, or not finite.

    Examples:
        >>> require_type("layers", int, 2)
        >>> require_type("layers", int, True)
        Traceback (most recent call last):
        ValueError: layers is True; expected a whole number
    """
    if not _fits(hint, value):
        shown = repr(value)
        shown = shown if len(shown) <= 60 else f"{shown[:60]}..."
        raise ValueError(f"{name} is {shown}; expected {_described(hint)}")


def _fits(hint: Any, value: object) -> bool:
    if get_origin(hint) is Literal:
        return any(type(value) is type(choice) and value == choice for choice in get_args(hint))
    if get_origin(hint) in (Union, types.UnionType):
        return any(_fits(one, value) for one in get_args(hint))
    if hint is float:
        return type(value) is int or (type(value) is float and math.isfinite(value))
    return hint not in _NAMES or type(value) is hint


def _described(hint: Any) -> str:
    if get_origin(hint) is Literal:
        return ", ".join(map(repr, get_args(hint)))
    if get_origin(hint) in (Union, types.UnionType):
        return " or ".join(map(_described, get_args(hint)))
    return _NAMES[hint]
