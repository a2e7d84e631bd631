"""The tagger: what it learns, what it writes, and what it refuses."""

import pytest
import torch
from tests import tiny_corpora
from tests.tasks import learning

from strukt.data import conllu
from strukt.errors import DataError
from strukt.tasks.tagger import Tagger


def learned(config, sentences, steps=60):
    return learning.learned(Tagger, config, sentences, steps, rate=2e-2)


@pytest.mark.parametrize("criterion", ["cross-entropy", "crf"])
def test_a_tiny_corpus_is_learned_by_heart(criterion):
    sentences = tiny_corpora.trees(12)
    model, losses = learned(tiny_corpora.tag_config(criterion=criterion), sentences)
    assert losses[-1] < losses[0] / 5
    assert model.evaluate(sentences) == {"accuracy": 100.0}


def test_predicting_replaces_the_column_and_nothing_else():
    sentences = tiny_corpora.trees(12)
    model, _ = learned(tiny_corpora.tag_config(), sentences)
    bare = [sentence.annotated(xpos=["_"] * len(sentence)) for sentence in sentences]
    assert [str(sentence) for sentence in model.predict(bare)] == [str(sentence) for sentence in sentences]


def test_probabilities_are_noted_for_each_word():
    sentences = tiny_corpora.trees(12)
    model, _ = learned(tiny_corpora.tag_config(), sentences)
    predicted = next(iter(model.predict(sentences[:1], probabilities=True)))
    notes = [float(misc.removeprefix("p=")) for misc in predicted.column("misc")]
    assert all(0.5 < note <= 1 for note in notes)
    marginals = model.distribution(sentences[:1]).marginals[0]
    assert notes == pytest.approx(marginals.amax(-1).tolist(), abs=1e-4)


def test_the_lattice_has_the_marginals_of_tags_and_steps():
    sentences = tiny_corpora.trees(12)
    model, _ = learned(tiny_corpora.tag_config(), sentences, steps=10)
    for sentence in (sentences[0], conllu.from_forms(["one"])):
        lattice, chain = model.lattice(sentence), model.distribution([sentence])
        assert lattice.forms == sentence.forms
        assert lattice.tags == model.vocabularies["labels"].symbols
        torch.testing.assert_close(torch.tensor(lattice.marginals), chain.marginals[0])
        found = torch.tensor(lattice.transitions).reshape(chain.transition_marginals[0].shape)
        torch.testing.assert_close(found, chain.transition_marginals[0])


def test_upos_can_be_chosen():
    sentences = [sentence.annotated(xpos=["X"] * len(sentence)) for sentence in tiny_corpora.trees(6)]
    model, _ = learned(tiny_corpora.tag_config(column="upos"), sentences, steps=5)
    predicted = next(iter(model.predict(sentences)))
    assert set(predicted.column("xpos")) == {"X"}
    assert "DT" in model.vocabularies["labels"]


def test_entities_are_scored_as_spans(tmp_path):
    sentences = tiny_corpora.read_entities(tmp_path)
    model, _ = learned(tiny_corpora.tag_config(criterion="crf", constraints="bio"), sentences)
    assert model.selection == "f1"
    assert model.evaluate(sentences)["f1"] == 100.0


@pytest.mark.parametrize("criterion", ["cross-entropy", "crf"])
def test_constraints_hold_whatever_the_scores(tmp_path, criterion):
    sentences = tiny_corpora.read_entities(tmp_path)
    config = tiny_corpora.tag_config(criterion=criterion, constraints="bio")
    model = Tagger.from_corpus(config, sentences)
    inside = model.vocabularies["labels"].index("I-PER")
    with torch.no_grad():
        model.score.bias[inside] += 3  # I-PER seems best everywhere, but it may not begin a sentence
    for predicted in model.predict(sentences):
        Tagger.trainable(config, [predicted])
        assert "I-PER" in predicted.column("tag")


def test_gold_tags_that_break_the_constraints_are_named(tmp_path):
    sentences = tiny_corpora.read_entities(tmp_path, count=1)
    wrong = [sentences[0].annotated(tag=["O", "I-PER", "O", "B-LOC", "O"])]
    with pytest.raises(DataError, match=r"entities.tsv:1: I-PER follows O, but BIO begins a span with B-PER"):
        Tagger.trainable(tiny_corpora.tag_config(constraints="bio"), wrong)
    Tagger.trainable(tiny_corpora.tag_config(), wrong)


def test_a_corpus_without_tags_is_refused():
    sentences = [conllu.from_forms(["It", "works"])]
    with pytest.raises(DataError, match="column xpos: expected at least two different tags, found _"):
        Tagger.from_corpus(tiny_corpora.tag_config(), sentences)


def test_with_cross_entropy_the_chain_is_a_softmax_per_word():
    sentences = tiny_corpora.trees(4)
    model, _ = learned(tiny_corpora.tag_config(), sentences, steps=5)
    batch = model.eval().collate(sentences)
    with torch.no_grad():
        log_prob = model.distribution_of(batch).log_prob(batch.targets["tags"])
        assert model.loss(batch).item() == pytest.approx(
            (-log_prob.sum() / batch.lengths.sum()).item(), rel=1e-5
        )
