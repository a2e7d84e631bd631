"""Options of the commands: errors in one line, and the nearest option where an unknown one is given."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from typing import NoReturn, Protocol

from strukt.cli.console import UsageError, suggestion


class HasHelp(Protocol):
    """A parser that can print its help; argparse and jsonargparse have such."""

    def format_help(self) -> str:
        """The help, in which every option stands."""
        ...


class Parser(argparse.ArgumentParser):
    """An argument parser that raises instead of printing its usage and leaving.

    Args:
        command: The command whose options these are.
        description: What the command does.
    """

    def __init__(self, command: str, description: str) -> None:
        super().__init__(f"strukt {command}", description=description, allow_abbrev=False)

    def parse(self, arguments: Sequence[str]) -> argparse.Namespace:
        """The values of the options.

        Raises:
            UsageError: An option is unknown, or an argument is missing, superfluous or malformed.
        """
        refuse_unknown(arguments, self)
        return self.parse_args(arguments)

    def error(self, message: str) -> NoReturn:
        """Raises a `UsageError` with the way to the help."""
        raise UsageError(f"{message}; see: {self.prog} --help")


def refuse_unknown(arguments: Sequence[str], parser: HasHelp) -> None:
    """Looks at the names of all options before anything else is judged.

    Raises:
        UsageError: The parser's help does not mention an option; the message names the nearest.
    """
    given = [re.split(r"[=+]", argument, maxsplit=1)[0] for argument in _before_end(arguments)]
    options = [name for name in given if name.startswith("--")]
    known = list(dict.fromkeys(re.findall(r"--[\w.-]+", parser.format_help())))
    for option in options:
        if option not in known:
            raise UsageError(f"unknown option {option!r}; {suggestion(option, known)}")


def _before_end(arguments: Sequence[str]) -> Sequence[str]:
    """What stands before `--`, behind which nothing is an option."""
    return arguments[: arguments.index("--")] if "--" in arguments else arguments


def add_format(parser: argparse.ArgumentParser) -> None:
    """The option that states the format of corpora whose names do not tell."""
    parser.add_argument(
        "--format",
        choices=["conllu", "columns", "brackets", "jsonl", "cogs", "labelled", "pairs", "listops", "text"],
        help="format of the input, if its name does not tell; standard input is conllu (of the task constituency "
        "brackets, of classify labelled, of cogs cogs, of nli pairs, of listops listops, of lm, mlm, sort and "
        "count text), and text has one sentence per line, words and punctuation separated by spaces",
    )
