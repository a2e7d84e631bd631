"""Models that earlier versions saved are loaded, and predict what they predicted then."""

import re
from pathlib import Path

import pytest
from tests.bundles.make import predict

from strukt.tasks import TASKS
from strukt.train import saved_model

SAVED = sorted(path.parent for path in Path(__file__).parent.glob("*/*/output"))
NUMBER = re.compile(r"-?\d+\.\d+")


def test_there_is_a_model_of_every_task():
    assert {saved_model.load(place / "model").task for place in SAVED} == set(TASKS)


@pytest.mark.parametrize("place", SAVED, ids=lambda place: "-".join(place.parts[-2:]))
def test_an_earlier_model_predicts_what_it_did(place, tmp_path):
    assert predict(place, tmp_path / "output") == 0
    found, expected = (folder.joinpath("output").read_text("utf-8") for folder in (tmp_path, place))
    assert NUMBER.sub("#", found) == NUMBER.sub("#", expected)
    numbers = [[float(number) for number in NUMBER.findall(text)] for text in (found, expected)]
    assert numbers[0] == pytest.approx(numbers[1], abs=1e-3)
