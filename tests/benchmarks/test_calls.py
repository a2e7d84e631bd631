"""Calls on one short item, in microseconds."""

import time

import pytest
from benchmarks.calls import CALLS, STRUCTURES, calls, microseconds, rows
from benchmarks.chain import case
from benchmarks.structures import Structure

from strukt import LinearChain


@pytest.mark.parametrize(
    "structure",
    [
        pytest.param(structure, id=f"{structure.name}-{place}", marks=() if place < 1 else pytest.mark.slow)
        for place, structure in enumerate(STRUCTURES)
    ],
)
def test_every_call_returns_its_value(structure: Structure) -> None:
    for size in structure.cases:
        inputs = tuple(score.double() for score in size.inputs())  # whose kernels other tests compile, too
        answers = {name: call() for name, call in calls(structure, inputs).items()}
        assert tuple(answers) == CALLS
        assert answers["log-partition"].shape == (1,)
        assert answers["mode"].shape == (1, *answers["constructor"].event_shape)
        for name in ("gradient", "training step"):
            assert [part.shape for part in answers[name]] == [score.shape for score in inputs]


def test_calls_make_new_distributions() -> None:
    """A property that is kept would be read and not computed."""
    made = calls(STRUCTURES[0], STRUCTURES[0].cases[0].inputs())
    assert made["constructor"]() is not made["constructor"]()
    assert made["mode"]() is not made["mode"]()


def test_a_row_holds_the_microseconds_of_an_addition_and_of_each_call() -> None:
    (cells,) = rows(Structure("LinearChain", LinearChain, (case(1, 3, 2),)), blocks=1)
    assert cells[:2] == ["`LinearChain`", "1x3x2"]
    assert len(cells) == 3 + len(CALLS)
    assert all(float(cell) > 0 for cell in cells[2:])


def test_time_asleep_is_not_counted() -> None:
    def half_asleep() -> None:
        time.sleep(0.002)
        end = time.process_time() + 0.001
        while time.process_time() < end:
            pass

    assert 1000 <= microseconds(half_asleep, blocks=3) < 2000
