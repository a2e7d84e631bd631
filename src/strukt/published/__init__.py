"""Configurations of published models, for `strukt train TASK --config published/NAME`.

Each configuration is a file `NAME.yaml` in this folder. The first line names the task and the source::

    # strukt train cogs: Table 1 of Wu and Tu (2023)
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

PREFIX = "published/"
"""The prefix of the names of published configurations in `--config`."""

_FIRST_LINE = re.compile(r"# strukt train (\w+): (.+)\n")


@dataclass(frozen=True)
class Configuration:
    """The options of a published model.

    Attributes:
        name: The name in `--config`, with the prefix `published/`.
        task: The task of the configuration.
        source: The publication, and the table or section in it.
        path: The YAML file.
    """

    name: str
    task: str
    source: str
    path: Path


def configurations() -> dict[str, Configuration]:
    """Return all published configurations by name, in alphabetical order.

    Raises:
        ValueError: If the first line of a file does not name task and source.

    Examples:
        >>> all(name == configuration.name for name, configuration in configurations().items())
        True
    """
    loaded = (_read(path) for path in sorted(Path(__file__).parent.glob("*.yaml")))
    return {configuration.name: configuration for configuration in loaded}


def _read(path: Path) -> Configuration:
    with path.open(encoding="utf-8") as stream:
        first = _FIRST_LINE.fullmatch(stream.readline())
    if first is None:
        raise ValueError(f"{path}: the first line must be like '# strukt train TASK: SOURCE'")
    return Configuration(PREFIX + path.stem, first[1], first[2], path)
