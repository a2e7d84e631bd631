"""The parser: what it learns under each criterion, what it writes, and what it refuses."""

from functools import cache

import numpy as np
import pytest
import torch
from tests import tiny_corpora
from tests.fidelity.dense_sparsemap import arcs_of, every_tree, sparsemap
from tests.tasks.learning import learned

from strukt.data import conllu
from strukt.data.conllu.dependency_trees import is_projective
from strukt.errors import DataError
from strukt.tasks.dependency.model import Parser
from strukt.train import saved_model

CRITERIA = ["head", "tree", "sparsemap", "sparsemap-margin", "hinge"]
SPARSE = ["sparsemap", "sparsemap-margin"]
TREES = ["nonprojective", "projective"]


def untrained(sentences, **options):
    torch.manual_seed(0)
    model = Parser.from_corpus(tiny_corpora.dependency_config(**options), sentences)
    for biaffine in (model.arc_score, model.label_score):
        torch.nn.init.normal_(biaffine.weight)
    return model.eval()


@cache
def by_heart(criterion, trees="nonprojective"):
    """A parser that has learned a few sentences, these, and its losses."""
    sentences = tiny_corpora.trees(12)
    config = tiny_corpora.dependency_config(criterion=criterion, trees=trees)
    model, losses = learned(Parser, config, sentences, 80)
    return model, sentences, losses


@pytest.mark.parametrize(
    ("criterion", "trees"),
    [
        *(
            pytest.param(criterion, "nonprojective", marks=marks)
            for criterion, marks in zip(CRITERIA, ((), (), (), pytest.mark.slow, pytest.mark.slow), strict=True)
        ),
        pytest.param("tree", "projective", marks=pytest.mark.slow),
    ],
)
def test_a_tiny_corpus_is_learned_by_heart(criterion, trees):
    model, sentences, losses = by_heart(criterion, trees)
    assert losses[-1] < losses[0] / 5
    decided = {"trees": 1.0, "one tree": 100.0} if criterion in SPARSE else {}
    assert model.evaluate(sentences) == {"UAS": 100.0, "LAS": 100.0, "CLAS": 100.0} | decided


@pytest.mark.parametrize("criterion", ["tree", "sparsemap"])
def test_the_word_below_the_root_and_no_other_is_labelled_root(criterion):
    """Whatever the scores of labels say; UD's validator refuses anything else."""
    sentences = tiny_corpora.trees(12)
    model = untrained(sentences, criterion=criterion)
    best = model.label_scores(*relations_asked(model, sentences)).argmax(-1)
    assert len(best.unique()) > 1
    for sentence in model.predict(sentences):
        assert [head == 0 for head in sentence.heads] == [each == "root" for each in sentence.column("deprel")]


def relations_asked(model, sentences):
    batch = model.collate(sentences)
    arcs, vectors = model.scores(batch.inputs, batch.lengths)
    return vectors, model.trees(arcs, batch.lengths).mode


def test_predicting_replaces_heads_and_relations_and_nothing_else():
    model, sentences, _ = by_heart("head")
    bare = [
        sentence.annotated(head=["_"] * len(sentence), deprel=["_"] * len(sentence)) for sentence in sentences
    ]
    assert [str(sentence) for sentence in model.predict(bare)] == [str(sentence) for sentence in sentences]


@pytest.mark.parametrize("trees", TREES)
def test_every_prediction_is_a_tree_with_one_root(trees):
    sentences = tiny_corpora.trees(20)
    model = untrained(sentences, trees=trees)
    for predicted in model.predict(sentences):
        conllu.require_tree(predicted)
        assert trees == "nonprojective" or is_projective(predicted.heads)


@pytest.mark.parametrize("criterion", ["tree", "sparsemap"])
def test_probabilities_are_noted_for_each_arc_and_label(criterion):
    sentences = tiny_corpora.trees(3)
    model = untrained(sentences, criterion=criterion)
    distribution = model.distribution(sentences)
    marginals = distribution.marginals if criterion == "tree" else distribution.sparsemap().marginals
    for row, predicted in enumerate(model.predict(sentences, probabilities=True)):
        for word, (head, misc) in enumerate(zip(predicted.heads, predicted.column("misc"), strict=True)):
            notes = dict(note.split("=") for note in misc.split("|"))
            assert float(notes["p"]) == pytest.approx(marginals[row, word, head].item(), abs=1e-4)
            assert 0 < float(notes["p_label"]) <= 1


@pytest.mark.parametrize("trees", TREES)
@pytest.mark.parametrize("criterion", CRITERIA)
def test_the_loss_is_that_of_the_formula(criterion, trees):
    sentences = [short([2, 0, 2, 3]), short([0]), short([3, 1, 0])]  # few trees, so that all can be listed
    model = untrained(sentences, criterion=criterion, trees=trees)
    batch = model.collate(sentences)
    with torch.no_grad():
        arcs, _ = model.scores(batch.inputs, batch.lengths)
        found = model._arc_losses(arcs, batch.targets["heads"], batch.lengths).sum() / batch.lengths.sum()
    expected = sum(
        arc_loss(
            criterion, trees, arcs[row, : len(sentence), : len(sentence) + 1].double().numpy(), sentence.heads
        )
        for row, sentence in enumerate(sentences)
    )
    assert expected > 0
    assert found == pytest.approx(expected / sum(map(len, sentences)), rel=1e-4)


def short(heads):
    forms = ["the", "cat", "sees", "dogs"][: len(heads)]
    labels = ["root" if head == 0 else "dep" for head in heads]
    return conllu.from_forms(forms).annotated(head=heads, deprel=labels)


def arc_loss(criterion, trees, arcs, heads):
    """By a list of all trees; SparseMAP by a quadratic program over their weights."""
    n, gold = len(heads), arcs_of(heads).ravel()
    if criterion == "head":
        return (np.log(np.exp(arcs).sum(1)) - arcs[range(n), heads]).sum()
    listed = [arcs_of(tree).ravel() for tree in every_tree(n) if trees == "nonprojective" or is_projective(tree)]
    raised = arcs.ravel() + (1 - gold if criterion in ("sparsemap-margin", "hinge") else 0)
    structures = np.stack(listed)
    scores, wanted = structures @ raised, gold @ raised
    if criterion == "tree":
        return np.log(np.exp(scores).sum()) - wanted
    if criterion == "hinge":
        return scores.max() - wanted
    nearest = sparsemap(structures, raised) @ structures
    return (nearest @ raised - nearest @ nearest / 2) - (wanted - n / 2)


@pytest.mark.parametrize("criterion", CRITERIA)
def test_crossing_arcs_are_left_out_of_training_by_projective_trees_and_said_so(criterion, recwarn):
    sentences = [*tiny_corpora.trees(3), tiny_corpora.crossing()]
    for trees in TREES:
        kept = Parser.trainable(tiny_corpora.dependency_config(criterion=criterion, trees=trees), sentences)
        leaves_out = criterion != "head" and trees == "projective"
        assert len(kept) == 4 - leaves_out
        said = [str(warning.message) for warning in recwarn]
        assert said == leaves_out * [
            "1 of 4 sentences have crossing arcs, but --trees is projective, and are left out of the training"
        ]


@pytest.mark.parametrize("criterion", SPARSE)
def test_evaluation_counts_the_trees_of_the_sparse_solution(criterion):
    sentences = tiny_corpora.trees(9)
    model = untrained(sentences, criterion=criterion)
    counts = [int((model.distribution([each]).sparsemap().weights > 0).sum()) for each in sentences]
    scores = model.evaluate(sentences)
    assert scores["trees"] == pytest.approx(np.mean(counts))
    assert scores["one tree"] == pytest.approx(100 * counts.count(1) / 9)
    assert len(set(counts)) > 1


def test_the_trees_of_a_sentence_are_drawn_with_their_weights():
    sentence, *others = tiny_corpora.trees(5)
    model = untrained([sentence, *others], criterion="sparsemap")
    with torch.no_grad():
        model.arc_score.weight *= 0.3  # so that many share the weight
    found = model.distribution([sentence]).sparsemap()
    assert found.weights.sum().item() == pytest.approx(1.0)
    expected = sorted(zip(found.weights[0].tolist(), found.events[0].tolist(), strict=True), reverse=True)
    drawn = [tree for tree in expected if tree[0] >= 0.01]
    others = [weight for weight, _ in expected[len(drawn) :] if weight > 0]
    assert others
    [few] = model.structures(sentence)
    assert len(few.pictures) > 2
    assert few.weights == pytest.approx([weight for weight, _ in drawn])
    assert (few.others, few.rest) == (len(others), pytest.approx(sum(others), abs=1e-5))
    for picture, (_, heads) in zip(few.pictures, drawn, strict=True):
        assert picture.heads == heads
        assert len(picture.relations) == len(sentence)


def test_a_sentence_that_is_decided_has_one_tree():
    model, sentences, _ = by_heart("sparsemap")
    [few] = model.structures(sentences[0])
    [picture] = few.pictures
    assert few.weights == [pytest.approx(1.0)]
    assert few.others == 0
    assert picture.heads == sentences[0].heads
    assert list(picture.relations) == sentences[0].column("deprel")


def test_the_most_ambiguous_sentences_come_first():
    sentences = tiny_corpora.trees(30)
    model = untrained(sentences, criterion="sparsemap")
    heaviest = [model.distribution([each]).sparsemap().weights.max().item() for each in sentences]
    found = model.ambiguous(iter(sentences), 4)
    assert [heaviest[sentences.index(each)] for each in found] == pytest.approx(sorted(heaviest)[:4])


def test_a_sentence_that_is_no_tree_is_named(tmp_path):
    broken = tiny_corpora.trees(1)[0]
    path = tiny_corpora.write([broken.annotated(head=[0] * len(broken))], tmp_path / "broken.conllu")
    with pytest.raises(DataError, match=r"broken.conllu:2: word 2 has head 0, as has word 1"):
        Parser.trainable(tiny_corpora.dependency_config(), list(conllu.read(path)))


def test_two_column_files_are_refused(tmp_path):
    with pytest.raises(DataError, match=r"entities.tsv:1: a dependency parser needs a CoNLL-U file"):
        Parser.trainable(tiny_corpora.dependency_config(), tiny_corpora.read_entities(tmp_path))


def test_unlabelled_sentences_are_learned_with_the_others(tmp_path):
    sentences = tiny_corpora.trees(12)
    path = tiny_corpora.write([" ".join(s.forms) + "\n" for s in sentences[6:]], tmp_path / "raw.txt")
    config = tiny_corpora.dependency_config(criterion="tree", unlabelled=path)
    train = Parser.trainable(config, sentences[:6])
    assert [sentence.forms for sentence in train] == [sentence.forms for sentence in sentences]
    assert [sentence.words[0].head is None for sentence in train] == [False] * 6 + [True] * 6
    model, losses = learned(Parser, config, sentences[:6], 60)
    assert losses[-1] < losses[0] / 2
    assert model.evaluate(sentences[:6])["LAS"] > 90
    saved_model.save(model, tmp_path / "model")
    (tmp_path / "raw.txt").unlink()
    again = saved_model.load(tmp_path / "model")
    assert list(again.predict(sentences)) == list(model.predict(sentences))


def test_the_vocabulary_knows_the_words_of_unlabelled_sentences_and_no_labels(tmp_path):
    path = tiny_corpora.write(["strange words strange words\n"], tmp_path / "raw.txt")
    config = tiny_corpora.dependency_config(criterion="tree", unlabelled=path)
    labelled = tiny_corpora.trees(3)
    model = Parser.from_corpus(config, Parser.trainable(config, labelled))
    assert "strange" in model.vocabularies["words"]
    assert set(model.vocabularies["labels"].symbols) == {label for s in labelled for label in s.deprels}
    with pytest.raises(DataError, match=r"no.txt: there is no such file"):
        Parser.trainable(tiny_corpora.dependency_config(criterion="tree", unlabelled="no.txt"), labelled)
