"""The sources of a compiled kernel: its file and all files of the package that it imports.

Numba's cache checks only the file of the kernel itself. If a function in another file changed, for instance by an
upgrade of the package, the cache would return outdated code.
"""

from __future__ import annotations

import functools
import hashlib
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

_IMPORT = re.compile(r"^[ \t]*from (\w+(?:\.\w+)*) import (\([^)]*\)|.*)", re.MULTILINE)


def invalidate_on_source_change(compiled: Any) -> None:
    """Make Numba's cache drop a kernel when any of its sources changes; no effect on a kernel without a cache.

    The digest of the sources becomes part of the version, which Numba compares before it unpickles an entry.
    Unpickling an outdated entry could fail: a class in the arguments of the kernel may have moved.
    """
    index: Any = getattr(getattr(compiled, "_cache", None), "_cache_file", None)
    with suppress(OSError):  # there are no source files that could change
        if hasattr(index, "_version"):
            index._source_stamp = stamp(compiled.py_func.__code__.co_filename)
            index._version = f"{index._version}, {index._source_stamp}"


@functools.cache
def stamp(path: str) -> str:
    """Return a digest of a file and of all files of its package that it imports, directly or indirectly.

    Examples:
        >>> stamp(__file__) == stamp(__file__)
        True
    """
    result, waiting = set[Path](), [Path(path).resolve()]
    while waiting:
        each = waiting.pop()
        if each not in result:
            result.add(each)
            waiting.extend(_read(each)[1])
    return hashlib.sha256("".join(_read(each)[0] for each in sorted(result)).encode()).hexdigest()


@functools.cache
def _read(path: Path) -> tuple[str, tuple[Path, ...]]:
    """Return the digest of a file, and the files of the package that it imports."""
    source = path.read_bytes()
    return hashlib.sha256(source).hexdigest(), tuple(_imported(source.decode()))


def _imported(source: str) -> Iterator[Path]:
    """Yield the files of the package that a source text imports by ``from ... import``."""
    package = __name__.partition(".")[0]
    root = Path(__file__).resolve().parents[1]
    for module, names in _IMPORT.findall(source):
        if module.partition(".")[0] != package:
            continue
        folder = root.joinpath(*module.split(".")[1:])
        for candidate in (folder, *(folder / name for name in re.findall(r"\w+", names))):
            files = (candidate.with_suffix(".py"), candidate / "__init__.py")
            yield from (each for each in files if each.is_file())
