"""A hook of mkdocs that sets formulas as MathML when the site is built, so that pages need no script for them.

Pages have formulas as LaTeX in blocks of the language `math`, which GitHub sets as formulas, too.
"""

from __future__ import annotations

from typing import Any

from latex2mathml.converter import convert
from mkdocs.config.defaults import MkDocsConfig


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Hand blocks of the language `math` to `mathml`."""
    fences = config.mdx_configs.setdefault("pymdownx.superfences", {}).setdefault("custom_fences", [])
    fences.append({"name": "math", "class": "formula", "format": mathml})
    return config


def mathml(source: str, *_: Any, **__: Any) -> str:
    """Return a block of LaTeX as an element of HTML."""
    return f'<div class="formula">{convert(source, display="block")}</div>'
