"""Help of `strukt train TASK`: options with their choices and defaults, without Python types."""

from __future__ import annotations

import re
from argparse import Action

from jsonargparse import DefaultHelpFormatter
from typing_extensions import override

_NOTE = re.compile(r" \((?:type: .*?, )?default: (?P<default>.*)\)\Z", re.DOTALL)
"""The note that jsonargparse appends to every help text."""


class HelpFormatter(DefaultHelpFormatter):
    """A formatter that omits types, because options show their choices, and omits empty defaults."""

    @override
    def _expand_help(self, action: Action) -> str:
        if "--print_config" in action.option_strings:  # jsonargparse's text describes its own flags
            return "Print the configuration that results from all other options and files, and exit."
        return _NOTE.sub(lambda note: _default(note["default"], action), super()._expand_help(action))


def _default(value: str, action: Action) -> str:
    """Return the note on the default of an option; "" if the default is empty or the option takes no value."""
    shown = value.lower() if value in ("True", "False") else value  # as users type them
    return f" (default: {shown})" if shown not in ("", "null") and action.nargs != 0 else ""
