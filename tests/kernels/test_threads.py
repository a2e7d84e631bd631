"""Each task runs once, on PyTorch's threads or on a pool, whatever fails and however many threads there are."""

import threading
import time

import pytest
import torch

from strukt.kernels import threads

OPENMP = threads._openmp()
TEAMS = [threads._Pool(), *([OPENMP] if OPENMP else [])]


class Short:
    """A library that gives one thread, whatever it is asked for."""

    def call(self, work, count):
        work()


@pytest.fixture(params=[*TEAMS, Short()], ids=lambda team: type(team).__name__)
def team(request, monkeypatch):
    monkeypatch.setattr(threads, "_threads", request.param)
    return request.param


@pytest.mark.parametrize("count", [1, 2, 3, 8])
def test_each_task_runs_once(team, count):
    done = []
    threads.run(done.append, count)
    assert sorted(done) == list(range(count))


@pytest.mark.parametrize("team", TEAMS, ids=lambda team: type(team).__name__)
def test_tasks_run_at_once(monkeypatch, team):
    monkeypatch.setattr(threads, "_threads", team)
    meeting = threading.Barrier(2, timeout=30)
    threads.run(lambda _: meeting.wait(), 2)  # a task alone would wait for the other in vain


def test_an_error_is_raised_and_the_others_finish(team):
    done = []

    def task(number):
        if number == 1:
            raise KeyboardInterrupt("stop")
        time.sleep(0.01)
        done.append(number)

    with pytest.raises(KeyboardInterrupt, match="stop"):
        threads.run(task, 4)
    assert sorted(done) == [0, 2, 3]
    threads.run(done.append, 2)
    assert sorted(done) == [0, 0, 1, 2, 3]


def test_tasks_that_start_tasks(team):
    done = []
    threads.run(lambda i: threads.run(lambda j: done.append((i, j)), 2), 3)
    assert sorted(done) == [(i, j) for i in range(3) for j in range(2)]


@pytest.mark.skipif("OpenMP" not in torch.__config__.parallel_info(), reason="PyTorch without OpenMP")
def test_kernels_run_on_the_threads_of_pytorch():
    if OPENMP is None:
        pytest.skip("PyTorch's OpenMP library has another interface")
    names = set()
    threads.run(lambda _: names.add(threading.current_thread().name), 2)
    assert isinstance(threads._threads, threads._OpenMP)
    assert not any(name.startswith("strukt") for name in names)
