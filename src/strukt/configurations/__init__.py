"""Configurations that are part of the package, for `strukt train TASK --config NAME`.

Each configuration is a file `NAME.yaml` in this folder; those of published models are in `published/`. The first
line names the task, and says what the configuration is for, or where it was published::

    # strukt train cogs: COGS in Table 2 of Wu and Tu (2023)
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parent
"""The folder of all configurations."""

_FIRST_LINE = re.compile(r"# strukt train (\w+): (.+)\n")


@dataclass(frozen=True)
class Configuration:
    """A file of options for `strukt train` that is part of the package.

    Attributes:
        name: The name in `--config`, such as `fast` or `published/cogs`.
        task: The task of the configuration.
        summary: What it is for; for a published model, the publication, and the table or section in it.
        path: The YAML file.
    """

    name: str
    task: str
    summary: str
    path: Path


def configurations() -> dict[str, Configuration]:
    """Return all configurations by name, in alphabetical order.

    Raises:
        ValueError: If the first line of a file does not name a task and say what the configuration is for.

    Examples:
        >>> all(name == configuration.name for name, configuration in configurations().items())
        True
    """
    loaded = sorted(map(_read, FOLDER.rglob("*.yaml")), key=lambda configuration: configuration.name)
    return {configuration.name: configuration for configuration in loaded}


def _read(path: Path) -> Configuration:
    """Return the configuration of a file, from its name and its first line."""
    with path.open(encoding="utf-8") as stream:
        first = _FIRST_LINE.fullmatch(stream.readline())
    if first is None:
        raise ValueError(f"{path}: the first line must be like '# strukt train TASK: SUMMARY'")
    name = path.relative_to(FOLDER).with_suffix("").as_posix()
    return Configuration(name, first[1], first[2], path)
