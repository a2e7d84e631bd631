"""Parsers of the options of commands: an error is one line, and suggests the nearest option."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from typing import NoReturn, Protocol

from strukt.cli.console import UsageError, suggestion


class HasHelp(Protocol):
    """A parser that can format its help, as in argparse and jsonargparse."""

    def format_help(self) -> str:
        """Return the text of the help, which lists all options."""
        ...


class Parser(argparse.ArgumentParser):
    """An argument parser that raises `UsageError` instead of printing its usage and exiting.

    Args:
        command: The name of the command, without `strukt`.
        description: The description of the command in its help.
    """

    def __init__(self, command: str, description: str) -> None:
        super().__init__(f"strukt {command}", description=description, allow_abbrev=False)

    def parse(self, arguments: Sequence[str]) -> argparse.Namespace:
        """Return the values of all arguments and options; without `--`, they may come in any order.

        Raises:
            UsageError: If an option is unknown, an argument is missing, superfluous or invalid, or the name of an
                output is empty, which might be read as the current folder.
        """
        refuse_unknown(arguments, self)
        # `parse_intermixed_args` loses track of `--` in Python 3.11.
        options = (self.parse_args if "--" in arguments else self.parse_intermixed_args)(arguments)
        for name in ("output", "html", "svg"):
            if getattr(options, name, None) == "":
                self.error(f"--{name} is empty; give a name")
        return options

    def error(self, message: str) -> NoReturn:
        """Raise a `UsageError` that refers to the help."""
        raise UsageError(f"{message}; see: {self.prog} --help")


def refuse_unknown(arguments: Sequence[str], parser: HasHelp) -> None:
    """Check that all options are known, before anything else is checked.

    Raises:
        UsageError: If the help of the parser does not list an option; the message suggests the nearest option.
    """
    names = [re.split(r"[=+]", argument, maxsplit=1)[0] for argument in _before_end(arguments)]
    options = [name for name in names if name.startswith("--")]
    known = list(dict.fromkeys(re.findall(r"--[\w.-]+", parser.format_help())))
    for option in options:
        if option not in known:
            raise UsageError(f"unknown option {option!r}; {suggestion(option, known)}")


def _before_end(arguments: Sequence[str]) -> Sequence[str]:
    """Return the arguments before `--`, which ends the options."""
    return arguments[: arguments.index("--")] if "--" in arguments else arguments


def require_least(options: argparse.Namespace, **least: int) -> None:
    """Check that the values of options are not below their least values; options that are None are ignored.

    Args:
        options: The values of all options.
        least: The least value of each option to check, by the name of the option.

    Raises:
        UsageError: If a value is too small; the message names its option.

    Examples:
        >>> require_least(argparse.Namespace(rounds=0, threads=None), rounds=1, threads=1)
        Traceback (most recent call last):
        strukt.cli.console.UsageError: --rounds is 0; expected 1 or more
    """
    for name, number in least.items():
        value = getattr(options, name)
        if value is not None and value < number:
            raise UsageError(f"--{name} is {value}; expected {number} or more")


def add_format(parser: argparse.ArgumentParser) -> None:
    """Add the option `--format`, for corpora whose file names do not determine the format."""
    parser.add_argument(
        "--format",
        choices=["conllu", "columns", "brackets", "jsonl", "cogs", "labelled", "pairs", "listops", "text"],
        help="format of the input, if the file name does not determine it; standard input is conllu (brackets for "
        "constituency, labelled for classify, cogs for cogs, pairs for nli, listops for listops, text for lm, "
        "mlm, sort and count); text has one sentence per line, with spaces between words and punctuation marks",
    )
