"""Options that have an effect only if others have certain values."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

from strukt.errors import SettingError
from strukt.tasks.common.options import flat


@dataclass(frozen=True)
class Use:
    """Options that have an effect only if others have certain values.

    Attributes:
        names: Names of the options; a name that ends in a dot stands for all options of that group.
        needs: The condition in words, for error messages.
        is_read: Returns whether the options have an effect in a configuration.
    """

    names: Sequence[str]
    needs: str
    is_read: Callable[[Any], bool]

    @classmethod
    def by_choice(cls, names: Sequence[str], option: str, *values: str) -> Use:
        """Return options that have an effect if another option has one of the given values.

        Args:
            names: Names of the options.
            option: Dotted name of the other option.
            values: Values of the other option with which the options have an effect.

        Examples:
            >>> Use.by_choice(["rank"], "model", "hmm", "mfa", "pt").needs
            '--model hmm, mfa or pt'
        """
        *most, last = values
        listed = f"{', '.join(most)} or {last}" if most else last
        value_of = attrgetter(option)
        return cls(names, f"--{option} {listed}", lambda config: value_of(config) in values)

    def concerns(self, name: str) -> bool:
        """Return whether `names` includes an option."""
        return any(name.startswith(each) if each.endswith(".") else name == each for each in self.names)


def require_read(config: Any) -> None:
    """Check that options without effect have their default value.

    Args:
        config: The configuration of a task, a dataclass. Its class and the base classes list the conditions as
            `uses`.

    Raises:
        SettingError: If an option without effect has another value; the message names the condition.
    """
    kind = type(config)
    options, defaults = (flat(dataclasses.asdict(each)) for each in (config, kind()))
    unused = [use for use in _uses_of(kind) if not use.is_read(config)]
    for use in unused:
        for name, value in options.items():
            if use.concerns(name) and value != defaults[name]:
                raise SettingError(f"--{name} is {value}, but has no effect; it needs {use.needs}")


def is_read(config: Any, name: str) -> bool:
    """Return whether an option, by its dotted name, has an effect in the configuration of a task."""
    return all(use.is_read(config) for use in _uses_of(type(config)) if use.concerns(name))


def _uses_of(kind: type) -> list[Use]:
    """Return the conditions of a class and of its base classes, those of the most general class first."""
    return [use for above in reversed(kind.__mro__) for use in vars(above).get("uses", ())]
