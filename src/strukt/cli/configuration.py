"""The configuration of a task, read from its defaults, YAML or JSON files, and dotted options."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, NoReturn, get_type_hints

import jsonargparse

from strukt.cli import option_files
from strukt.cli.console import UsageError, suggestion
from strukt.cli.help_format import HelpFormatter
from strukt.cli.options import refuse_unknown
from strukt.configurations import configurations
from strukt.tasks import TASKS
from strukt.tasks.common.options import flat


@dataclass
class Order:
    """The parsed arguments of `strukt train TASK`.

    Attributes:
        config: The `Config` of the task.
        output: The folder of the model.
        resume: True to resume an interrupted run.
        initial_model: The folder of the model to start from; None to start from random weights.
    """

    config: Any
    output: str
    resume: bool
    initial_model: str | None


def parse(task: str, arguments: Sequence[str]) -> Order:
    """Parse the options of a task.

    Args:
        task: The name of the task.
        arguments: The arguments after the name; options override files, and later files override earlier ones.

    Raises:
        UsageError: If an option is unknown or has an invalid value, on the command line or in the file.
        StruktError: If there is no such initial model of the task; see `strukt.train.initial_model.options_of`.

    Examples:
        >>> parse("tag", ["--train", "a.conllu", "--encoder.layers", "1"]).config.encoder.layers
        1
    """
    parser = build(task)
    refuse_unknown(arguments, parser)
    option_files.require_shallow_values(arguments)
    groups = [f"--{group}" for group in _groups(parser)]
    arguments = option_files.files_first(
        _with_values(task, _with_shipped(task, arguments)), ["--config", *groups]
    )
    for path in option_files.named(arguments, groups):
        option_files.require_text(path)
    parsed = parser.parse_args(arguments)
    for name in ("output", "initial_model"):
        if parsed[name] == "":  # would be the current folder
            raise UsageError(f"--{name} is empty; give a folder, or omit the option")
    if parsed["initial_model"]:
        parser.set_defaults(_options_of_model(task, parsed["initial_model"]))
        parsed = parser.parse_args(arguments)
    values = vars(parser.instantiate(parsed))
    config = _config_class(task)
    chosen = {field.name: values[field.name] for field in fields(config)}
    return Order(config(**chosen), values["output"], values["resume"], values["initial_model"])


def build(task: str) -> jsonargparse.ArgumentParser:
    """Return the parser of the options of a task."""
    parser = _Parser(
        prog=f"strukt train {task}",
        usage=f"strukt train {task} --train FILE --dev FILE [-o FOLDER] [--config FILE]"
        " [--initial_model MODEL] [--resume] [OPTION ...]",
        description=f"Train a model that predicts {_config_class(task).summary}.",
        formatter_class=HelpFormatter,
        allow_abbrev=False,
        parser_mode=option_files.MODE,
    )
    parser.add_argument("--config", action="config", metavar="FILE", help=_help_of_config(task))
    parser.add_argument(
        "-o", "--output", default=f"{task}-model", metavar="FOLDER", help="Folder of the model."
    )
    parser.add_argument(
        "--initial_model",
        metavar="MODEL",
        help="Folder of a saved model, or hf://user/name, to start from: its weights, its vocabularies, and its "
        "options as defaults.",
    )
    parser.add_argument("--resume", action="store_true", help="Resume the interrupted run in FOLDER.")
    parser.add_class_arguments(_config_class(task))
    return parser


def _options_of_model(task: str, folder: str) -> dict[str, Any]:
    """Return the options of a saved model other than its corpora, by dotted names."""
    from strukt.train.initial_model import CORPORA, options_of

    options = flat(asdict(options_of(folder, task)))
    return {name: value for name, value in options.items() if name not in CORPORA}


def _groups(parser: jsonargparse.ArgumentParser) -> set[str]:
    """Return the names of all groups of options, with dots for nested groups."""
    return {key.rpartition(".")[0] for key in vars(parser.get_defaults().as_flat())} - {""}


def _help_of_config(task: str) -> str:
    """Return the help of `--config`, which lists the configurations of the package for the task."""
    shipped = [known for known in configurations().values() if known.task == task]
    names = "; ".join(f"{known.name} ({known.summary})" for known in shipped)
    alternative = f", or a configuration of the package: {names}" if names else ""
    return f"YAML or JSON file of options, as printed by --print_config{alternative}."


def _with_shipped(task: str, arguments: Sequence[str]) -> list[str]:
    """Replace the names of configurations of the package that follow `--config` by the paths of their files."""
    result: list[str] = []
    for argument in arguments:
        option, equals, name = argument.partition("=")
        if result and result[-1] == "--config" and not argument.startswith("-"):
            result.append(_file_of(task, argument))
        elif option == "--config" and equals:
            result.append(f"--config={_file_of(task, name)}")
        else:
            result.append(argument)
    return result


def _file_of(task: str, name: str) -> str:
    """Return the path of a file of options, or of the configuration of the package with this name."""
    is_name = name.startswith("published/") or re.fullmatch(r"[\w-]+", name)
    if not is_name or Path(name).is_file():
        return name
    known = configurations()
    if name not in known:
        of_task = [other for other, each in known.items() if each.task == task]
        hint = suggestion(name, of_task) if of_task else f"the package has none for the task {task}"
        raise UsageError(f"--config is {name!r}, neither a file nor a configuration of the package; {hint}")
    if known[name].task != task:
        right = f"strukt train {known[name].task} --config {name}"
        raise UsageError(f"{name} is for another task; use: {right}")
    return str(known[name].path)


def _with_values(task: str, arguments: Sequence[str]) -> list[str]:
    """Add the value `true` after each Boolean option that has none."""
    defaults = flat(asdict(_config_class(task)()))
    alone = {f"--{name}" for name, value in defaults.items() if isinstance(value, bool)}
    followed = zip(arguments, [*arguments, "--"][1:], strict=True)
    return [
        part
        for argument, following in followed
        for part in ((argument, "true") if argument in alone and following.startswith("-") else (argument,))
    ]


def _config_class(task: str) -> Any:
    """Return the configuration class of a task, with its annotations resolved to types.

    Otherwise, jsonargparse would resolve annotations by running the TYPE_CHECKING block of the module, which
    imports PyTorch.
    """
    config: Any = TASKS[task].config_class()
    config.__init__.__annotations__ = get_type_hints(config) | {"return": None}
    return config


class _Parser(jsonargparse.ArgumentParser):
    """A parser that raises `UsageError` instead of printing its usage and exiting."""

    def parse_path(self, path: Any, *arguments: Any, **options: Any) -> Any:
        """Read a file of options, or one that such a file names as its `config`."""
        option_files.require_sections(path, _groups(self))
        return super().parse_path(path, *arguments, **options)

    def error(self, message: str, ex: Exception | None = None) -> NoReturn:
        raise UsageError(f"{_readable(message, self)}; see: {self.prog} --help") from ex


def _readable(message: str, parser: jsonargparse.ArgumentParser) -> str:
    """Rewrite a message of jsonargparse as one line, with options as users type them, and with a suggestion."""
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
        r"--encoder is '\1', which is not a file; did you mean --encoder.kind \1?",
    ),
)
