"""The threads behind the service: results, a queue with an end, time that runs out."""

import asyncio
import threading
import time

import pytest
import torch

from strukt.serve.limits import Limits
from strukt.serve.workers import LateError, OverloadError, Workers


@pytest.fixture
def workers():
    workers = Workers(Limits(threads=1, queue=1, seconds=5))
    yield workers
    workers.close()


def test_results_and_errors_come_through(workers):
    assert asyncio.run(workers.run(lambda _: 3)) == 3
    with pytest.raises(ZeroDivisionError):
        asyncio.run(workers.run(lambda _: 1 / 0))


def test_each_thread_computes_with_one_core(workers):
    assert asyncio.run(workers.run(lambda _: torch.get_num_threads())) == 1


def test_the_function_gets_the_time_at_which_nobody_waits_any_more(workers):
    deadline = asyncio.run(workers.run(lambda deadline: deadline))
    assert 0 < deadline.time - time.monotonic() <= 5


def test_threads_that_nobody_waits_for_are_counted_until_they_end():
    workers = Workers(Limits(threads=2, queue=2, seconds=0.05))
    may_end = threading.Event()

    def give_up():
        with pytest.raises(LateError):
            asyncio.run(workers.run(lambda _: may_end.wait(5)))

    counts = []
    for _ in range(3):  # the third only waits
        give_up()
        counts.append((workers.late, workers.lost))
    assert counts == [(1, False), (2, True), (2, True)]
    may_end.set()
    while workers.late:
        time.sleep(0.01)
    assert not workers.lost
    assert asyncio.run(workers.run(lambda _: 3)) == 3
    workers.close()


def test_a_thread_that_sees_first_that_time_is_over_says_it_as_the_service_does(workers):
    def look_at_the_clock(_):
        raise LateError("nobody waits for the rest")

    with pytest.raises(LateError, match="no answer within 5 seconds: give less text"):
        asyncio.run(workers.run(look_at_the_clock))
    assert workers.late == 0


def test_one_computes_one_waits_and_the_third_is_refused(workers):
    may_end = threading.Event()

    async def three():
        calls = [asyncio.create_task(workers.run(lambda _: may_end.wait(5))) for _ in range(3)]
        await asyncio.sleep(0.01)
        may_end.set()
        return await asyncio.gather(*calls, return_exceptions=True)

    *fine, refused = asyncio.run(three())
    assert fine == [True, True]
    assert isinstance(refused, OverloadError)
    assert asyncio.run(workers.run(lambda _: 4)) == 4


def test_a_late_call_keeps_its_place_until_it_ends_and_one_that_waited_gives_it_up_at_once():
    workers = Workers(Limits(threads=1, queue=1, seconds=0.05))
    may_end, ran = threading.Event(), []

    async def late():
        calls = [workers.run(lambda _: may_end.wait(5)), workers.run(lambda _: ran.append("the second"))]
        found = await asyncio.gather(*calls, return_exceptions=True)
        assert [type(error) for error in found] == [LateError, LateError]
        with pytest.raises(LateError):  # there is room for one beside the one that computes
            await workers.run(lambda _: ran.append("the third"))
        may_end.set()
        while not ran:
            try:
                await workers.run(lambda _: ran.append("the last"))
            except LateError:
                await asyncio.sleep(0.01)

    asyncio.run(late())
    assert ran == ["the last"]
    workers.close()


def test_a_call_of_a_client_that_hung_up_is_dropped_where_it_waits_and_ended_where_it_runs():
    workers = Workers(Limits(threads=1, queue=1, seconds=20))
    began, ended, ran = threading.Event(), threading.Event(), []

    def compute(deadline):
        began.set()
        while True:
            time.sleep(0.01)
            try:
                deadline.check()
            except LateError:
                ended.set()
                raise

    async def hang_up():
        running = asyncio.create_task(workers.run(compute))
        await asyncio.to_thread(began.wait, 5)
        waiting = asyncio.create_task(workers.run(lambda _: ran.append("waiting")))
        await asyncio.sleep(0.01)
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        assert workers.late == 0
        follower = asyncio.create_task(workers.run(lambda _: 3))  # there is room for it again
        await asyncio.sleep(0.01)
        running.cancel()
        assert await follower == 3

    asyncio.run(hang_up())
    assert ended.wait(5)
    assert ran == []
    workers.close()


def test_a_full_queue_tells_whether_anybody_waits_for_what_is_computed():
    workers = Workers(Limits(threads=1, queue=0, seconds=0.05))
    may_end = threading.Event()
    with pytest.raises(LateError):
        asyncio.run(workers.run(lambda _: may_end.wait(5)))
    with pytest.raises(OverloadError, match="all threads are busy with abandoned requests"):
        asyncio.run(workers.run(lambda _: 3))
    may_end.set()
    workers.close()
