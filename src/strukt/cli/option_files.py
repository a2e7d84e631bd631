"""Files of options: what is no small, plain text of a few levels is refused before the YAML loader sees it."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import jsonargparse
import yaml

from strukt.cli.console import UsageError

LARGEST = 1_000_000
"""Bytes of a file; that of `--print_config` has some thousand."""

DEEPEST = 20
"""Levels of lists and mappings within each other; the options have three."""

TOO_DEEP = f"lists or mappings are nested more than {DEEPEST} deep; options are not"

MOST_PARTS = 10_000
"""Keys and values, those counted again that an alias repeats."""

MODE = "strukt"
"""The name of this loader for jsonargparse."""

_STARTS = (yaml.MappingStartEvent, yaml.SequenceStartEvent)
_ENDS = (yaml.MappingEndEvent, yaml.SequenceEndEvent)
_PARTS = (*_STARTS, yaml.ScalarEvent, yaml.AliasEvent)


class OptionsError(ValueError):
    """A text is no options, in one line."""


def load(text: str) -> Any:
    """Reads YAML or JSON.

    Args:
        text: Of a file, or the value of an option.

    Raises:
        YAMLError: It is neither.
        OptionsError: It is larger, deeper or more repetitive than options are.

    Examples:
        >>> load("encoder: {layers: 1}")
        {'encoder': {'layers': 1}}
        >>> load("x: &x {y: *x}")
        Traceback (most recent call last):
        strukt.cli.option_files.OptionsError: the alias *x stands inside what it repeats; write out the value
    """
    if len(text) > LARGEST:
        raise OptionsError(f"there are more than {LARGEST:,} characters; options are a few lines")
    _require_small(text)
    try:
        return jsonargparse.get_loader("yaml")(text)
    except ValueError as error:  # such as an integer of more digits than Python reads
        raise OptionsError(str(error)) from None


def _require_small(text: str) -> None:
    """Goes through the parts of a text without recursion, before the loader builds them with it."""
    sizes: dict[str, int] = {}
    keys: list[_Keys] = []
    starts: list[tuple[str | None, int]] = []
    count = 0
    for event in yaml.parse(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
        before = count
        if isinstance(event, (*_PARTS, *_ENDS)):
            _require_new_key(event, keys)
        count += isinstance(event, _PARTS)
        if isinstance(event, yaml.AliasEvent):
            if event.anchor in (anchor for anchor, _ in starts):
                message = f"the alias *{event.anchor} stands inside what it repeats; write out the value"
                raise OptionsError(message)
            count += sizes.get(event.anchor, 0)
        elif isinstance(event, _STARTS):
            starts.append((event.anchor, before))
        elif isinstance(event, _ENDS):
            anchor, before = starts.pop()
            sizes[anchor or ""] = count - before
        elif isinstance(event, yaml.ScalarEvent):
            sizes[event.anchor or ""] = 1
            require_shallow(event.value)
        if len(starts) > DEEPEST:
            raise OptionsError(TOO_DEEP)
        if count > MOST_PARTS:
            raise OptionsError(f"there are more than {MOST_PARTS:,} values, aliases written out")


def require_shallow(text: str) -> None:
    """Looks at the brackets of a value, which the parser of options reads as YAML by itself, with recursion.

    Raises:
        OptionsError: More are open than options need.

    Examples:
        >>> require_shallow("[1, 2]")
        >>> require_shallow("[" * 100)
        Traceback (most recent call last):
        strukt.cli.option_files.OptionsError: lists or mappings are nested more than 20 deep; options are not
    """
    depth = 0
    for bracket in re.findall(r"[\[\]{}]", text):
        depth += 1 if bracket in "[{" else -1
        if depth > DEEPEST:
            raise OptionsError(TOO_DEEP)


@dataclass
class _Keys:
    """The keys of a mapping so far, and whether the next part is one; a list has none."""

    of_mapping: bool
    seen: set[str] = field(default_factory=set)
    next_is_key: bool = True


def _require_new_key(event: yaml.Event, keys: list[_Keys]) -> None:
    """Follow the mappings that a part stands in, and look whether it is a key that was there already."""
    if isinstance(event, _ENDS):
        keys.pop()
        return
    if keys and keys[-1].of_mapping:
        around = keys[-1]
        if around.next_is_key and isinstance(event, yaml.ScalarEvent):
            if event.value in around.seen:
                raise OptionsError(f"{event.value!r} stands there twice; keep one")
            around.seen.add(event.value)
        around.next_is_key = not around.next_is_key
    if isinstance(event, _STARTS):
        keys.append(_Keys(isinstance(event, yaml.MappingStartEvent)))


def require_text(path: str | os.PathLike[str]) -> None:
    """Looks whether a file can be one of options, if there is one.

    Raises:
        UsageError: It is no regular file, too large, or not UTF-8 text.
    """
    name = os.fspath(path)
    try:
        status = os.stat(name)
        if not stat.S_ISREG(status.st_mode):
            raise UsageError(f"{name}: is no file of options; give a regular file")
        if status.st_size > LARGEST:
            raise UsageError(f"{name}: has more than {LARGEST:,} bytes; a file of options has a few lines")
        with open(name, "rb") as stream:
            stream.read().decode("utf-8")
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        message = (
            f"byte 0x{error.object[error.start]:02x} is not UTF-8; convert the file, for example with iconv"
        )
        raise UsageError(f"{name}:{line}: {message}") from None
    except (OSError, ValueError):
        return  # the parser says what is missing


def require_sections(path: str | os.PathLike[str], groups: Collection[str]) -> None:
    """Looks whether a file holds options in sections, where it can be read at all.

    Args:
        path: The file.
        groups: The sections, with dots for those within others.

    Raises:
        UsageError: It is no text, it holds something else, such as a section that is no mapping.
    """
    require_text(path)
    text = ""
    try:
        with open(path, encoding="utf-8") as stream:
            text = stream.read()
        given = load(text)
    except OptionsError as error:
        raise UsageError(f"{path}: {error}") from None
    except yaml.MarkedYAMLError as error:
        mark, last = error.problem_mark, len(text.splitlines())
        line = last if mark is None else min(mark.line + 1, last)  # the end of the text is behind the last line
        raise UsageError(f"{path}:{line}: is no YAML: {error.problem}") from None
    except (OSError, ValueError, yaml.YAMLError):
        return  # the parser says what is wrong
    if not isinstance(given, dict):
        raise UsageError(f"{path}: holds no options; expected lines such as trainer: {{epochs: 3}}")
    for name, kind, expected in _OWN:
        if name in given and not isinstance(given[name], kind):
            raise UsageError(f"{path}: {name} is {given[name]!r}; expected {expected}")
    _require_mappings(path, given, groups, "")


def _require_mappings(
    path: str | os.PathLike[str], given: Mapping[Any, Any], groups: Collection[str], prefix: str
) -> None:
    for key, value in given.items():
        name = f"{prefix}{key}"
        if name not in groups or isinstance(value, str):  # a file of the section's own
            continue
        if not isinstance(value, dict):
            raise UsageError(f"{path}: {name} is {value!r}; expected its options, as in {name}: {{...}}")
        _require_mappings(path, value, groups, f"{name}.")


_OWN = (
    ("output", str, "the name of a folder"),
    ("resume", bool, "true or false"),
    ("config", str, "the name of a file"),
)
"""Options beside those of the task."""


def require_shallow_values(arguments: Sequence[str]) -> None:
    """Looks at the values of a command line.

    Raises:
        UsageError: The parser cannot read one; it names the option.
    """
    option = ""
    for argument in arguments:
        option = argument.partition("=")[0] if argument.startswith("-") else option
        try:
            require_shallow(argument)
        except OptionsError as error:
            raise UsageError(f"{option}: {error}" if option else str(error)) from None


def named(arguments: Sequence[str], options: Sequence[str]) -> list[str]:
    """The values of options that may be files.

    Args:
        arguments: The command line.
        options: Names of such options, with their dashes.

    Examples:
        >>> named(["--config", "a.yaml", "--x=1", "--encoder=b.yaml"], ["--config", "--encoder"])
        ['a.yaml', 'b.yaml']
    """
    found = []
    for argument, after in zip(arguments, [*arguments[1:], ""], strict=False):
        name, equals, value = argument.partition("=")
        if name in options:
            found.append(value if equals else after)
    return found


jsonargparse.set_loader(MODE, load, exceptions=(yaml.YAMLError, OptionsError))
