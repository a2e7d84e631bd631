"""Help of `strukt train TASK`: options with their defaults, without the types of Python."""

from __future__ import annotations

import re
from argparse import Action

from jsonargparse import DefaultHelpFormatter
from typing_extensions import override

_NOTE = re.compile(r" \((?:type: .*?, )?default: (?P<default>.*)\)\Z", re.DOTALL)
"""The end that jsonargparse gives to every help text."""


class HelpFormatter(DefaultHelpFormatter):
    """A formatter that leaves out types, because an option shows its choices, and defaults that say nothing."""

    @override
    def _expand_help(self, action: Action) -> str:
        if "--print_config" in action.option_strings:  # its own text is about flags of jsonargparse
            return "Print the configuration that the other options and files give, and exit."
        return _NOTE.sub(lambda note: _default(note["default"], action), super()._expand_help(action))


def _default(value: str, action: Action) -> str:
    shown = value.lower() if value in ("True", "False") else value  # as they are typed
    return f" (default: {shown})" if shown and action.nargs != 0 else ""
