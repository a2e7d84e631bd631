"""The parser: what it learns under each criterion, what it writes, and what it refuses."""

import itertools

import pytest
import torch
from tests import tiny_corpora
from tests.tasks.learning import learned

from strukt.data import conllu
from strukt.data.trees import is_projective
from strukt.errors import DataError
from strukt.tasks.parser import Parser

CRITERIA = ["head", "nonprojective", "projective"]


def untrained(sentences, **options):
    torch.manual_seed(0)
    model = Parser.from_corpus(tiny_corpora.dependency_config(**options), sentences)
    for biaffine in (model.arc_score, model.label_score):
        torch.nn.init.normal_(biaffine.weight)
    return model.eval()


@pytest.mark.parametrize("criterion", CRITERIA)
def test_a_tiny_corpus_is_learned_by_heart(criterion):
    sentences = tiny_corpora.trees(12)
    decoder = "projective" if criterion == "projective" else "nonprojective"
    model, losses = learned(
        Parser, tiny_corpora.dependency_config(criterion=criterion, decoder=decoder), sentences, 80
    )
    assert losses[-1] < losses[0] / 5
    assert model.evaluate(sentences) == {"UAS": 100.0, "LAS": 100.0, "CLAS": 100.0}


def test_predicting_replaces_heads_and_relations_and_nothing_else():
    sentences = tiny_corpora.trees(12)
    model, _ = learned(Parser, tiny_corpora.dependency_config(), sentences, 80)
    bare = [
        sentence.annotated(head=["_"] * len(sentence), deprel=["_"] * len(sentence)) for sentence in sentences
    ]
    assert [str(sentence) for sentence in model.predict(bare)] == [str(sentence) for sentence in sentences]


@pytest.mark.parametrize("decoder", ["nonprojective", "projective"])
def test_every_prediction_is_a_tree_with_one_root(decoder):
    sentences = tiny_corpora.trees(20)
    model = untrained(sentences, decoder=decoder)
    for predicted in model.predict(sentences):
        conllu.require_tree(predicted)
        assert decoder == "nonprojective" or is_projective(predicted.heads)


def test_probabilities_are_noted_for_each_arc_and_label():
    sentences = tiny_corpora.trees(3)
    model = untrained(sentences)
    marginals = model.distribution(sentences).marginals
    for row, predicted in enumerate(model.predict(sentences, probabilities=True)):
        for word, (head, misc) in enumerate(zip(predicted.heads, predicted.column("misc"), strict=True)):
            notes = dict(note.split("=") for note in misc.split("|"))
            assert float(notes["p"]) == pytest.approx(marginals[row, word, head].item(), abs=1e-4)
            assert 0 < float(notes["p_label"]) <= 1


@pytest.mark.parametrize("criterion", CRITERIA)
def test_the_loss_of_a_batch_is_the_mean_of_its_words(criterion):
    sentences = tiny_corpora.trees(5)
    model = untrained(sentences, criterion=criterion)
    with torch.no_grad():
        together = model.loss(model.collate(sentences)).item()
        apart = [(model.loss(model.collate([sentence])).item(), len(sentence)) for sentence in sentences]
    expected = sum(loss * words for loss, words in apart) / sum(words for _, words in apart)
    assert together == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize("criterion", CRITERIA)
def test_the_likelihood_is_that_of_the_formula(criterion):
    sentences = [short([2, 0, 2, 3]), short([0]), short([3, 1, 0])]  # few trees, so that all can be listed
    model = untrained(sentences, criterion=criterion)
    batch = model.collate(sentences)
    with torch.no_grad():
        arcs = model._arc_scores(model._encoded(batch))
        found = model._arc_loss(arcs, batch.targets["heads"], batch.lengths).item()
        expected = 0.0
        for row, sentence in enumerate(sentences):
            n = len(sentence)
            heads = torch.tensor(sentence.heads)
            expected -= arc_log_likelihood(criterion, arcs[row, :n, : n + 1].double(), heads)
    assert found == pytest.approx(expected / sum(map(len, sentences)), rel=1e-4)


def short(heads):
    forms = ["the", "cat", "sees", "dogs"][: len(heads)]
    labels = ["root" if head == 0 else "dep" for head in heads]
    return conllu.from_forms(forms).annotated(head=heads, deprel=labels)


def arc_log_likelihood(criterion, arcs, heads):
    gold = arcs.gather(1, heads.unsqueeze(1)).sum().item()
    if criterion == "head":
        return gold - arcs.logsumexp(1).sum().item()
    candidates = [
        tree for tree in all_trees(len(heads)) if criterion == "nonprojective" or is_projective(tree)
    ]
    rows = torch.arange(len(heads))
    scores = torch.stack([arcs[rows, torch.tensor(tree)].sum() for tree in candidates])
    return gold - scores.logsumexp(0).item()


def all_trees(n):
    """All trees with one root, by walking from each word to the root."""
    for heads in itertools.product(range(n + 1), repeat=n):
        if heads.count(0) == 1 and all(reaches_root(heads, word) for word in range(1, n + 1)):
            yield heads


def reaches_root(heads, word):
    for _ in heads:
        if word == 0:
            return True
        word = heads[word - 1]
    return word == 0


def test_crossing_arcs_are_left_out_of_projective_training_and_said_so():
    sentences = [*tiny_corpora.trees(3), tiny_corpora.crossing()]
    with pytest.warns(UserWarning, match="1 of 4 sentences have crossing arcs and are left out"):
        assert len(Parser.trainable(tiny_corpora.dependency_config(criterion="projective"), sentences)) == 3
    assert len(Parser.trainable(tiny_corpora.dependency_config(), sentences)) == 4


def test_a_sentence_that_is_no_tree_is_named(tmp_path):
    broken = tiny_corpora.trees(1)[0]
    path = tiny_corpora.write([broken.annotated(head=[0] * len(broken))], tmp_path / "broken.conllu")
    with pytest.raises(DataError, match=r"broken.conllu:2: word 2 has head 0, as has word 1"):
        Parser.trainable(tiny_corpora.dependency_config(), list(conllu.read(path)))


def test_two_column_files_are_refused(tmp_path):
    with pytest.raises(DataError, match=r"entities.tsv:1: a dependency parser needs a CoNLL-U file"):
        Parser.trainable(tiny_corpora.dependency_config(), tiny_corpora.read_entities(tmp_path))
