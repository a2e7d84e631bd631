"""Many clients at a time: no error, the same answers, and no more memory as time goes on."""

import threading
import time
from pathlib import Path

import pytest
from tests.serve import models
from tests.serve.server import ask, running

from strukt.serve.limits import Limits

CLIENTS = 8
QUESTIONS = [
    {"model": name, "view": view, "texts": [text], "temperature": temperature, "k": 4, "pictures": True}
    for name in ("parser", "tagger", "constituency", "ner")
    for view in ("mode", "marginals", "samples", "kbest", "sparsemap")
    for text, temperature in (("the old cat sees a dog", 1.0), ("every wet bird likes a red fish " * 3, 2.0))
]
LONGEST = {"model": "parser", "view": "samples", "texts": ["the old cat " * 50], "temperature": 0.01, "k": 50}
"""All that may be asked for, of words that pull at each other."""


def hammer(address, seconds, each_second=lambda: None):
    """How many questions were answered, and what went wrong, with all clients asking as fast as they can."""
    expected = [ask(address, **question) for question in QUESTIONS]
    end, counts, wrong = time.monotonic() + seconds, [0] * CLIENTS, []

    def client(number):
        place = number
        while time.monotonic() < end and not wrong:
            try:
                found = ask(address, **QUESTIONS[place % len(QUESTIONS)])
            except Exception as error:
                wrong.append(error)
                return
            if found != expected[place % len(QUESTIONS)]:
                wrong.append(QUESTIONS[place % len(QUESTIONS)])
            counts[number] += 1
            place += 1

    threads = [threading.Thread(target=client, args=(number,)) for number in range(CLIENTS)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        each_second()
        time.sleep(1)
    for thread in threads:
        thread.join()
    return sum(counts), wrong


def test_the_longest_questions_leave_time_for_others():
    with running(models.several(), Limits(threads=2)) as address:
        expected, answers = ask(address, **LONGEST), []
        clients = [threading.Thread(target=lambda: answers.append(ask(address, **LONGEST))) for _ in range(4)]
        for client in clients:
            client.start()
        for question in QUESTIONS[:4]:
            ask(address, **question)
        for client in clients:
            client.join()
    assert answers == [expected] * 4


@pytest.mark.slow
def test_eight_clients_for_a_minute_in_constant_memory():
    sizes = []
    with running(models.several(), Limits(threads=2)) as address:
        hammer(address, 5)
        count, wrong = hammer(address, 60, lambda: sizes.append(resident()))
    assert wrong == []
    first, last = sizes[5], sizes[-1]
    print(f"{count} answers in 60 s; {first / 1e6:.0f} MB after 5 s, {last / 1e6:.0f} MB at the end")
    assert last < first + 20e6


def resident():
    """Bytes of this process in memory."""
    status = Path("/proc/self/status")
    if not status.exists():
        pytest.skip("needs /proc to see the memory of the process")
    return 1024 * int(status.read_text().split("VmRSS:")[1].split()[0])
