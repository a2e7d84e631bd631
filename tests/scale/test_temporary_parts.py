"""A file is there whole or not at all, and what killed processes leave is known and taken away."""

import os
import time

import pytest

from strukt.errors import DataError
from strukt.scale.temporary_parts import atomic_path, beside, count_leftovers, remove_leftovers


def test_nothing_is_there_before_the_end(tmp_path):
    path = tmp_path / "part-0"
    with atomic_path(path) as place:
        place.write_text("one")
        assert not path.exists()
        assert place == beside(path)
        assert place.name.endswith(f".{os.getpid()}")
    assert path.read_text() == "one"
    assert os.listdir(tmp_path) == ["part-0"]


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError])
def test_an_exception_leaves_what_was_there(tmp_path, error):
    path = tmp_path / "part-0"
    path.write_text("before")
    with pytest.raises(error):
        _write_half(path, error)
    assert path.read_text() == "before"
    assert os.listdir(tmp_path) == ["part-0"]


def _write_half(path, error):
    with atomic_path(path) as place:
        place.write_text("half")
        raise error


def test_a_folder_that_is_gone(tmp_path):
    with (
        pytest.raises(DataError, match=r"none/part-0: cannot be written"),
        atomic_path(tmp_path / "none" / "part-0") as place,
    ):
        place.write_text("x")


def test_leftovers_are_counted_since_a_time_and_removed(tmp_path):
    for name in (".part-0.host.1", ".part-0.host.2", ".part-1.host.3", "part-1", "other"):
        (tmp_path / name).touch()
    os.utime(tmp_path / ".part-0.host.2", (0, 0))
    assert count_leftovers(tmp_path / "part-0", time.time() - 100) == 1
    assert count_leftovers(tmp_path / "part-0", 0) == 2
    remove_leftovers(tmp_path)
    assert sorted(os.listdir(tmp_path)) == ["other", "part-1"]
