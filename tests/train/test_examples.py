"""The inputs that a saved model carries."""

import io
import json

import pytest
from tests import tiny_corpora

from strukt.data import conllu
from strukt.data.classes import pairs
from strukt.errors import DataError
from strukt.tasks import nli
from strukt.tasks.nli.model import EntailmentModel
from strukt.tasks.tag.model import Tagger
from strukt.train import saved_model
from strukt.train.examples import MOST, examples_of
from strukt.train.fit import fit

SENTENCES = tiny_corpora.trees(40)
WORDS = [f"w{number}" for number in range(40)]


@pytest.fixture(scope="module")
def model():
    return Tagger.from_corpus(tiny_corpora.tag_config(criterion="crf"), SENTENCES)


def of_lengths(*lengths):
    return [conllu.from_forms(WORDS[place : place + length]) for place, length in enumerate(lengths)]


def lengths(examples):
    return [len(text.split()) for (text,) in examples]


def test_they_are_a_few_sentences_of_the_corpus(model):
    found = examples_of(model, SENTENCES)
    assert len(found) == len({*found}) == MOST
    assert {text for (text,) in found} <= {" ".join(sentence.forms) for sentence in SENTENCES}
    assert found == examples_of(model, SENTENCES)


def test_those_that_fit_come_first_and_from_all_over_the_corpus(model):
    found = examples_of(model, of_lengths(2, 13, *[6] * 10, 4, 30))
    assert lengths(found) == [6] * MOST
    starts = [int(text.split()[0][1:]) for (text,) in found]
    assert starts == [2, 4, 6, 8, 10]


def test_else_the_shortest_of_three_words_are_taken(model):
    assert lengths(examples_of(model, of_lengths(20, 2, 1, 4, 15, 3, 14, 30, 13))) == [3, 4, 13, 14, 15]
    assert examples_of(model, of_lengths(1, 2, 2)) == []


def test_what_would_be_read_as_other_words_is_left_out(model):
    odd = conllu.from_forms(["a", "==", "b", "and", "c"])
    plain = conllu.from_forms(["a", "is", "b", "and", "c"])
    assert examples_of(model, [odd, plain, plain]) == [("a is b and c",)]


def test_of_pairs_there_are_two_texts():
    lines = b"A man sleeps .\tHe is awake .\tcontradiction\nA dog runs .\tAn animal moves .\tentailment\n"
    read = list(pairs.read(io.BytesIO(lines)))
    model = EntailmentModel.from_corpus(nli.Config(), read)
    found = examples_of(model, read)
    assert found == [("A man sleeps .", "He is awake ."), ("A dog runs .", "An animal moves .")]


def test_they_are_saved_and_loaded_and_old_folders_have_none(model, tmp_path):
    model.examples = [("a b c",), ("d", "e")]
    saved_model.save(model, tmp_path)
    assert saved_model.load(tmp_path).examples == model.examples
    assert json.loads((tmp_path / "examples.json").read_text()) == [["a b c"], ["d", "e"]]
    (tmp_path / "examples.json").unlink()
    assert saved_model.load(tmp_path).examples == []


@pytest.mark.parametrize("content", ["{}", "[1]", "[[]]", "[[1]]", '["a"]', "[", "null"])
def test_damaged_ones_are_named(model, content, tmp_path):
    saved_model.save(model, tmp_path)
    (tmp_path / "examples.json").write_text(content)
    with pytest.raises(DataError, match=r"examples\.json"):
        saved_model.load(tmp_path)


def test_training_puts_them_into_the_folder(tmp_path):
    fit("tag", tiny_corpora.tag_config(), tmp_path / "tagger", train=SENTENCES[:20], dev=SENTENCES[20:])
    found = saved_model.load(tmp_path / "tagger").examples
    assert len(found) == MOST
    assert {text for (text,) in found} <= {" ".join(sentence.forms) for sentence in SENTENCES[20:]}
