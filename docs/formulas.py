"""A hook of mkdocs that sets formulas as MathML when the site is built, so that pages need no script for them.

Pages have formulas as LaTeX in blocks of the language `math`, which GitHub sets as formulas, too.
"""

from __future__ import annotations

import re
from typing import Any

from latex2mathml.converter import convert
from mkdocs.config.defaults import MkDocsConfig

FUNCTION = re.compile(r"(<mi>(?:exp|log)</mi>)(?!<mo[^>]*>&#x00028;)")
"""A function before an argument without brackets, which browsers set without a space."""


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Hand blocks of the language `math` to `mathml`."""
    fences = config.mdx_configs.setdefault("pymdownx.superfences", {}).setdefault("custom_fences", [])
    fences.append({"name": "math", "class": "formula", "format": mathml})
    return config


def mathml(source: str, *_: Any, **__: Any) -> str:
    """Return a block of LaTeX as an element of HTML."""
    formula = FUNCTION.sub(r'\1<mspace width="0.17em" />', convert(source, display="block"))
    return f'<div class="formula">{formula}</div>'
