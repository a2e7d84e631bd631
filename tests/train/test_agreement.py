"""Processes ask each other about once a second, after the same steps, however long their own steps take."""

from types import SimpleNamespace

import pytest
import torch

from strukt.train import agreement
from strukt.train.agreement import MOST_STEPS, Agreement


class Steps:
    """One of two processes, with steps of some seconds; the other one may make a request, or be slower."""

    def __init__(self, monkeypatch, seconds):
        self.now, self.seconds = 0.0, seconds
        self.other = torch.tensor([0, -MOST_STEPS])
        self.root_device = torch.device("cpu")
        self.steps, self.asked = 0, []
        monkeypatch.setattr(agreement.time, "monotonic", lambda: self.now)
        self.trainer = SimpleNamespace(world_size=2, strategy=self)
        self.agreement = Agreement()

    def reduce(self, mine, reduce_op):
        assert reduce_op == "max"
        self.asked.append(self.steps)
        return torch.maximum(mine, self.other)

    def run(self, steps, requested=False):
        """The step after which the processes agree on a request, if any."""
        for _ in range(steps):
            self.now, self.steps = self.now + self.seconds, self.steps + 1
            if self.agreement.after_step(self.trainer, requested):
                return self.steps
        return None


def test_a_single_process_asks_nobody():
    alone = SimpleNamespace(world_size=1)
    assert Agreement().after_step(alone, True)
    assert not Agreement().after_step(alone, False)
    assert Agreement().at_once(alone, True)


@pytest.mark.parametrize(
    ("seconds", "asked"), [(2.0, [1, 2, 3, 4, 5]), (0.25, [1, 5, 9, 13, 17]), (0.001, [1, 101, 201])]
)
def test_questions_are_a_second_apart_or_a_step(monkeypatch, seconds, asked):
    process = Steps(monkeypatch, seconds)
    process.run(asked[-1])
    assert process.asked == asked  # after the first step, since a time limit may be over from the start


def test_the_slowest_process_decides(monkeypatch):
    process = Steps(monkeypatch, 0.25)
    process.other = torch.tensor([0, -2])
    process.run(7)
    assert process.asked == [1, 3, 5, 7]


def test_all_learn_what_one_of_them_requests(monkeypatch):
    process = Steps(monkeypatch, 0.25)
    assert process.run(6) is None
    process.other = torch.tensor([1, -MOST_STEPS])
    assert process.run(6) == 9
    process.other = torch.tensor([0, -MOST_STEPS])
    assert process.run(6, requested=True) == 13


def test_it_may_be_asked_at_once(monkeypatch):
    process = Steps(monkeypatch, 0.25)
    process.run(2)
    assert not process.agreement.at_once(process.trainer, False)
    assert process.agreement.at_once(process.trainer, True)
    assert process.asked == [1, 2, 2]
