"""Models on corpora: scores with intervals, and speed."""

import pytest
import torch
from tests import tiny_corpora
from torch import nn

from strukt.data import text
from strukt.errors import DataError
from strukt.tasks import lm
from strukt.tasks.dependency.model import Parser
from strukt.tasks.lm.model import LanguageModel
from strukt.train.trial import run_trial

SENTENCES = tiny_corpora.trees(30)


@pytest.fixture(scope="module")
def parser():
    torch.manual_seed(0)
    model = Parser.from_corpus(tiny_corpora.dependency_config(), SENTENCES)
    for parameter in model.parameters():  # so that some arcs are right, and some are not
        nn.init.normal_(parameter, std=0.3)
    return model


def test_the_scores_are_those_of_evaluation(parser):
    trial = run_trial(parser, iter(SENTENCES), "tiny")
    assert trial.scores == parser.evaluate(SENTENCES)
    assert (trial.name, trial.sentences, trial.words) == ("tiny", 30, sum(map(len, SENTENCES)))
    assert trial.seconds > 0
    assert "1 thread" in trial.machine or "threads" in trial.machine


def test_each_score_has_an_interval_around_it(parser):
    trial = run_trial(parser, SENTENCES, "tiny")
    assert trial.intervals.keys() == trial.scores.keys()
    for name, (low, high) in trial.intervals.items():
        assert low <= trial.scores[name] <= high
    assert trial.intervals["UAS"][0] < trial.intervals["UAS"][1]


def test_scores_that_are_not_sums_over_sentences_have_none(tmp_path):
    corpus = tmp_path / "text.txt"
    corpus.write_text("a b c\n" * 20)
    model = LanguageModel.from_corpus(lm.Config(model="kneser-ney"), list(text.read(str(corpus))))
    model.calibrate(list(text.read(str(corpus))))
    trial = run_trial(model, text.read(str(corpus)), "text")
    assert trial.scores["perplexity"] > 0
    assert trial.intervals == {}


def test_an_empty_corpus_is_refused(parser):
    with pytest.raises(DataError, match=r"empty\.conllu: holds no sentence"):
        run_trial(parser, [], "empty.conllu")
