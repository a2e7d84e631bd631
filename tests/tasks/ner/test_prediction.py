"""Predicted entities in the formats of files: which of them get the probabilities."""

import io
import json

import pytest

from strukt.data.conllu import entity_notes
from strukt.data.entities import Entity, json_lines, layers
from strukt.data.parts import Part
from strukt.tasks.ner.prediction import EntityPrediction
from strukt.viz import Bracket

PREDICTION = EntityPrediction([Bracket("person", 0, 1, probability=0.9)], 0, (), {})


def test_json_lines_get_the_probabilities():
    [sentence] = json_lines.read(io.BytesIO(b'{"tokens": ["Ada", "spoke"]}'))
    [entity] = json.loads(str(PREDICTION.annotate(sentence)))["entities"]
    assert entity["type"] == "person"
    assert entity["p"] == 0.9


@pytest.mark.parametrize(
    ("reader", "text"),
    [
        (layers.read, b"Ada\tO\nspoke\tO\n\n"),
        (entity_notes.read, b"1\tAda" + b"\t_" * 8 + b"\n2\tspoke" + b"\t_" * 8 + b"\n\n"),
    ],
)
def test_formats_without_a_place_for_probabilities_get_the_entities_alone(reader, text):
    [sentence] = reader(io.BytesIO(text))
    annotated = PREDICTION.annotate(sentence)
    assert annotated.entities == [Entity(0, 1, "person")]
    assert "0.9" not in str(annotated)


@pytest.mark.parametrize(
    ("reader", "text"),
    [
        (json_lines.read, '{"tokens": ["Ada"], "forbidden": [{"start": 0, "end": 1, "label": "person"}]}'),
        (json_lines.read, '{"tokens": ["Ada"], "entities": [], "partial": true}'),
        (entity_notes.read, "# entities = partial\n1\tAda" + "\t_" * 8),
        (entity_notes.read, Part("span", (0, 1), "person").comment() + "\n1\tAda" + "\t_" * 8),
    ],
)
def test_predictions_for_partially_annotated_sentences_are_complete(reader, text):
    [sentence] = reader(io.StringIO(f"{text}\n\n" if reader is entity_notes.read else text))
    assert sentence.is_partial or sentence.forbidden
    annotated = PREDICTION.annotate(sentence)
    assert (annotated.entities, annotated.is_partial, annotated.forbidden) == ([Entity(0, 1, "person")], False, [])
