"""The sources of a compiled kernel: its own file and all that this imports from the package.

Numba looks at the file of a kernel alone, so that a change in a function which it calls from elsewhere would leave
the old code in the cache, also where a new version of the package is installed over an old one.
"""

from __future__ import annotations

import functools
import hashlib
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

_IMPORT = re.compile(r"^from (\w+(?:\.\w+)*) import (\([^)]*\)|.*)", re.MULTILINE)


def know_by_all(compiled: Any) -> None:
    """Have Numba's cache forget a kernel when anything changes that it was made from.

    The digest is part of the version that Numba compares first: to read on in what an older version has left fails
    where a class that kernels take is no longer in its place.
    """
    index: Any = getattr(getattr(compiled, "_cache", None), "_cache_file", None)
    with suppress(OSError):  # where there is no source that could change
        if hasattr(index, "_version"):
            index._source_stamp = stamp(compiled.py_func.__code__.co_filename)
            index._version = f"{index._version}, {index._source_stamp}"


@functools.cache
def stamp(path: str) -> str:
    """Return a digest of a file and of all files of its package that it imports, directly or not.

    Examples:
        >>> stamp(__file__) == stamp(__file__)
        True
    """
    found, waiting = set[Path](), [Path(path).resolve()]
    while waiting:
        each = waiting.pop()
        if each not in found:
            found.add(each)
            waiting.extend(_read(each)[1])
    return hashlib.sha256("".join(_read(each)[0] for each in sorted(found)).encode()).hexdigest()


@functools.cache
def _read(path: Path) -> tuple[str, tuple[Path, ...]]:
    """The digest of a file, and the files of the package that it imports."""
    source = path.read_bytes()
    return hashlib.sha256(source).hexdigest(), tuple(_imported(path, source.decode()))


def _imported(path: Path, source: str) -> Iterator[Path]:
    package = __name__.partition(".")[0]
    root = Path(__file__).resolve().parents[1]
    for module, names in _IMPORT.findall(source):
        if module.partition(".")[0] != package:
            continue
        folder = root.joinpath(*module.split(".")[1:])
        for candidate in (folder, *(folder / name for name in re.findall(r"\w+", names))):
            files = (candidate.with_suffix(".py"), candidate / "__init__.py")
            yield from (each for each in files if each.is_file())
