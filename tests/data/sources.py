"""What tests of readers read: text and bytes as files with a name, and corpora that developers share."""

import io
from pathlib import Path

import pytest

SHARED = Path(__file__).parents[3] / "shared" / "data"


def stream(content: str | bytes, name: str) -> io.BytesIO:
    """Bytes with a name, as a file has one."""
    result = io.BytesIO(content.encode() if isinstance(content, str) else content)
    result.name = name
    return result


def shared(name: str) -> Path:
    """The path of a shared corpus; skips the test where it is not present."""
    path = SHARED / name
    if not path.exists():
        pytest.skip(f"{name} is not present")
    return path
