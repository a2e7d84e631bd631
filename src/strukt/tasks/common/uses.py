"""Options of a configuration that are read only if others have certain values."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

from strukt.errors import SettingError
from strukt.tasks.common.options import flat, from_dict


@dataclass(frozen=True)
class Use:
    """Options that are read only if others have certain values.

    Attributes:
        names: The names of the options; one that ends in a dot stands for all options of that group.
        needs: The condition in words, for messages.
        is_read: Tells if they are read with a configuration.
    """

    names: Sequence[str]
    needs: str
    is_read: Callable[[Any], bool]

    @classmethod
    def by_choice(cls, names: Sequence[str], option: str, *values: str) -> Use:
        """Options that are read if another one has one of some values.

        Args:
            names: Those of the options.
            option: The name of the other one, with dots.
            values: Its values with which they are read.

        Examples:
            >>> Use.by_choice(["rank"], "model", "hmm", "mfa", "pt").needs
            '--model hmm, mfa or pt'
        """
        *most, last = values
        listed = f"{', '.join(most)} or {last}" if most else last
        value_of = attrgetter(option)
        return cls(names, f"--{option} {listed}", lambda config: value_of(config) in values)

    def concerns(self, name: str) -> bool:
        """Tell if an option is one of these."""
        return any(name.startswith(own) if own.endswith(".") else name == own for own in self.names)


def require_read(config: Any, options: Mapping[str, Any]) -> None:
    """Check that options that would not be read are as they are by default, or were before that changed.

    Args:
        config: The configuration of a task, a dataclass; its class and those above it say in `uses` when options
            are read.
        options: Its options by their names with dots, as `flat` has them.

    Raises:
        SettingError: If one is not; the message says what it needs to be read.
    """
    usual = flat(dataclasses.asdict(type(config)()))
    earlier = flat(dataclasses.asdict(from_dict(type(config), {})))
    unread = [use for use in _uses_of(type(config)) if not use.is_read(config)]
    for use in unread:
        for name, value in options.items():
            if use.concerns(name) and value not in (usual[name], earlier[name]):
                raise SettingError(f"--{name} is {value}, and would not be read; it needs {use.needs}")


def _uses_of(kind: type) -> list[Use]:
    """Return the tables of a class and of those above it, the general ones first."""
    return [use for above in reversed(kind.__mro__) for use in vars(above).get("uses", ())]
