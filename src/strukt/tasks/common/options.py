"""Options of configurations: type checks and dotted names."""

from __future__ import annotations

import dataclasses
import math
import types
from collections.abc import Mapping
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

ConfigT = TypeVar("ConfigT")

_NAMES = {int: "a whole number", float: "a number", bool: "true or false", str: "text", type(None): "null"}


def from_dict(kind: type[ConfigT], values: dict[str, Any]) -> ConfigT:
    """Build a configuration from the result of `dataclasses.asdict`.

    Args:
        kind: The dataclass to build.
        values: Its fields; missing ones have their default.

    Raises:
        ValueError: If a field is unknown, or a value has the wrong type.

    Examples:
        >>> from strukt.tasks.tag import Config
        >>> from_dict(Config, {"train": "a.conllu", "trainer": {"epochs": 3}}).trainer.epochs
        3
    """
    types_of = get_type_hints(kind)
    hints = {option.name: types_of[option.name] for option in dataclasses.fields(kind)}  # type: ignore[arg-type]
    if not isinstance(values, dict):
        raise ValueError(f"{kind.__name__}: expected options by their names, got {type(values).__name__}")
    unknown = values.keys() - hints.keys()
    if unknown:
        raise ValueError(
            f"{kind.__name__}: unknown option {sorted(unknown)[0]!r}; known are {', '.join(hints)}"
        )
    arguments = dict(values)
    for name, value in values.items():
        if dataclasses.is_dataclass(hints[name]):
            arguments[name] = from_dict(hints[name], value)
        else:
            require_type(name, hints[name], value)
    return kind(**arguments)


def flat(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Flatten nested options into one level, with the names of groups and options joined by dots.

    Examples:
        >>> flat({"train": "a.conllu", "trainer": {"epochs": 3}})
        {'train': 'a.conllu', 'trainer.epochs': 3}
    """
    result: dict[str, Any] = {}
    for name, value in values.items():
        result |= flat(value, f"{prefix}{name}.") if isinstance(value, dict) else {prefix + name: value}
    return result


def require_types(config: Any, prefix: str = "") -> None:
    """Check the types of all options, as `from_dict` does for a saved configuration.

    Args:
        config: A configuration, a dataclass.
        prefix: Start of the names of its options, for error messages.

    Raises:
        ValueError: If an option has another type, is none of its choices, or is not finite.

    Examples:
        >>> from strukt.tasks.tag import Config
        >>> require_types(Config(column="lemma"))
        Traceback (most recent call last):
        ValueError: column is 'lemma'; expected 'xpos', 'upos'
    """
    hints = get_type_hints(type(config))
    for option in dataclasses.fields(config):
        name, hint, value = prefix + option.name, hints[option.name], getattr(config, option.name)
        if isinstance(hint, type) and dataclasses.is_dataclass(hint):
            if not isinstance(value, hint):
                raise ValueError(f"{name} is of type {type(value).__name__}; expected {hint.__name__}")
            require_types(value, f"{name}.")
        else:
            require_type(name, hint, value)


def require_type(name: str, hint: Any, value: object) -> None:
    """Check that a value has the type of an option: a simple type, a choice, or a union of these.

    Args:
        name: Name of the option, for the error message.
        hint: Type of the option.
        value: The value, as read from JSON.

    Raises:
        ValueError: If the value has another type, or is not finite.

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
        return type(value) is int or (isinstance(value, float) and math.isfinite(value))
    return hint not in _NAMES or type(value) is hint


def _described(hint: Any) -> str:
    if get_origin(hint) is Literal:
        return ", ".join(map(repr, get_args(hint)))
    if get_origin(hint) in (Union, types.UnionType):
        return " or ".join(map(_described, get_args(hint)))
    return _NAMES[hint]
