"""Prediction: a stream in order, in any batches, in constant memory."""

import itertools

import pytest
import torch
from tests import tiny_corpora

from strukt.data import conllu
from strukt.tasks.common.sentence_model import WINDOW
from strukt.tasks.dependency.model import Parser
from strukt.tasks.tag.model import Tagger

SENTENCES = tiny_corpora.trees(30)


@pytest.fixture(params=["tag", "dependency"])
def model(request):
    torch.manual_seed(0)
    if request.param == "tag":
        return Tagger.from_corpus(tiny_corpora.tag_config(criterion="crf"), SENTENCES).eval()
    parser = Parser.from_corpus(tiny_corpora.dependency_config(), SENTENCES).eval()
    torch.nn.init.normal_(parser.arc_score.weight)
    return parser


def test_the_order_is_kept_over_many_windows(model):
    count = 2 * WINDOW + 3
    stream = itertools.islice(itertools.cycle(SENTENCES), count)
    predicted = list(model.predict(stream))
    assert [sentence.forms for sentence in predicted] == [SENTENCES[i % 30].forms for i in range(count)]


def test_the_first_answer_comes_at_once_and_no_more_is_read_than_a_window(model):
    read = 0

    def endless():
        nonlocal read
        for sentence in itertools.cycle(SENTENCES):
            read += 1
            yield sentence

    predicted = model.predict(endless())
    next(predicted)
    assert read == 1
    for count in range(2, 2 * WINDOW):
        next(predicted)
        assert read < count + WINDOW


def test_nothing_in_nothing_out(model):
    assert list(model.predict([])) == []
    assert set(model.evaluate([]).values()) == {0.0}


def test_one_word_and_very_long_sentences(model):
    sentences = [conllu.from_forms(["cat"]), conllu.from_forms(["cat", "sees"] * 400)]
    assert [len(sentence) for sentence in model.predict(sentences, probabilities=True)] == [1, 800]


def test_predicting_leaves_the_mode_of_training_as_it_was(model):
    model.train()
    list(model.predict(SENTENCES[:3]))
    assert model.training
    assert all(parameter.grad is None for parameter in model.parameters())


def test_the_same_model_predicts_the_same_twice(model):
    model.train()  # dropout must not act
    twice = [[str(sentence) for sentence in model.predict(SENTENCES)] for _ in range(2)]
    assert twice[0] == twice[1]


def test_out_of_memory_halves_the_batch(model, monkeypatch):
    expected = [str(sentence) for sentence in model.predict(SENTENCES)]
    encode = model.encoder.inputs

    def small_memory(sentences):
        if len(sentences) > 2:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return encode(sentences)

    monkeypatch.setattr(model.encoder, "inputs", small_memory)
    with pytest.warns(UserWarning, match="out of memory with"):
        assert [str(sentence) for sentence in model.predict(SENTENCES)] == expected


def test_evaluating_compares_with_the_gold_annotation(model):
    predicted = list(model.predict(SENTENCES))
    assert max(model.evaluate(predicted).values()) == 100.0
    assert min(model.evaluate(SENTENCES).values()) < 100.0
