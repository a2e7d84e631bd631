"""Predictions of words: their notes take the place of earlier ones, and pictures show nothing but predictions."""

import io

import pytest

from strukt.data import columns, conllu
from strukt.data.parts import Part
from strukt.tasks.common.prediction import WordPrediction
from strukt.tasks.pipeline.prediction import JointPrediction

TAGS, ARCS = {"xpos": ["X", "Y"]}, {"head": [2, 0], "deprel": ["a", "root"]}
OF_TAGS, OF_ARCS = {"p": ["0.5000", "0.2500"]}, {"p": ["0.7500", "1.0000"], "p_label": ["0.6000", "0.9000"]}
OF_BOTH = OF_ARCS | {"p_tag": ["0.5000", "0.2500"]}
SENTENCE = conllu.from_forms(["a", "dog"]).with_misc(Gloss=["b", "c"])


def noted(notes):
    return SENTENCE.with_misc(**notes)


def notes_of(sentence):
    """The notes of each word, in any order."""
    return [set(misc.split("|")) for misc in sentence.column("misc")]


@pytest.mark.parametrize(
    ("before", "columns", "after"),
    [
        (OF_TAGS, TAGS, {}),
        (OF_TAGS | {"code": ["0f", "a0"]}, TAGS, {}),
        (OF_TAGS, ARCS, OF_TAGS),
        (OF_ARCS, TAGS, OF_ARCS),
        (OF_ARCS, ARCS, {}),
        (OF_BOTH, TAGS, OF_ARCS),
        (OF_BOTH, ARCS, {"p_tag": OF_BOTH["p_tag"]}),
        (OF_BOTH, TAGS | ARCS, {}),
        ({"p": ["12", "1.5000"]}, TAGS, {"p": ["12", "1.5000"]}),
        ({"code": ["0f", "a0"]}, TAGS, {"code": ["0f", "a0"]}),
    ],
)
def test_probabilities_of_what_is_replaced_are_removed(before, columns, after):
    assert WordPrediction(columns).annotate(noted(before)) == noted(after).annotated(**columns)


def test_new_probabilities_leave_no_earlier_ones():
    predicted = WordPrediction(TAGS, OF_TAGS).annotate(noted({"p_tag": ["0.5000", "0.2500"]}))
    assert predicted == noted(OF_TAGS).annotated(**TAGS)


@pytest.mark.parametrize("code", [{}, {"code": ["0f", "a0"]}])
def test_the_probabilities_of_tags_and_those_of_arcs_do_not_replace_each_other(code):
    tags, arcs = WordPrediction(TAGS, OF_TAGS | code), WordPrediction(ARCS, OF_ARCS)
    both = OF_BOTH | code
    for first, second in ((arcs, tags), (tags, arcs)):
        sentence = second.annotate(first.annotate(SENTENCE))
        assert notes_of(sentence) == notes_of(noted(both))
        for again in (tags, arcs):
            assert notes_of(again.annotate(sentence)) == notes_of(noted(both))
        assert WordPrediction(TAGS).annotate(sentence) == noted(OF_ARCS).annotated(**TAGS, **ARCS)


def test_a_word_that_looks_like_a_note_is_none():
    [sentence] = columns.read(io.BytesIO(b"p_label=0.5000\tX\n\n"))
    prediction = WordPrediction({"tag": ["Y"]}, {"p": ["0.5000"]})
    assert str(prediction.annotate(sentence)) == "p_label=0.5000\tY\tp=0.5000\n\n"


def test_probabilities_in_columns_are_removed():
    [sentence] = columns.read(io.BytesIO(b"a\tX\tp=0.5000\ndog\tY\n\n"))
    assert str(WordPrediction({"tag": ["Y", "X"]}).annotate(sentence)) == "a\tY\t_\ndog\tX\t_\n\n"
    [sentence] = columns.read(io.BytesIO(b"a\tp=\ndog\tY\n\n"))
    assert str(WordPrediction({"tag": ["Y", "X"]}).annotate(sentence)) == "a\tY\ndog\tX\n\n"


@pytest.mark.parametrize(("columns", "left"), [(TAGS, "arc"), (ARCS, "tag"), (TAGS | ARCS, "")])
def test_what_is_predicted_is_no_longer_forbidden(columns, left):
    parts = [Part("tag", (1,), "X"), Part("arc", (1, 2), "a"), Part("span", (0, 1), "NP")]
    annotated = WordPrediction(columns).annotate(SENTENCE.forbidding(parts))
    assert [part.kind for part in annotated.forbidden] == [kind for kind in (left, "span") if kind]


def test_the_picture_of_tags_shows_neither_arcs_nor_notes_of_the_sentence():
    sentence = noted(OF_ARCS).annotated(**ARCS, xpos=["A", "B"]).annotated(misc=["p=0.9", "_"])
    for column in ("xpos", "upos"):
        picture = WordPrediction({column: ["X", "Y"]}, OF_TAGS).diagram(sentence)
        assert (picture.tags, picture.heads, picture.relations) == (["X", "Y"], [], [])
        assert (picture.tag_probabilities, picture.head_probabilities) == ([0.5, 0.25], ())
    assert not WordPrediction(TAGS).diagram(sentence).tag_probabilities


def test_the_picture_of_arcs_shows_the_tags_of_the_sentence_but_not_its_notes():
    sentence = noted(OF_TAGS).annotated(**TAGS)
    picture = WordPrediction(ARCS).diagram(sentence)
    assert (picture.tags, picture.heads, picture.relations) == (["X", "Y"], [2, 0], ["a", "root"])
    assert not picture.tag_probabilities
    assert not picture.head_probabilities
    assert WordPrediction(ARCS, OF_ARCS).diagram(sentence).head_probabilities == [0.75, 1.0]


def test_the_picture_of_tags_in_columns():
    [sentence] = columns.read(io.BytesIO(b"a\tX\tp=0.5000\ndog\tY\n\n"))
    picture = WordPrediction({"tag": ["Y", "X"]}, OF_TAGS).diagram(sentence)
    assert (picture.tags, picture.tag_probabilities) == (["Y", "X"], [0.5, 0.25])


def test_the_picture_of_a_pipeline_has_its_tags_and_arcs():
    sentence = noted(OF_BOTH).annotated(xpos=["A", "B"])
    tags = WordPrediction({"upos": ["X", "Y"]}, {"p_tag": ["0.5000", "0.2500"]})
    picture = JointPrediction({"tag": tags, "dependency": WordPrediction(ARCS)}).diagram(sentence)
    assert (picture.tags, picture.heads) == (["X", "Y"], [2, 0])
    assert not picture.head_probabilities
    assert JointPrediction({"tag": tags}).diagram(sentence).tag_probabilities == [0.5, 0.25]
