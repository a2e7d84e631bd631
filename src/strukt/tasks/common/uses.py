"""Options that have an effect only if others have certain values."""

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
    """Options that have an effect only if others have certain values.

    Attributes:
        names: Names of the options; a name that ends in a dot stands for all options of that group.
        needs: The condition, in words, for messages.
        is_read: A function of a configuration that returns whether the options have an effect.
    """

    names: Sequence[str]
    needs: str
    is_read: Callable[[Any], bool]

    @classmethod
    def by_choice(cls, names: Sequence[str], option: str, *values: str) -> Use:
        """Return options that have an effect if another option has one of some values.

        Args:
            names: Names of the options.
            option: Name of the other option, with dots.
            values: Values of it with which the options have an effect.

        Examples:
            >>> Use.by_choice(["rank"], "model", "hmm", "mfa", "pt").needs
            '--model hmm, mfa or pt'
        """
        *most, last = values
        listed = f"{', '.join(most)} or {last}" if most else last
        value_of = attrgetter(option)
        return cls(names, f"--{option} {listed}", lambda config: value_of(config) in values)

    def concerns(self, name: str) -> bool:
        """Return whether an option is one of these."""
        return any(name.startswith(each) if each.endswith(".") else name == each for each in self.names)


def require_read(config: Any, options: Mapping[str, Any]) -> None:
    """Reject options without effect: they must have their default, or that of an earlier version.

    Args:
        config: The configuration of a task, a dataclass. Its class and the base classes list the conditions as
            `uses`.
        options: Its options by their names with dots, as from `flat`.

    Raises:
        SettingError: If one has another value; the message names the condition.
    """
    current = flat(dataclasses.asdict(type(config)()))
    earlier = flat(dataclasses.asdict(from_dict(type(config), {})))
    unused = [use for use in _uses_of(type(config)) if not use.is_read(config)]
    for use in unused:
        for name, value in options.items():
            if use.concerns(name) and value not in (current[name], earlier[name]):
                raise SettingError(f"--{name} is {value}, but has no effect; it needs {use.needs}")


def _uses_of(kind: type) -> list[Use]:
    """Return the conditions of a class and of those above it, the most general first."""
    return [use for above in reversed(kind.__mro__) for use in vars(above).get("uses", ())]
