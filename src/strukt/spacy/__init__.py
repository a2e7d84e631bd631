"""Saved models as spaCy pipeline components: ``nlp.add_pipe("strukt", config={"model": "folder"})``.

spaCy finds the component without importing this package, by the entry point `spacy_factories` of an installed
strukt. spaCy imports this package for every pipeline, so its names are loaded on first use only.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from strukt.errors import MissingExtraError

try:
    import spacy  # noqa: F401  # spaCy, not this package: imports are absolute
except ImportError as error:
    raise MissingExtraError("spacy", "spacy") from error

from strukt.spacy.factory import make_component

if TYPE_CHECKING:
    from strukt.spacy.component import StruktComponent
    from strukt.spacy.tokens import sentences

__all__ = ["StruktComponent", "make_component", "sentences"]

_HOMES = {"StruktComponent": "strukt.spacy.component", "sentences": "strukt.spacy.tokens"}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'strukt.spacy' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)
