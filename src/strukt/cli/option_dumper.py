"""Options as YAML, as `--print_config` writes them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import yaml

_Dumper: Any = type("_Dumper", (yaml.SafeDumper,), {})
"""Quotes texts that the loader reads as numbers although YAML 1.1 does not, such as 1e3 and 1.5e3."""

_Dumper.add_implicit_resolver(
    "tag:yaml.org,2002:float", re.compile(r"^[-+]?[0-9][0-9_]*(\.[0-9_]*)?[eE][-+]?[0-9]+$"), list("-+0123456789")
)


def dump(options: Mapping[str, Any]) -> str:
    """Return options as YAML from which `strukt.cli.option_files.load` reads the same values.

    Examples:
        >>> print(dump({"output": "1e3", "epochs": 3}), end="")
        output: '1e3'
        epochs: 3
    """
    text: str = yaml.dump(
        options, Dumper=_Dumper, default_flow_style=False, allow_unicode=True, sort_keys=False
    )
    return text
