"""Writing files whole or not at all."""

import os
import signal
import stat
import subprocess
import sys

import pytest

from strukt.data import files
from strukt.errors import DataError

posix_only = pytest.mark.skipif(sys.platform == "win32", reason="POSIX files and signals")


def test_atomic_write_leaves_the_old_file_after_an_exception(tmp_path):
    path = tmp_path / "out.conllu"
    path.write_text("old")

    def write_and_fail():
        with files.atomic_write(path) as stream:
            stream.write("half")
            raise RuntimeError("stop")

    with pytest.raises(RuntimeError, match="stop"):
        write_and_fail()
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["out.conllu"]


@posix_only
@pytest.mark.parametrize("mode", [0o600, 0o664])
def test_atomic_write_keeps_permissions_from_the_first_byte_on(tmp_path, mode):
    path = tmp_path / "out.conllu"
    path.touch()
    path.chmod(mode)
    with files.atomic_write(path) as stream:
        assert stat.S_IMODE(os.stat(stream.name).st_mode) == mode
        stream.write("new")
    assert path.read_text() == "new"
    assert stat.S_IMODE(path.stat().st_mode) == mode


@posix_only
@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="needs root, who may give files away")
def test_atomic_write_keeps_the_owner(tmp_path):
    path = tmp_path / "out.conllu"
    path.touch()
    os.chown(path, 4321, 1234)
    with files.atomic_write(path) as stream:
        stream.write("new")
    assert (path.stat().st_uid, path.stat().st_gid) == (4321, 1234)


@posix_only
@pytest.mark.parametrize("error", [PermissionError, OSError])  # of another owner; of a file system without owners
def test_atomic_write_keeps_at_least_the_group(tmp_path, monkeypatch, error):
    path, asked = tmp_path / "out.conllu", []
    path.touch(0o640)
    group = path.stat().st_gid

    def change(_, owner, group):
        asked.append((owner, group))
        if owner != -1:
            raise error

    monkeypatch.setattr(os, "fchown", change)
    with files.atomic_write(path) as stream:
        stream.write("new")
    assert path.read_text() == "new"
    assert asked[1:] == ([(-1, group)] if error is PermissionError else [])


@posix_only
def test_atomic_write_leaves_the_old_file_when_killed(tmp_path):
    path = tmp_path / "out.conllu"
    path.write_text("old")
    program = f"""
from strukt.data.files import atomic_write
with atomic_write({str(path)!r}) as stream:
    stream.write("half" * 100_000)
    stream.flush()
    print("ready", flush=True)
    import time
    time.sleep(60)
"""
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"ready\n"
        process.send_signal(signal.SIGKILL)
    assert path.read_text() == "old"


def test_atomic_write_into_a_missing_folder(tmp_path):
    with (
        pytest.raises(DataError, match=r"no/out\.txt: cannot be written: No such file"),
        files.atomic_write(tmp_path / "no" / "out.txt"),
    ):
        pass


@posix_only
@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_full_disk():
    def fill():
        with files.atomic_write("/dev/full") as stream:
            stream.write("text")

    with pytest.raises(DataError, match="/dev/full: cannot be written: No space left"):
        fill()


@posix_only
def test_device_is_written_and_not_replaced():
    with files.atomic_write("/dev/null") as stream:
        stream.write("text")
    assert not os.path.isfile("/dev/null")


@posix_only
def test_link_stays_a_link(tmp_path):
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_text("old")
    link.symlink_to(target)
    with files.atomic_write(link) as stream:
        stream.write("new")
    assert link.is_symlink()
    assert target.read_text() == "new"
