"""The tagger: what it learns, what it writes, and what it refuses."""

import io
from functools import cache

import pytest
import torch
from tests import tiny_corpora
from tests.tasks import learning

import strukt
from strukt.data import columns, conllu
from strukt.errors import DataError, SettingError
from strukt.tasks.tag.model import Tagger
from strukt.train import saved_model
from strukt.train.storage import write_tensors


def learned(config, sentences, steps=60):
    return learning.learned(Tagger, config, sentences, steps, rate=2e-2)


@cache
def by_heart(criterion="cross-entropy"):
    """A tagger that has learned a few sentences, these, and its losses."""
    sentences = tiny_corpora.trees(12)
    model, losses = learned(tiny_corpora.tag_config(criterion=criterion), sentences)
    return model, sentences, losses


@pytest.mark.parametrize("criterion", ["cross-entropy", "crf"])
def test_a_tiny_corpus_is_learned_by_heart(criterion):
    model, sentences, losses = by_heart(criterion)
    assert losses[-1] < losses[0] / 5
    assert model.evaluate(sentences) == {"accuracy": 100.0}


def test_predicting_replaces_the_column_and_nothing_else():
    model, sentences, _ = by_heart()
    bare = [sentence.annotated(xpos=["_"] * len(sentence)) for sentence in sentences]
    assert [str(sentence) for sentence in model.predict(bare)] == [str(sentence) for sentence in sentences]


def test_probabilities_are_noted_for_each_word():
    model, sentences, _ = by_heart()
    predicted = next(iter(model.predict(sentences[:1], probabilities=True)))
    notes = [float(misc.removeprefix("p=")) for misc in predicted.column("misc")]
    assert all(0.5 < note <= 1 for note in notes)
    marginals = model.distribution(sentences[:1]).marginals[0]
    assert notes == pytest.approx(marginals.amax(-1).tolist(), abs=1e-4)


def test_the_lattice_has_the_marginals_of_tags_and_steps():
    model, sentences, _ = by_heart("crf")
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
    message = r"entities.tsv:2: I-PER follows O; begin the span with B-PER, or choose other --constraints"
    with pytest.raises(DataError, match=message):
        Tagger.trainable(tiny_corpora.tag_config(constraints="bio"), wrong)
    model = Tagger.from_corpus(tiny_corpora.tag_config(constraints="bio"), sentences)
    with pytest.raises(DataError, match=message):
        model.evaluate(wrong)
    Tagger.trainable(tiny_corpora.tag_config(), wrong)


IN_SCHEMES = {
    "bio": ["B-X", "I-X", "I-X", "B-X", "O"],
    "iob1": ["I-X", "I-X", "I-X", "B-X", "O"],
    "bioes": ["B-X", "I-X", "E-X", "S-X", "O"],
    "bilou": ["B-X", "I-X", "L-X", "U-X", "O"],
    "bmes": ["B-X", "M-X", "E-X", "S-X", "O"],
}


def tagged(*rows):
    text = "".join("".join(f"w{tag}\t{tag}\n" for tag in row) + "\n" for row in rows)
    return list(columns.read(io.BytesIO(text.encode())))


@pytest.mark.parametrize(
    "scheme",
    [pytest.param(each, marks=() if each in ("bio", "bmes") else pytest.mark.slow) for each in IN_SCHEMES],
)
def test_every_scheme_trains_and_holds_in_predictions(scheme):
    sentences = tagged(IN_SCHEMES[scheme], ["O", *IN_SCHEMES[scheme]])
    config = tiny_corpora.tag_config(criterion="crf", constraints=scheme)
    model, _ = learned(config, Tagger.trainable(config, sentences), steps=40)
    assert model.selection == "f1"
    assert model.evaluate(sentences)["f1"] == 100.0
    with torch.no_grad():
        model.score.weight.normal_(std=5)
    Tagger.trainable(config, list(model.predict(sentences * 3)))


@pytest.mark.parametrize("scheme", IN_SCHEMES)
def test_tags_of_another_scheme_are_refused_by_name(scheme):
    for other in set(IN_SCHEMES) - {scheme}:
        config = tiny_corpora.tag_config(criterion="crf", constraints=other)
        with pytest.raises(DataError, match=r"<stream>:\d: .*-X.*"):
            Tagger.trainable(config, tagged(IN_SCHEMES[scheme]))
    with pytest.raises(DataError, match=f"<stream>:6: 'NOUN' is not a tag of {scheme.upper()}; expected O, "):
        Tagger.trainable(
            tiny_corpora.tag_config(criterion="crf", constraints=scheme),
            tagged([*IN_SCHEMES[scheme], "NOUN"]),
        )


def test_a_word_without_a_tag_is_refused_in_the_line_that_check_names():
    bare = conllu.from_forms(["Dogs", "bark"], ["# a comment"], "a.conllu", 7)
    sentences = [bare.annotated(upos=["NOUN", "VERB"]), bare.annotated(upos=["NOUN", "_"])]
    with pytest.raises(DataError, match=r"a.conllu:9: word 2, 'bark', has no tag in the column UPOS"):
        Tagger.trainable(tiny_corpora.tag_config(column="upos"), sentences)


def test_a_folder_that_was_saved_before_constraints_were_loads_as_it_was(tmp_path):
    sentences = tiny_corpora.read_entities(tmp_path)
    model = Tagger.from_corpus(tiny_corpora.tag_config(criterion="crf", constraints="bio"), sentences)
    old = {name: value for name, value in model.state_dict().items() if not name.endswith("_allowed")}
    assert len(old) == len(model.state_dict()) - 3
    saved_model.save(model, tmp_path / "old")
    write_tensors(tmp_path / "old" / "weights.safetensors", old)
    loaded = strukt.load(tmp_path / "old")
    assert all(map(torch.equal, loaded.crf.constraints, model.crf.constraints))


@pytest.mark.parametrize("text", ["one two", ["one two"], "one two\n", [["one", "two"]]])
def test_a_string_is_a_sentence(text):
    model = Tagger.from_corpus(tiny_corpora.tag_config(), tiny_corpora.trees(4))
    [predicted] = model.predict(text)
    assert predicted.forms == ["one", "two"]
    assert predicted.column("xpos") == next(iter(model.predict([conllu.from_forms(["one", "two"])]))).column(
        "xpos"
    )


def test_strings_stand_beside_sentences_and_hold_one_a_line():
    model = Tagger.from_corpus(tiny_corpora.tag_config(), tiny_corpora.trees(4))
    found = list(model.predict(["a b\nc", conllu.from_forms(["d"])]))
    assert [sentence.forms for sentence in found] == [["a", "b"], ["c"], ["d"]]
    with pytest.raises(DataError, match="holds no sentence"):
        list(model.predict("  "))
    for sentences in (None, 5, [5], [["a b"]], [[1]]):
        with pytest.raises(SettingError, match="expected text"):
            list(model.predict(sentences))


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
