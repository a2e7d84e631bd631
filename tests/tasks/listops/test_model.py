"""Arities and values from trees of expressions: given ones, latent ones, none."""

import io
import warnings
from dataclasses import replace

import pytest
import torch
from tests.tasks import learning

from strukt.data import conllu, listops
from strukt.data.listops.expressions import expressions, parse
from strukt.errors import DataError, SettingError
from strukt.tasks.common.ranges import require_valid
from strukt.tasks.listops import Config
from strukt.tasks.listops.model import ListModel


def read(lines):
    return list(listops.read(io.BytesIO("".join(f"{line}\n" for line in lines).encode())))


def corpus(count, longest=12, depth=3, seed=0):
    found = expressions(count, ["[MIN", "[MAX", "[SM"], 4, depth, longest, seed)
    return read(f"{parse(text).value}\t{text}" for text in found)


SENTENCES = corpus(40)


def config(**options):
    found = Config(arc_size=16, size=24, **options)
    found.encoder.hidden = found.encoder.words = 12
    return found


def learned(steps, rate=2e-2, sentences=SENTENCES, **options):
    return learning.learned(ListModel, config(**options), sentences, steps, rate)


@pytest.fixture(scope="module")
def by_brackets():
    return learned(80, structure="gold")[0]


@pytest.fixture(scope="module")
def latent():
    return learned(80, 5e-3)[0]


def most_frequent(sentences):
    arities = [arity for sentence in sentences for arity in sentence.arities]
    return 100 * max(map(arities.count, set(arities))) / len(arities)


def test_the_tree_of_the_brackets_tells_arities_and_names_do_not(by_brackets):
    """The network knows places in the tree alone, so that expressions it has never seen are no harder."""
    assert by_brackets.evaluate(corpus(30, longest=40, depth=9, seed=5)) == {"accuracy": 100.0, "F1": 100.0}


def test_every_symbol_below_the_one_before_it():
    model = ListModel.from_corpus(config(structure="right-branching"), SENTENCES).eval()
    [picture] = model.diagrams(SENTENCES[:1])
    assert picture.heads == list(range(len(SENTENCES[0])))
    assert "UAS" not in model.evaluate(SENTENCES)


@pytest.mark.parametrize("structure", ["flat", "none"])
def test_without_a_tree_all_operators_look_alike(structure):
    model = learned(40, structure=structure)[0]
    assert model.evaluate(SENTENCES)["accuracy"] == pytest.approx(most_frequent(SENTENCES))


def test_from_left_to_right_only_the_first_and_the_last_symbol_are_told_apart():
    model = learned(60, structure="left-to-right")[0]
    labels = {tuple(found.arities[1:]) for found in model.predict(SENTENCES)}
    assert len({arity for row in labels for arity in row}) == 1


@pytest.mark.parametrize("estimator", ["marginals", "spigot", "sample"])  # tests/tasks/classify tries the others
def test_latent_trees_are_learned_from(estimator):
    model, losses = learned(15, sentences=SENTENCES[:20], estimator=estimator)
    assert min(losses[-5:]) < losses[0]
    scores = model.evaluate(SENTENCES[:20])
    assert {"accuracy", "F1", "UAS", "heads"} <= scores.keys()
    assert ("structures" in scores) == (estimator != "marginals")
    if estimator != "marginals":
        assert scores["structures"] == scores["heads"] == 1.0


def test_latent_trees_tell_more_than_no_trees(latent):
    scores = latent.evaluate(SENTENCES)
    assert scores["accuracy"] > most_frequent(SENTENCES) + 20
    assert 1 <= scores["heads"] <= scores["structures"]


def test_no_head_has_more_dependents_than_the_budget():
    model, losses = learned(12, sentences=SENTENCES[:12], structure="tree-budget", budget=2)
    assert min(losses[-5:]) < losses[0]
    batch = model.collate(SENTENCES[:12])
    arcs = model._mixture(batch).parts
    assert arcs.sum(1).max() <= 2 + 1e-5
    torch.testing.assert_close(arcs.sum(-1).sum(-1), batch.lengths.float())
    free = model.distribution_of(batch).sparsemap().marginals
    assert free.sum(1).max() > 2.1
    assert "structures" not in model.evaluate(SENTENCES[:4])


@pytest.mark.parametrize("structure", ["tree", "tree-budget"])
def test_a_search_that_is_stopped_early_is_silent_and_near(structure):
    whole = ListModel.from_corpus(config(structure=structure), SENTENCES).eval()
    short = ListModel.from_corpus(config(structure=structure, iterations=6), SENTENCES).eval()
    short.load_state_dict(whole.state_dict())
    batch = whole.collate(SENTENCES[:4])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        near, exact = short._mixture(batch).parts, whole._mixture(batch).parts
        short.evaluate(SENTENCES[:4])
    assert 1e-6 < (near - exact).abs().max() < 0.9


@pytest.mark.parametrize(("structure", "reads"), [("gold", "words"), ("tree", "words")])
def test_values_are_learned_from_words(structure, reads):
    sentences = corpus(30, depth=1, longest=6, seed=2)
    model, losses = learned(60, sentences=sentences, target="value", structure=structure, reads=reads)
    assert losses[-1] < 0.5 * losses[0]
    assert model.evaluate(sentences)["accuracy"] > 60
    [found] = model.predict(sentences[:1], probabilities=True)
    label, expression, note = str(found).rstrip().split("\t")
    assert expression == str(sentences[0]).rstrip().split("\t")[1]
    assert label in "0123456789"
    assert 0.1 < float(note.removeprefix("p=")) <= 1


def test_values_without_words_follow_from_the_tree_alone():
    """The tree of brackets does not tell the digits."""
    sentences = read(["1\t[MAX 0 1 ]", "2\t[MAX 0 2 ]"])
    model = learned(20, sentences=sentences, target="value", structure="gold")[0]
    assert model.evaluate(sentences)["accuracy"] == 50


def test_arities_are_noted_behind_the_expression(by_brackets):
    [bare] = listops.read_text(io.BytesIO(b"[MAX 2 9 [MIN 4 7 ] 0 ]\n"))
    [found] = by_brackets.predict([bare])
    assert str(found) == "_\t[MAX 2 9 [MIN 4 7 ] 0 ]\tarity=4 2\n"
    [noted] = by_brackets.predict([bare], probabilities=True)
    probabilities = str(noted).rstrip().partition("\tp=")[2].split()
    assert len(probabilities) == 2
    assert all(0.25 < float(p) <= 1 for p in probabilities)


def test_digits_alone_have_no_operators(by_brackets):
    digit = read(["7\t7"])
    assert [str(found) for found in by_brackets.predict(digit)] == ["7\t7\tarity=\n"]
    assert by_brackets.loss(by_brackets.collate(digit)) == 0
    assert by_brackets.evaluate(digit) == {"accuracy": 0.0, "F1": 0.0}


def test_the_picture_has_the_tree_and_the_arities(by_brackets, latent):
    [sentence] = read(["9\t[MAX 2 9 [MIN 4 7 ] 0 ]"])
    [picture] = by_brackets.diagrams([sentence])
    assert picture.heads == sentence.heads
    assert picture.tags == ["4", "", "", "2", "", "", "", "", ""]
    [picture] = latent.diagrams([sentence], probabilities=True)
    assert picture.heads.count(0) == 1
    assert all(0 < p <= 1 + 1e-6 for p in picture.head_probabilities)
    [few] = latent.structures(sentence)
    assert sum(few.weights) + few.rest == pytest.approx(1.0, abs=1e-5)
    assert all(picture.heads.count(0) == 1 for picture in few.pictures)


def test_a_value_is_the_title_of_its_picture():
    model = ListModel.from_corpus(config(target="value", structure="flat"), SENTENCES).eval()
    [picture] = model.diagrams(SENTENCES[:1])
    assert picture.title.startswith("value ")
    assert set(picture.heads) == {0}
    model = ListModel.from_corpus(config(structure="none"), SENTENCES).eval()
    [picture] = model.diagrams(SENTENCES[:1])
    assert picture.heads == []


@pytest.mark.parametrize(
    "options", [{"structure": "none"}, {"structure": "tree-budget"}, {"estimator": "relaxed"}]
)
def test_models_without_few_trees_say_which_have_them(options):
    model = ListModel.from_corpus(config(**options), SENTENCES)
    with pytest.raises(
        SettingError, match="no sparse distribution over structures; models trained with --structure tree"
    ):
        model.structures(SENTENCES[0])


def test_pictures_have_the_trees_that_a_search_of_few_steps_finds():
    model = ListModel.from_corpus(config(iterations=3), SENTENCES).eval()
    for sentence in SENTENCES[:6]:
        [few] = model.structures(sentence)
        assert 1 < len(few.pictures) == model.evaluate([sentence])["structures"] <= 3
    [least] = model.ambiguous(SENTENCES[:6], 1)
    assert all(
        model.structures(least)[0].weights[0] <= model.structures(other)[0].weights[0] + 1e-6
        for other in SENTENCES[:6]
    )


def test_long_expressions_are_left_out_of_the_training():
    with pytest.warns(UserWarning, match=r"\d+ of 40 expressions have more than 6 symbols"):
        short = ListModel.trainable(config(longest=6), SENTENCES)
    assert short
    assert max(map(len, short)) <= 6


def test_what_is_refused():
    values = config(target="value")
    with pytest.raises(DataError, match="<stream>:1: the expression has no value; write it before"):
        ListModel.trainable(values, read(["_\t[MAX 1 2 ]"]))
    with pytest.raises(DataError, match="operators of at least two arities, found 2"):
        ListModel.from_corpus(config(), read(["2\t[MAX 1 2 ]"]))
    with pytest.raises(DataError, match="ListOps needs a file of expressions"):
        ListModel.trainable(values, [conllu.from_forms(["a"])])
    with pytest.raises(SettingError, match="--structure none has none"):
        require_valid(replace(values, structure="none"))
    with pytest.raises(SettingError, match="--budget is 0"):
        require_valid(config(budget=0))
