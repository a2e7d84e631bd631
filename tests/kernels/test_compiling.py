"""Whoever waits for the compiler is told so, once, and while it compiles."""

import os
import subprocess
import sys
import threading
import time

import pytest

from strukt.kernels import dispatch
from strukt.kernels.compiling import KEPT, NOT_KEPT, Notice

pytestmark = pytest.mark.skipif(
    dispatch.backends()["cpu"] != "available", reason=f"no compiled kernels: {dispatch.backends()['cpu']}"
)


def compile_one(notice: Notice, module: str = "strukt.kernels.somewhere", pause: float = 0.0) -> None:
    """Compile a function of a module while a notice listens; it takes a pause longer than it would."""
    import numba
    from numba.core import event

    def double(x):
        return 2 * x

    class Slow(event.Listener):
        def on_start(self, event):
            time.sleep(pause)

        def on_end(self, event):
            pass

    double.__module__ = module
    with event.install_listener("numba:compile", notice), event.install_listener("numba:compile", Slow()):
        assert numba.njit(double)(3) == 6


def test_it_is_said_while_it_compiles_and_not_afterwards(capsys):
    said = []

    class Heard(Notice):
        def _say(self, kept):
            said.append((time.monotonic(), threading.current_thread()))
            super()._say(kept)

    compile_one(Heard(patience=0.05), pause=0.5)
    end = time.monotonic()
    ((moment, thread),) = said
    assert moment < end - 0.3
    assert thread is not threading.current_thread()
    assert capsys.readouterr().err == f"{NOT_KEPT}\n"  # a function of a test is not kept


def test_it_is_said_once(capsys):
    notice = Notice(patience=0.0)
    for _ in range(3):
        compile_one(notice, pause=0.1)
    assert capsys.readouterr().err.count("compiling") == 1


def test_short_compilations_add_up(capsys):
    notice = Notice(patience=0.5)
    compile_one(notice, pause=0.3)
    assert capsys.readouterr().err == ""
    compile_one(notice, pause=0.4)
    assert capsys.readouterr().err.count("compiling") == 1


@pytest.mark.slow
def test_a_short_one_is_not_worth_a_line(capsys):
    compile_one(Notice(patience=1.0))
    time.sleep(1.1)
    assert capsys.readouterr().err == ""


def test_kernels_of_others_are_theirs_to_tell_of(capsys):
    compile_one(Notice(patience=0.0), "strukture.kernels", pause=0.1)
    assert capsys.readouterr().err == ""


def test_nothing_is_said_when_it_is_silenced(capsys):
    notice = Notice(patience=0.0)
    notice.silence()
    compile_one(notice, pause=0.1)
    assert capsys.readouterr().err == ""


WORK = "import torch, strukt; print(strukt.LinearChain(torch.zeros(5, 3), torch.zeros(3, 3)).log_partition)"


@pytest.mark.slow
def test_a_process_says_it_unless_all_comes_from_the_cache(tmp_path):
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}

    def said() -> str:
        done = subprocess.run(
            [sys.executable, "-W", "error", "-c", WORK], env=environment, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        return done.stderr

    assert said() == f"{KEPT}\n"
    assert said() == ""
