"""Classification by trees that nobody has annotated."""

import io
from typing import get_args

import pytest
import torch
from tests import tiny_corpora
from tests.tasks import learning
from tests.tasks.classify.test_model import SENTENCES

from strukt.data.classes import labelled
from strukt.data.conllu import sentence_labels
from strukt.distributions import NonProjectiveTree
from strukt.errors import DataError, SettingError
from strukt.nn.estimators import ESTIMATORS
from strukt.tasks.classify import Config
from strukt.tasks.classify.model import Classifier
from strukt.tasks.common.classes.config import EstimatorName


def config(**latent):
    found = tiny_corpora.small(Config(model="latent-tree"))
    found.latent.hidden, found.latent.arc_size = 16, 8
    for name, value in latent.items():
        setattr(found.latent, name, value)
    return found


def learned(config, sentences=SENTENCES):
    return learning.learned(Classifier, config, sentences, 60, rate=2e-2)[0]


def test_the_options_are_all_estimators():
    assert get_args(EstimatorName) == tuple(ESTIMATORS)


@pytest.mark.parametrize(
    "estimator",  # tests/tasks/nli tries two of the others
    [
        pytest.param(each, marks=() if each == "topk" else pytest.mark.slow)
        for each in ESTIMATORS
    ],
)
def test_every_estimator_learns_a_tiny_corpus(estimator):
    model = learned(config(estimator=estimator, reader="gcn"))
    scores = model.evaluate(SENTENCES)
    assert scores["accuracy"] == 100.0
    assert ("trees" in scores) == (estimator not in ("marginals", "relaxed"))
    if estimator in ("argmax", "spigot", "perceptron", "sample"):
        assert scores["trees"] == 1.0


@pytest.mark.parametrize(
    "tree",
    ["flat", *(pytest.param(tree, marks=pytest.mark.slow) for tree in ("left-to-right", "right-branching"))],
)
def test_trees_that_are_always_the_same(tree):
    model = learned(config(tree=tree))
    assert model.evaluate(SENTENCES) == {"accuracy": 100.0}
    with pytest.raises(SettingError, match="has no latent trees"):
        model.distribution(SENTENCES)


def test_given_trees_are_read():
    rest, words = "\tx\t_\t_\n", ("1\tfine" + "\t_" * 4, "2\tdull" + "\t_" * 4)
    content = "".join(
        f"# label = {label}\n{words[0]}\t{heads[0]}{rest}{words[1]}\t{heads[1]}{rest}\n"
        for label, heads in (("good", (0, 1)), ("bad", (2, 0)))
    )
    sentences = list(sentence_labels.read(io.BytesIO(content.encode())))
    assert [sentence.plain.heads for sentence in sentences] == [[0, 1], [2, 0]]
    assert learned(config(tree="given"), sentences).evaluate(sentences) == {"accuracy": 100.0}
    assert learned(config(tree="flat"), sentences).evaluate(sentences) == {"accuracy": 50.0}
    message = "--latent.tree given reads the trees of CoNLL-U files, and running text has none"
    with pytest.raises(DataError, match=f"<stream>:1: {message}"):
        Classifier.trainable(config(tree="given"), SENTENCES)
    model = Classifier.from_corpus(config(tree="given"), sentences)
    with pytest.raises(DataError, match=f"<stream>:1: {message}"):
        model.require_annotated(SENTENCES[0])
    with pytest.raises(DataError, match=f"<stream>:1: {message}"):
        list(model.predict(SENTENCES))


def test_given_trees_need_neither_class_nor_relations_to_predict_one():
    def sentence(heads, comment=""):
        rows = [
            f"{number}\tfine" + "\t_" * 4 + f"\t{head}" + "\t_" * 3 for number, head in enumerate(heads, 1)
        ]
        content = "\n".join([comment, *rows] if comment else rows) + "\n\n"
        return next(iter(sentence_labels.read(io.BytesIO(content.encode()))))

    labelled_ones = [sentence([0, 1], f"# label = {label}") for label in ("good", "bad")]
    model = Classifier.from_corpus(config(tree="given"), labelled_ones).eval()
    [found] = model.predict([sentence([2, 0])])
    assert found.label in ("good", "bad")
    for heads, message in (([2, 1], "no word has head 0"), ([0, 3, 2], "the heads form a cycle: 2 -> 3")):
        with pytest.raises(DataError, match=message):
            list(model.predict([sentence(heads)]))
        with pytest.raises(DataError, match=message):
            Classifier.trainable(config(tree="given"), [*labelled_ones, sentence(heads, "# label = bad")])


def test_the_loss_is_that_of_the_sum_over_trees():
    """The k best of a few words are all trees, so that it can be written out."""
    torch.manual_seed(0)
    model = Classifier.from_corpus(config(estimator="topk", count=9), SENTENCES).eval()
    batch = model.collate(SENTENCES[:3])
    vectors = model.encoder(batch.inputs, batch.lengths)
    trees = model.distribution_of(batch)
    assert isinstance(trees, NonProjectiveTree)
    events = trees.enumerate_support()
    log_probs = []
    for event in events:
        of_root = model.tree_reader.network(vectors, trees.to_parts(event), batch.lengths).root
        log_probs.append(
            trees.log_prob(event)
            + model.score(of_root).log_softmax(-1)[range(3), batch.targets["label"][:, 0]]
        )
    torch.testing.assert_close(model.loss(batch), -torch.stack(log_probs).logsumexp(0).mean())


FEW = {
    "sparsemap": {},
    "sparse-marginals": {"reader": "gcn"},
    "topk": {"count": 3},
    "argmax": {},
    "sample": {},
}


@pytest.mark.parametrize("estimator", FEW)
def test_what_is_drawn_is_what_prediction_reads(estimator):
    torch.manual_seed(0)
    model = Classifier.from_corpus(config(estimator=estimator, **FEW[estimator]), SENTENCES).eval()
    for name in ("score", "dependent", "head"):
        torch.nn.init.normal_(getattr(model.tree_reader.scorer, name).weight, std=0.01)
    for sentence in SENTENCES:
        with model.predicting():
            mixture = model._read(model.collate([sentence], with_targets=False))
        [few] = model.structures(sentence)
        heads = [torch.tensor(picture.heads) for picture in few.pictures]
        arcs = sum(
            weight * torch.nn.functional.one_hot(tree, len(sentence) + 1)
            for weight, tree in zip(few.weights, heads, strict=True)
        )
        read = mixture.expected(mixture.parts)[0]
        torch.testing.assert_close(arcs, read.to(arcs), atol=0.1, rtol=0)
        assert model.evaluate([sentence])["trees"] >= len(heads)
        if estimator not in ("sparsemap", "sparse-marginals"):
            assert model.evaluate([sentence])["trees"] == len(heads)


def test_many_alike_trees_are_counted_and_drawn_as_far_as_prediction_looks():
    """An exact solution would have all of them."""
    torch.manual_seed(0)
    model = Classifier.from_corpus(config(), SENTENCES).eval()
    torch.nn.init.normal_(model.tree_reader.scorer.score.weight, std=0.1)
    long = next(labelled.read(io.BytesIO(b"good\t" + b"a fine film " * 6 + b"\n")))
    assert (model.distribution([long]).sparsemap().weights > 0).sum() > 20
    [few] = model.structures(long)
    assert 1 < len(few.pictures) <= 20
    assert model.evaluate([long])["trees"] == len(few.pictures) + few.others
    certain = next(labelled.read(io.BytesIO(b"good\ta\n")))
    assert model.ambiguous([certain, long], 1) == [long]


@pytest.mark.parametrize("estimator", ["argmax", "topk"])
def test_of_one_tree_alone_none_is_ambiguous(estimator):
    model = Classifier.from_corpus(config(estimator=estimator, count=1), SENTENCES)
    assert [few.weights for few in model.structures(SENTENCES[0])] == [[pytest.approx(1.0)]]
    with pytest.raises(SettingError, match="reads a single structure of each sentence"):
        model.ambiguous(SENTENCES, 1)


@pytest.mark.parametrize("estimator", ["marginals", "sparse-marginals", "relaxed"])
def test_soft_trees_are_not_for_the_lstm(estimator):
    with pytest.raises(SettingError, match=f"latent.estimator {estimator} gives soft trees"):
        Classifier.from_corpus(config(estimator=estimator), SENTENCES)
