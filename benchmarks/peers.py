"""Imports of peers whose packages cannot be imported as they are installed."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType


def supar_structs() -> ModuleType:
    """Import the structures of supar without its parsers, which need nltk, stanza, dill and transformers.

    Raises:
        ModuleNotFoundError: If supar is not installed.
    """
    if "supar.structs" not in sys.modules:
        specification = importlib.util.find_spec("supar")
        if specification is None or specification.origin is None:
            raise ModuleNotFoundError("supar is not installed; run: python -m benchmarks.setup")
        folder = Path(specification.origin).parent
        for name, path in (("supar", folder), ("supar.utils", folder / "utils")):
            bare = ModuleType(name)
            bare.__path__ = [str(path)]
            bare.__spec__ = ModuleSpec(name, None, is_package=True)  # find_spec refuses modules without one
            sys.modules[name] = bare
    return importlib.import_module("supar.structs")
