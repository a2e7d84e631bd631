"""Files of options: reject large, binary or deeply nested files before the YAML loader reads them."""

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
from strukt.cli.option_dumper import dump

LARGEST = 1_000_000
"""Maximum size of a file in bytes; the output of `--print_config` has a few thousand."""

DEEPEST = 20
"""Maximum nesting depth of lists and mappings; options have a depth of three."""

TOO_DEEP = f"lists or mappings are nested more than {DEEPEST} deep; options are not"

MOST_PARTS = 10_000
"""Maximum number of keys and values; a value counts again for each alias that repeats it."""

MODE = "strukt"
"""The name under which jsonargparse knows its loader and dumper."""

_STARTS = (yaml.MappingStartEvent, yaml.SequenceStartEvent)
_ENDS = (yaml.MappingEndEvent, yaml.SequenceEndEvent)
_PARTS = (*_STARTS, yaml.ScalarEvent, yaml.AliasEvent)


class OptionsError(ValueError):
    """A text cannot hold options; the message is one line."""


def load(text: str) -> Any:
    """Parse YAML or JSON.

    Args:
        text: The text of a file, or the value of an option.

    Raises:
        YAMLError: If the text is neither YAML nor JSON.
        OptionsError: If the text is too large, is nested too deeply, or has a repeated key, a cyclic alias or a
            number with more digits than Python reads.

    Examples:
        >>> load("encoder: {layers: 1}")
        {'encoder': {'layers': 1}}
        >>> load("x: &x {y: *x}")
        Traceback (most recent call last):
        strukt.cli.option_files.OptionsError: the alias *x refers to a value that contains it; write out the value
    """
    if len(text) > LARGEST:
        raise OptionsError(f"there are more than {LARGEST:,} characters; options are a few lines")
    _require_small(text)
    try:
        return jsonargparse.get_loader("yaml")(text)
    except ValueError as error:  # such as an integer of more digits than Python reads
        raise OptionsError(str(error)) from None


def _require_small(text: str) -> None:
    """Check size, depth, keys and aliases of a text without recursion, before the recursive loader parses it."""
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
                message = f"the alias *{event.anchor} refers to a value that contains it; write out the value"
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
    """Check the depth of a value by its brackets, because the parser of options is recursive.

    Raises:
        OptionsError: If more than `DEEPEST` brackets are open at once.

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
    """The keys read so far of an open mapping, and whether a key comes next; for an open list, a placeholder."""

    of_mapping: bool
    seen: set[str] = field(default_factory=set)
    next_is_key: bool = True


def _require_new_key(event: yaml.Event, keys: list[_Keys]) -> None:
    """Update the stack of open mappings and lists by a YAML event; reject a key that its mapping has already."""
    if isinstance(event, _ENDS):
        keys.pop()
        return
    if keys and keys[-1].of_mapping:
        mapping = keys[-1]
        if mapping.next_is_key and isinstance(event, yaml.ScalarEvent):
            if event.value in mapping.seen:
                raise OptionsError(f"{event.value!r} is given twice; keep one")
            mapping.seen.add(event.value)
        mapping.next_is_key = not mapping.next_is_key
    if isinstance(event, _STARTS):
        keys.append(_Keys(isinstance(event, yaml.MappingStartEvent)))


def require_text(path: str | os.PathLike[str]) -> None:
    """Check that a file is UTF-8 text of moderate size; if it cannot be opened, do nothing.

    Raises:
        UsageError: If it is not a regular file, too large, or not UTF-8 text.
    """
    name = os.fspath(path)
    try:
        status = os.stat(name)
        if not stat.S_ISREG(status.st_mode):
            raise UsageError(f"{name}: is not a regular file; give a file of options")
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
        return  # the parser reports a missing file


def require_sections(path: str | os.PathLike[str], groups: Collection[str]) -> None:
    """Check that a file holds a mapping of options, and that groups of options are mappings, too.

    Args:
        path: The file; if it cannot be read, nothing is checked.
        groups: The names of all groups of options, with dots for nested groups.

    Raises:
        UsageError: If the file is not text, not YAML or not a mapping, or if a group or general option has a wrong
            type.
    """
    require_text(path)
    text = ""
    try:
        with open(path, encoding="utf-8") as stream:
            text = stream.read()
        options = load(text)
    except OptionsError as error:
        raise UsageError(f"{path}: {error}") from None
    except yaml.MarkedYAMLError as error:
        mark, last = error.problem_mark, len(text.splitlines())
        line = last if mark is None else min(mark.line + 1, last)  # the mark may be after the last line
        raise UsageError(f"{path}:{line}: is not YAML: {error.problem}") from None
    except (OSError, ValueError, yaml.YAMLError):
        return  # the parser reports it
    if not isinstance(options, dict):
        raise UsageError(f"{path}: holds no options; expected lines such as trainer: {{epochs: 3}}")
    for name, kind, expected in _GENERAL:
        if name in options and not isinstance(options[name], kind):
            raise UsageError(f"{path}: {name} is {options[name]!r}; expected {expected}")
    _require_mappings(path, options, groups, "")


def _require_mappings(
    path: str | os.PathLike[str], options: Mapping[Any, Any], groups: Collection[str], prefix: str
) -> None:
    """Check that all groups of options are mappings, nested groups included.

    Args:
        path: The file, for messages.
        options: The options to check.
        groups: The names of all groups, with dots for nested groups.
        prefix: The name of the group that holds the options, with a dot at its end; empty at the outermost level.
    """
    for key, value in options.items():
        name = f"{prefix}{key}"
        if name not in groups or isinstance(value, str):  # a text names a file with the options of the group
            continue
        if not isinstance(value, dict):
            raise UsageError(f"{path}: {name} is {value!r}; expected its options, as in {name}: {{...}}")
        _require_mappings(path, value, groups, f"{name}.")


_GENERAL = (
    ("output", str, "the name of a folder"),
    ("resume", bool, "true or false"),
    ("config", str, "the name of a file"),
    ("initial_model", (str, type(None)), "the name of a folder"),
)
"""Options of all tasks that are not in the configuration: name, types, and the expected value in words."""


def require_shallow_values(arguments: Sequence[str]) -> None:
    """Check the nesting depth of the values on a command line.

    Raises:
        UsageError: If a value is nested too deeply; the message names the option.
    """
    option = ""
    for argument in arguments:
        option = argument.partition("=")[0] if argument.startswith("-") else option
        try:
            require_shallow(argument)
        except OptionsError as error:
            raise UsageError(f"{option}: {error}" if option else str(error)) from None


def named(arguments: Sequence[str], options: Sequence[str]) -> list[str]:
    """Return the values that a command line gives to some options, such as those that may name files.

    An option without a value, as before another option, is left to the parser, which reports it.

    Args:
        arguments: The command line.
        options: The names of the options, with their dashes.

    Examples:
        >>> named(["--config", "a.yaml", "--x=1", "--encoder=b.yaml"], ["--config", "--encoder"])
        ['a.yaml', 'b.yaml']
        >>> named(["--config", "--x=1"], ["--config"])
        []
    """
    values = []
    for argument, following in zip(arguments, [*arguments[1:], ""], strict=False):
        name, equals, value = argument.partition("=")
        if name in options and (equals or not following.startswith("-")):
            values.append(value if equals else following)
    return values


def files_first(arguments: Sequence[str], options: Sequence[str]) -> list[str]:
    """Move options that name files, with their values, before all others, so that the others override the files.

    Args:
        arguments: The command line.
        options: The names of the options, with their dashes.

    Examples:
        >>> files_first(["--x", "1", "--config", "a.yaml", "--config=b.yaml"], ["--config"])
        ['--config', 'a.yaml', '--config=b.yaml', '--x', '1']
    """
    files: list[str] = []
    others: list[str] = []
    before = ""
    for argument in arguments:
        name, equals, _ = argument.partition("=")
        is_value = before in options and not argument.startswith("-")
        (files if is_value or name in options else others).append(argument)
        before = "" if equals else argument
    return [*files, *others]


jsonargparse.set_dumper(MODE, dump)
jsonargparse.set_loader(MODE, load, exceptions=(yaml.YAMLError, OptionsError))
