"""The configuration of a task, from its defaults, a YAML or JSON file, and options with dots."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, NoReturn, get_type_hints

import jsonargparse

from strukt import published
from strukt.cli import option_files
from strukt.cli.console import UsageError, suggestion
from strukt.cli.options import refuse_unknown
from strukt.tasks import TASKS
from strukt.tasks.common.options import flat


@dataclass
class Order:
    """What `strukt train` was asked to do.

    Attributes:
        config: The `Config` of the task.
        output: The folder that the model is saved in.
        resume: Whether to go on with a run that was cut off.
    """

    config: Any
    output: str
    resume: bool


def parse(task: str, arguments: Sequence[str]) -> Order:
    """Reads the options of a task.

    Args:
        task: Its name.
        arguments: What follows the name on the command line; later options win over a file given earlier.

    Raises:
        UsageError: An option is unknown or has a wrong value, here or in the file.

    Examples:
        >>> parse("tag", ["--train", "a.conllu", "--encoder.layers", "1"]).config.encoder.layers
        1
    """
    parser = build(task)
    refuse_unknown(arguments, parser)
    option_files.require_shallow_values(arguments)
    arguments = _with_values(task, _with_published(task, arguments))
    for path in option_files.named(arguments, [f"--{group}" for group in _groups(parser)]):
        option_files.require_text(path)
    values = vars(parser.instantiate(parser.parse_args(arguments)))
    config = _config_class(task)
    chosen = {field.name: values[field.name] for field in fields(config)}
    return Order(config(**chosen), values["output"], values["resume"])


def build(task: str) -> jsonargparse.ArgumentParser:
    """The parser of a task's options."""
    parser = _Parser(
        prog=f"strukt train {task}",
        description=_config_class(task).summary,
        allow_abbrev=False,
        parser_mode=option_files.MODE,
    )
    parser.add_argument("--config", action="config", help=_help_of_config(task))
    parser.add_argument(
        "-o", "--output", default=f"{task}-model", metavar="FOLDER", help="where to save the model"
    )
    parser.add_argument("--resume", action="store_true", help="go on with the run in FOLDER that was cut off")
    parser.add_class_arguments(_config_class(task))
    return parser


def _groups(parser: jsonargparse.ArgumentParser) -> set[str]:
    """The sections of the options, with dots for those within others."""
    return {key.rpartition(".")[0] for key in vars(parser.get_defaults().as_flat())} - {""}


def _help_of_config(task: str) -> str:
    shipped = [found for found in published.configurations().values() if found.task == task]
    names = "".join(f", or {found.name} ({found.source})" for found in shipped)
    return f"YAML or JSON file of options, as --print_config gives{names}"


def _with_published(task: str, arguments: Sequence[str]) -> list[str]:
    """The command line with the files of published configurations in place of their names."""
    files = {
        name: _published_file(task, name)
        for name in option_files.named(arguments, ["--config"])
        if name.startswith(published.PREFIX) and not Path(name).exists()
    }
    options = {f"--config={name}": f"--config={file}" for name, file in files.items()}
    return [(files | options).get(argument, argument) for argument in arguments]


def _with_values(task: str, arguments: Sequence[str]) -> list[str]:
    """Add ``true`` to each option that is true or false and is given without a value."""
    defaults = flat(asdict(_config_class(task)()))
    alone = {f"--{name}" for name, value in defaults.items() if isinstance(value, bool)}
    followed = zip(arguments, [*arguments, "--"][1:], strict=True)
    return [
        part
        for argument, following in followed
        for part in ((argument, "true") if argument in alone and following.startswith("-") else (argument,))
    ]


def _published_file(task: str, name: str) -> str:
    known = published.configurations()
    if name not in known:
        own = [other for other, found in known.items() if found.task == task]
        raise UsageError(f"there is no {name}; " + (suggestion(name, own) if own else f"none is for {task!r}"))
    if known[name].task != task:
        right = f"strukt train {known[name].task} --config {name}"
        raise UsageError(f"{name} is for another task; give: {right}")
    return str(known[name].path)


def _config_class(task: str) -> Any:
    """The dataclass of a task, its annotations resolved.

    Of annotations that are text, jsonargparse makes types by running the TYPE_CHECKING block of the module,
    and so imports PyTorch.
    """
    config: Any = TASKS[task].config_class()
    config.__init__.__annotations__ = get_type_hints(config) | {"return": None}
    return config


class _Parser(jsonargparse.ArgumentParser):
    """Raises instead of printing its usage and leaving."""

    def parse_path(self, path: Any, *arguments: Any, **options: Any) -> Any:
        """Reads a file of options, also one that another one names as its `config`."""
        option_files.require_sections(path, _groups(self))
        return super().parse_path(path, *arguments, **options)

    def error(self, message: str, ex: Exception | None = None) -> NoReturn:
        raise UsageError(f"{_readable(message, self)}; see: {self.prog} --help") from ex


def _readable(message: str, parser: jsonargparse.ArgumentParser) -> str:
    """The message of jsonargparse in one line, options as they are typed; an unknown one has its nearest."""
    line = " ".join(message.split())
    for pattern, replacement in _WORDING:
        line = re.sub(pattern, replacement, line)
    unknown = re.search(r"(?:Group '([\w.]+)' does not accept option|Option) '([\w.]+)'", line)
    if not unknown:
        return line
    key = ".".join(part for part in unknown.groups() if part)
    return f"unknown option {key!r} in the file; {suggestion(key, list(parser.get_defaults().keys()))}"


_WORDING = (
    (r"Parser key \"([\w.]+)\":", r"--\1:"),
    (
        r"Expected an? (?:<class '(\w+)'>|typing\.Literal\[([^]]+)\])\. Got value: (.*)",
        r"expected \1\2, got '\3'",
    ),
    (r"File does not exist: '(.*?)'", r"there is no file '\1'"),
    (
        r"--encoder: Unable to load config '(\w+)'.*",
        r"--encoder is '\1', which is no file; did you mean --encoder.kind \1?",
    ),
)
