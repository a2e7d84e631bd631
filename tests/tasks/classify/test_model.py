"""The classifier: by a root, or by a word at the end."""

import io

import pytest
import torch
from tests import tiny_corpora
from tests.tasks import learning

from strukt.data.classes import labelled
from strukt.data.vocabulary import CLS, END
from strukt.errors import DataError
from strukt.tasks.classify import Config
from strukt.tasks.classify.model import Classifier

SENTENCES = list(
    labelled.read(
        io.BytesIO(
            b"good\ta fine film\nbad\ta dull film\ngood\tfine and moving\nbad\tdull\n"
            b"good\twhat a fine , moving film\nbad\ta dull , dull thing\n"
        )
    )
)


def config(kind="bilstm", root_labels=0, root_output="scores", token="end"):
    found = tiny_corpora.small(Config(token=token))
    found.encoder.kind, found.encoder.pt.root_labels = kind, root_labels
    found.encoder.pt.root_output = root_output
    return found


KINDS = {
    "bilstm": config(),
    "lstm": config("lstm"),
    "root": config("pt", 8),
    "probable root": config("pt", 8, "probabilities"),
    "pt": config("pt"),
    "cls": config("transformer", token="cls"),
}


LONG = {"pt", "root"}
"""Kinds that learn for a second; with probabilities, the transformer of `root` always runs."""


@pytest.fixture(
    scope="module",
    params=[pytest.param(kind, marks=pytest.mark.slow if kind in LONG else ()) for kind in sorted(KINDS)],
)
def model(request):
    return learning.learned(Classifier, KINDS[request.param], SENTENCES, 80, rate=2e-2)[0]


def test_a_tiny_corpus_is_learned_by_heart(model):
    assert model.evaluate(SENTENCES) == {"accuracy": 100.0}


def test_predicting_replaces_the_class_and_notes_its_probability(model):
    bare = [sentence.annotated(label="unknown") for sentence in SENTENCES]
    assert [str(sentence) for sentence in model.predict(bare)] == [str(sentence) for sentence in SENTENCES]
    with_notes = [str(sentence).rstrip() for sentence in model.predict(SENTENCES, probabilities=True)]
    for line, sentence in zip(with_notes, SENTENCES, strict=True):
        words, note = line.rsplit("\tp=", 1)
        assert words == str(sentence).rstrip()
        assert 0.5 < float(note) <= 1


def test_the_picture_has_the_probability_of_each_class(model):
    [picture] = model.diagrams(SENTENCES[:1])
    assert picture.columns == ["bad", "good"]
    assert sum(picture.values[0]) == pytest.approx(1)
    assert picture.values[0][1] > 0.5


def test_without_a_root_a_word_at_the_end_stands_for_the_sentence():
    assert Classifier.forms_of(KINDS["pt"], SENTENCES[3]) == ["dull", END]
    assert Classifier.forms_of(KINDS["root"], SENTENCES[3]) == ["dull"]
    model = Classifier.from_corpus(KINDS["lstm"], SENTENCES).eval()
    assert END in model.vocabularies["words"]
    batch = model.collate(SENTENCES)
    vectors = model.encoder(batch.inputs, batch.lengths)
    of_sentences = model.encoder.of_sentences(batch.inputs, batch.lengths)
    for row, sentence in enumerate(SENTENCES):
        torch.testing.assert_close(of_sentences[row], vectors[row, len(sentence)])


def test_a_word_in_front_does_if_it_is_chosen():
    assert Classifier.forms_of(KINDS["cls"], SENTENCES[3]) == [CLS, "dull"]
    model = Classifier.from_corpus(KINDS["cls"], SENTENCES).eval()
    assert CLS in model.vocabularies["words"]
    batch = model.collate(SENTENCES)
    vectors = model.encoder(batch.inputs, batch.lengths)
    torch.testing.assert_close(model.sentences(batch.inputs, batch.lengths), vectors[:, 0])


def test_with_a_root_its_scores_or_probabilities_do():
    of_sentences = {}
    for name in ("root", "probable root"):
        torch.manual_seed(0)
        model = Classifier.from_corpus(KINDS[name], SENTENCES).eval()
        batch = model.collate(SENTENCES)
        of_sentences[name] = model.encoder.of_sentences(batch.inputs, batch.lengths)
    scores, probabilities = of_sentences.values()
    assert scores.shape == (6, 8)
    assert (scores.sum(-1) - 1).abs().min() > 1e-3
    assert scores.std(0).min() > 0  # it depends on the sentence
    torch.testing.assert_close(scores.softmax(-1), probabilities)


def test_sentences_without_a_class_and_corpora_of_one_class_are_refused():
    [bare] = labelled.read_text(io.BytesIO(b"a fine film\n"))
    with pytest.raises(DataError, match="the sentence has no class; write it before the words"):
        Classifier.from_corpus(config(), [*SENTENCES, bare])
    with pytest.raises(DataError, match="at least two classes, found good"):
        Classifier.from_corpus(config(), SENTENCES[:1])
