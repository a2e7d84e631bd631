"""Training steps as multiples of the log-partition with its gradient."""

import time
from itertools import groupby

import pytest
from benchmarks.chain import case
from benchmarks.steps import STRUCTURES, in_turn, rows
from benchmarks.structures import Structure, an_event, training_step

from strukt import LinearChain


@pytest.mark.parametrize(
    "structure",
    [
        pytest.param(structure, id=structure.name, marks=() if place < 1 else pytest.mark.slow)
        for place, structure in enumerate(STRUCTURES)
    ],
)
def test_every_structure_trains_on_the_same_events(structure: Structure) -> None:
    size = structure.cases[-1]
    inputs = size.inputs()
    event = an_event(structure, inputs)
    assert event.equal(an_event(structure, inputs))
    assert [part.shape for part in training_step(structure, inputs, event)] == list(size.shapes)


def test_actions_take_turns() -> None:
    order = []

    def busy(name: str, seconds: float) -> None:
        order.append(name)
        end = time.thread_time() + seconds
        while time.thread_time() < end:
            pass

    first, second = in_turn((lambda: busy("a", 0.001), lambda: busy("b", 0.003)), turns=2, slice_=0.003)
    assert first == pytest.approx(0.001, rel=0.2)
    assert second == pytest.approx(0.003, rel=0.2)
    assert [name for name, _ in groupby(order)] == ["a", "b", "a", "b"]


def test_a_row_holds_times_and_their_ratio() -> None:
    (cells,) = rows(Structure("LinearChain", LinearChain, (case(2, 3, 4),)), turns=1, slice_=0.001)
    assert cells[:2] == ["`LinearChain`", "2x3x4"]
    sums, step = (float(cell) for cell in cells[2:4])
    assert float(cells[4]) == pytest.approx(step / sums, rel=0.02)
