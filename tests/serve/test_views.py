"""What the service shows is what the distribution is."""

import re
import xml.etree.ElementTree as ElementTree
from collections import Counter
from functools import cache

import pytest
import torch
from tests import tiny_corpora
from tests.serve.models import KINDS, TEXT
from tests.tasks.learning import learned

from strukt.serve.layers import RequestError
from strukt.serve.messages import Arc, PredictRequest, Span, Tag
from strukt.serve.sentences import sentence_of
from strukt.serve.served_model import serve
from strukt.serve.structures import PartError
from strukt.serve.views import AT_A_TIME, SEARCHES
from strukt.serve.workers import Deadline, LateError
from strukt.tasks.pipeline.model import Pipeline
from strukt.viz.canvas.wording import two_digits
from strukt.viz.pictures.overlay.picture import MOST
from strukt.viz.structures import LEAST

NAMED = ["parser", "projective", "tagger", "constituency", "ner"]
"""Models whose parts have names and marginals."""

DISTRIBUTIONS = [*NAMED, "codes"]

FIELDS = dict.fromkeys(DISTRIBUTIONS, ("start", "end", "label")) | {
    "parser": ("word", "head"),
    "projective": ("word", "head"),
    "tagger": ("word", "tag"),
}
"""The fields of parts by model."""


@cache
def served(name):
    return serve(name, KINDS[name](), 50)


def structures_of(name):
    """Those of a model of a single task."""
    (structures,) = served(name).structures.values()
    return structures


def answered(name, text=TEXT, **question):
    model = served(name)
    asked = PredictRequest(texts=[text], **question)
    (sentence,) = model.sentences(asked)
    return model.predict(sentence, asked, Deadline())


def distribution(name, text=TEXT):
    model = KINDS[name]()
    return model.distribution([sentence_of(model, text, 50)])


def tempered(name, temperature):
    found = distribution(name)
    return found._with_scores(*(score / temperature for score in found.scores))


def event_of(structure):
    """The parts of a structure in an answer."""
    return {tuple(each.part.model_dump(exclude_none=True).values()) for each in structure.parts}


def parts_of(name, event):
    """The parts of an event of the distribution, but for empty spans."""
    structures = structures_of(name)
    found = (structures.part(index) for index in structures.used(event, PredictRequest(texts=[TEXT])))
    return {tuple(part.model_dump(exclude_none=True).values()) for part in found if part is not None}


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_the_mode_is_that_of_the_distribution(name):
    (structure,) = answered(name).structures
    found = distribution(name)
    assert event_of(structure) == parts_of(name, found.mode[0])
    assert structure.probability == pytest.approx(found.log_prob(found.mode).exp().item(), rel=1e-5)
    assert structure.weight is None


@pytest.mark.parametrize("temperature", [0.5, 2.0])
@pytest.mark.parametrize("name", NAMED)
def test_marginals_are_those_at_the_temperature(name, temperature):
    answer = answered(name, view="marginals", temperature=temperature)
    structures, marginals = structures_of(name), tempered(name, temperature).marginals[0]
    known = {structures.index(each.part): each.probability for each in answer.alternatives}
    expected = {
        tuple(index): marginals[tuple(index)].item()
        for index in (marginals >= LEAST).nonzero().tolist()
        if structures.part(tuple(index)) is not None
    }
    assert known == pytest.approx(expected, abs=1e-6)
    (structure,) = answer.structures
    for each in structure.parts:
        assert each.probability == pytest.approx(marginals[structures.index(each.part)].item(), abs=1e-6)


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_the_best_ones_are_those_of_the_distribution(name):
    structures = answered(name, view="kbest", k=4, temperature=2.0).structures
    found = tempered(name, 2.0)
    scores, events = found.topk(4)
    assert [event_of(each) for each in structures] == [parts_of(name, event) for event in events[0]]
    expected = (scores[0] - found.log_partition).exp().tolist()
    assert [each.probability for each in structures] == pytest.approx(expected, rel=1e-4)
    assert expected == sorted(expected, reverse=True)


def test_fewer_structures_than_were_asked_for():
    assert len(answered("parser", text="cat sees", view="kbest", k=50).structures) == 2


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_samples_are_those_of_the_distribution(name):
    structures = answered(name, view="samples", k=12, seed=7, temperature=2.0).structures
    torch.manual_seed(7)
    drawn = [parts_of(name, event[0]) for event in tempered(name, 2.0).sample((12,))]
    weights = [each.weight for each in structures]
    assert weights == sorted(weights, reverse=True)
    assert sum(weights) == pytest.approx(1)
    for structure in structures:
        assert event_of(structure) in drawn
    if name in ("parser", "projective", "tagger"):  # whose parts are the whole structure
        for structure in structures:
            assert structure.weight == pytest.approx(drawn.count(event_of(structure)) / 12)


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_drawing_samples_neither_changes_the_random_state_of_all_threads_nor_looks_at_it(name):
    torch.manual_seed(1)
    before = torch.get_rng_state()
    first = answered(name, view="samples", k=AT_A_TIME + 3, temperature=4.0)
    assert torch.equal(before, torch.get_rng_state())
    torch.manual_seed(2)
    assert answered(name, view="samples", k=AT_A_TIME + 3, temperature=4.0) == first
    assert answered(name, view="samples", k=AT_A_TIME + 3, temperature=4.0, seed=2) != first


def test_samples_that_are_drawn_in_parts_differ_from_part_to_part():
    structures = answered("parser", view="samples", k=2 * AT_A_TIME, temperature=100.0).structures
    assert len(structures) > AT_A_TIME


class Limited(Deadline):
    """Has time for a number of steps."""

    def __init__(self, steps):
        object.__setattr__(self, "left", [None] * steps)

    def check(self):
        if not self.left:
            raise LateError
        self.left.pop()


@pytest.mark.parametrize(("view", "steps"), [("samples", 1), ("samples", 2), ("kbest", 2)])
def test_what_nobody_waits_for_ends_between_samples_and_between_structures(view, steps):
    model = served("parser")
    asked = PredictRequest(texts=[TEXT], view=view, k=2 * AT_A_TIME, temperature=4.0)
    (sentence,) = model.sentences(asked)
    with pytest.raises(LateError):
        model.predict(sentence, asked, Limited(steps))


def test_structures_that_are_next_to_impossible_have_a_probability_still():
    """Below what float32 can hold."""
    structures = answered("parser", view="kbest", k=20, temperature=0.01).structures
    assert 0 < structures[-1].probability < 1e-46


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_sparse_structures_are_those_of_sparsemap(name):
    structures = answered(name, view="sparsemap", temperature=2.0).structures
    found = tempered(name, 2.0).sparsemap(max_iterations=SEARCHES)
    weights, order = found.weights[0].sort(descending=True)
    expected = [weight for weight in weights.tolist() if weight >= LEAST]
    assert [each.weight for each in structures] == pytest.approx(expected, abs=1e-5)
    best = found.events[0, order[0]]
    assert event_of(structures[0]) == parts_of(name, best)


WRONG = {
    "parser": (Arc(word=3, head=1), Arc(word=2, head=3)),
    "projective": (Arc(word=3, head=1), Arc(word=2, head=3)),
    "tagger": (Tag(word=2, tag="VBZ"), Tag(word=3, tag="NN")),
    "constituency": (Span(start=1, end=3, label="VP"), Span(start=0, end=3, label="NP")),
    "ner": (Span(start=0, end=2, label="PER"), Span(start=2, end=3, label="LOC")),
}
"""For each model a part that it would not choose, and one that is to be forbidden."""


@pytest.mark.parametrize("view", ["mode", "marginals", "kbest"])
@pytest.mark.parametrize("name", NAMED)
def test_conditions_are_those_of_the_distribution(name, view):
    required, forbidden = WRONG[name]
    answer = answered(name, view=view, required=[required], forbidden=[forbidden])
    structures, found = structures_of(name), distribution(name)
    masks = [torch.zeros_like(found.scores[0], dtype=torch.bool) for _ in range(2)]
    for mask, part in zip(masks, (required, forbidden), strict=True):
        mask[(0, *structures.index(part))] = True
    given = found.condition(*masks)
    assert event_of(answer.structures[0]) == parts_of(name, given.mode[0])
    for structure in answer.structures:
        assert tuple(required.model_dump(exclude_none=True).values()) in event_of(structure)
        assert tuple(forbidden.model_dump(exclude_none=True).values()) not in event_of(structure)
    for each in answer.alternatives:
        expected = given.marginals[(0, *structures.index(each.part))].item()
        assert each.probability == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("view", ["mode", "marginals", "samples", "kbest", "sparsemap"])
def test_conditions_that_contradict_each_other_are_told(view):
    circle = [Arc(word=1, head=2), Arc(word=2, head=1)]
    with pytest.raises(RequestError, match="no structure has all required parts"):
        answered("parser", view=view, required=circle)


@pytest.mark.parametrize(
    ("name", "part", "message"),
    [
        ("parser", Arc(word=7, head=1), '{"word": 7, "head": 1}: the text has no such words'),
        ("parser", Arc(word=1, head=7), '{"word": 1, "head": 7}: the text has no such words'),
        ("parser", Arc(word=2, head=2), '{"word": 2, "head": 2}: a word cannot be its own head; give another'),
        ("parser", Tag(word=1, tag="NN"), "the parts of this model have word and head"),
        ("tagger", Span(start=0, end=1, label="NP"), "the parts of this model have word and tag"),
        ("ner", Arc(word=1, head=0), "the parts of this model have start, end and label"),
        ("tagger", Tag(word=1, tag="no"), "the model has no label 'no'"),
        ("ner", Span(start=5, end=9, label="PER"), "the text has no such words"),
    ],
)
def test_parts_that_are_not_there_are_told(name, part, message):
    with pytest.raises(PartError, match=message):
        answered(name, required=[part])


@pytest.mark.parametrize("name", ["codes", "softmax"])
def test_models_without_names_of_their_parts_have_fewer_views_and_no_conditions(name):
    card = served(name).card
    assert card.parts == {}
    assert answered(name, annotation=True).partial is None
    assert "marginals" not in card.views
    with pytest.raises(RequestError, match="has no parts that can be required"):
        answered(name, required=[Arc(word=1, head=0)])
    with pytest.raises(RequestError, match=f"view marginals: the model {name} has only mode"):
        answered(name, view="marginals")


def test_a_model_without_a_distribution_over_its_parts_gives_its_prediction():
    model = KINDS["softmax"]()
    answer = answered("softmax", pictures=True)
    (predicted,) = model.predict([sentence_of(model, TEXT, 50)])
    assert answer.output == str(predicted)
    assert answer.structures[0].pictures[0].startswith("<svg")


@pytest.mark.parametrize("name", NAMED)
@pytest.mark.parametrize("view", ["mode", "marginals", "samples"])
def test_pictures_have_an_element_for_each_part_and_no_style(name, view):
    (kind,) = served(name).card.parts
    for structure in answered(name, view=view, pictures=True, k=3).structures:
        (picture,) = structure.pictures
        assert "style=" not in picture
        if kind == "arc":
            found = re.findall(r'data-word="(\d+)" data-head="(\d+)"', picture)
            assert {tuple(map(int, each)) for each in found} == event_of(structure)
        if kind == "tag":
            assert re.findall(r'class="tag"[^>]*>([^<]+)<', picture) == [
                each.part.tag for each in structure.parts
            ]
        if kind == "span":
            labels = re.findall(r'class="label"[^>]*>([^<]+?) ?<', picture)
            assert labels == [label for each in structure.parts for label in each.part.label.split()]


@pytest.mark.parametrize("name", DISTRIBUTIONS)
@pytest.mark.parametrize("view", ["samples", "kbest", "sparsemap"])
def test_several_structures_are_one_picture_too_with_every_part_once(name, view):
    text = "the mayor of Rome visits Ada ." if name == "ner" else TEXT
    answer = answered(name, text, view=view, pictures=True, k=6, temperature=50.0)
    assert len(answer.structures) > 1
    fields = [f"data-{field}" for field in FIELDS[name]]
    root = ElementTree.fromstring(answer.overlay)
    drawn = [tuple(map(each.get, fields)) for each in root.iter() if {*fields} <= {*each.keys()}]
    places_and_labels = [part for shown in answer.structures[:MOST] for part in event_of(shown)]
    expected = {(*map(str, place), one) for *place, label in places_and_labels for one in str(label).split()}
    assert {*drawn} == expected
    assert len(drawn) == len(expected) or name == "codes"  # of which several have the same label
    assert "style=" not in answer.overlay


def test_weights_in_the_one_picture_are_those_of_the_structures():
    answer = answered("parser", view="kbest", pictures=True, k=5, temperature=3.0)
    expected = Counter()
    for structure in answer.structures:
        for each in structure.parts:
            expected[str(each.part.word), str(each.part.head)] += structure.probability
    whole = sum(structure.probability for structure in answer.structures)
    for group in ElementTree.fromstring(answer.overlay).findall("{*}g"):
        weight = expected[group.get("data-word"), group.get("data-head")]
        numbers = [each.text for each in group.findall(".//{*}tspan")]
        assert numbers == ([] if group.get("class") == "shared" else [two_digits(weight)])
        assert (group.get("class") == "shared") == (weight == pytest.approx(whole))


def test_a_single_structure_is_not_drawn_twice_and_nothing_is_drawn_or_written_unasked():
    assert answered("parser", pictures=True).overlay is None
    answer = answered("parser", view="kbest", k=4)
    assert (answer.overlay, answer.partial) == (None, None)
    assert {(str(each.pictures), each.annotation) for each in answer.structures} == {("[]", None)}


@pytest.mark.parametrize("name", ["parser", "constituency"])
def test_the_encoder_reads_a_sentence_once(name):
    model = served(name)
    encoder, read = model.model.encoder, []
    asked = PredictRequest(texts=[TEXT], view="kbest", k=3, pictures=True)
    (sentence,) = model.sentences(asked)
    inner = next(module for module in encoder.modules() if isinstance(module, torch.nn.LSTM))
    hook = inner.register_forward_hook(lambda *_: read.append(1))
    try:
        model.predict(sentence, asked, Deadline())
    finally:
        hook.remove()
    assert len(read) == 1


def flat_spans_of(structure):
    parts = [each.part for each in structure.parts if isinstance(each.part, Span)]
    return {(part.start, part.end, part.label) for part in parts}


def flat_spans(answer):
    return [flat_spans_of(structure) for structure in answer.structures]


@pytest.mark.parametrize("view", ["mode", "kbest", "samples", "sparsemap"])
def test_flat_entities_are_required_and_forbidden(view):
    text = "the mayor of Rome visits Ada ."
    required, forbidden = Span(start=4, end=6, label="LOC"), Span(start=0, end=4, label="PER")
    question = {"view": view, "k": 20, "temperature": 3.0}
    free = flat_spans(answered("flat", text, **question))
    assert (0, 4, "PER") in free[0]
    assert not any((4, 6, "LOC") in each for each in free[:1])
    answer = answered("flat", text, required=[required], forbidden=[forbidden], annotation=True, **question)
    for each, structure in zip(flat_spans(answer), answer.structures, strict=True):
        assert (4, 6, "LOC") in each
        assert (0, 4, "PER") not in each
        assert structure.annotation.count('"type"') == sum(len(label.split("\t")) for *_, label in each)
    assert '"forbidden": [{"start": 0, "end": 4, "label": "PER"}]' in answer.partial
    assert '"entities": [{"start": 4, "end": 6, "type": "LOC"}]' in answer.partial


@pytest.mark.parametrize(
    ("required", "message"),
    [
        ([Span(start=0, end=2, label="PER"), Span(start=1, end=3, label="PER")], "no structure has all required"),
        ([Span(start=0, end=2, label="PER"), Span(start=1, end=2, label="LOC")], "no structure has all required"),
        ([Span(start=3, end=2, label="PER")], "a span ends after its start"),
        ([Span(start=3, end=9, label="PER")], "the text has no such words"),
        ([Span(start=3, end=4, label="no")], "the model has no label 'no'"),
    ],
)
def test_flat_entities_that_cannot_be_are_told(required, message):
    with pytest.raises((RequestError, PartError), match=message):
        answered("flat", required=required)


def test_a_pipeline_with_flat_entities_has_all_parts():
    config = tiny_corpora.pipeline_config(entities="flat")
    model = serve("flat", learned(Pipeline, config, tiny_corpora.layers(4), 5)[0], 50)
    assert ([*model.card.parts], model.card.views) == (["tag", "arc", "span"], ["mode"])
    asked = PredictRequest(texts=[TEXT], required=[Span(start=1, end=3, label="agent")], pictures=True)
    answer = model.predict(*model.sentences(asked), asked, Deadline())
    assert (1, 3, "agent") in flat_spans_of(answer.structures[0])
    assert len(answer.structures[0].pictures) == 2
