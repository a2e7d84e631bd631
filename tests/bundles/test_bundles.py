"""Models that released versions saved are loaded, and predict what they predicted then."""

import json
import re
from pathlib import Path

import pytest
from tests.bundles.make import predict
from tests.bundles.objects import OBJECTS

from strukt.tasks import TASKS
from strukt.train import saved_model

SAVED = sorted(path.parent for path in Path(__file__).parent.glob("*/*/output"))
ANSWERS = sorted(Path(__file__).parent.glob("*/object-*.json"))
NUMBER = re.compile(r"-?\d+\.\d+(?:e-\d+)?")


def test_there_is_a_model_of_every_task_and_of_every_kind():
    trained = [place for place in SAVED if not place.name.startswith("exported-")]
    assert {saved_model.load(place / "model").task for place in trained} == set(TASKS)
    assert {path.stem for path in ANSWERS} == set(OBJECTS)


@pytest.mark.parametrize("place", SAVED, ids=lambda place: "-".join(place.parts[-2:]))
def test_an_earlier_model_predicts_what_it_did(place, tmp_path):
    if place.name.startswith("exported-"):
        pytest.importorskip("onnxruntime")
    assert predict(place, tmp_path / "output") == 0
    found, expected = (folder.joinpath("output").read_text("utf-8") for folder in (tmp_path, place))
    assert NUMBER.sub("#", found) == NUMBER.sub("#", expected)
    numbers = [[float(number) for number in NUMBER.findall(text)] for text in (found, expected)]
    assert numbers[0] == pytest.approx(numbers[1], abs=1e-3)


@pytest.mark.parametrize("path", ANSWERS, ids=lambda path: "-".join([path.parent.name, path.stem]))
def test_an_earlier_object_answers_what_it_did(path):
    for package in OBJECTS[path.stem].packages:
        pytest.importorskip(package)
    found = OBJECTS[path.stem].answers(path.with_suffix(""))
    expected = json.loads(path.read_text("utf-8"))
    assert found.keys() == expected.keys()
    for name, answer in expected.items():
        assert _flat(found[name]) == pytest.approx(_flat(answer), abs=1e-3)


def _flat(answer):
    return [each for part in answer for each in _flat(part)] if isinstance(answer, list) else [answer]
