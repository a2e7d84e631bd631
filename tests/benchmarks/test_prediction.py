"""The statistics of the prediction benchmark, and its batches."""

from types import SimpleNamespace

import pytest
from benchmarks.prediction import Stages, cells, percentile_95, prediction_batches, summarise


def test_each_stage_is_summarised_by_itself() -> None:
    assert percentile_95([float(value) for value in range(101)]) == pytest.approx(95)
    stages = [Stages(10, 1, 0.5), Stages(30, 9, 0.1), Stages(20, 2, 0.2)]
    assert summarise(stages, max) == Stages(30, 9, 0.5)


def test_share_is_of_the_total() -> None:
    stages = Stages(total=0.2, encoder=0.1, inference=0.01)
    assert stages.share == pytest.approx(0.05)
    assert cells(stages) == ["200", "100", "10.0", "5.0"]


@pytest.mark.parametrize("count", [0, 700])
def test_batches_hold_every_sentence_once_and_respect_the_bound(count: int) -> None:
    config = SimpleNamespace(trainer=SimpleNamespace(tokens=50))
    model = SimpleNamespace(config=config, sizes=lambda sentences: list(map(len, sentences)))
    sentences = [["word"] * (1 + index % 9) for index in range(count)]
    parts = list(prediction_batches(model, sentences))
    assert sum(map(len, parts)) == count
    assert all(len(part) * max(map(len, part)) <= 50 for part in parts)
