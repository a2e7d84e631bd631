"""The semantic parser: what it learns, what it writes and draws, and what it refuses."""

import io

import pytest
import torch
from tests import tiny_corpora
from tests.data.logical_forms import random_logical_forms
from tests.data.logical_forms.random_logical_forms import read
from tests.tasks import learning
from torch.nn import functional

from strukt.data import conllu
from strukt.data.logical_forms import Tags, cogs, form_of
from strukt.data.logical_forms.tagging_schemes import direct
from strukt.errors import DataError
from strukt.tasks.cogs import Config
from strukt.tasks.cogs.model import SemanticParser
from strukt.tasks.cogs.prediction import TagsPrediction
from strukt.train.fit import fit

SENTENCES = read(random_logical_forms.lines(20, depth=1))


def config():
    """A small one that reads no spelling, as the default."""
    small = tiny_corpora.small(Config())
    small.encoder.affixes, small.encoder.dropout = 0, 0.0
    return small


@pytest.fixture(scope="module")
def model():
    """One that knows the sentences by heart."""
    return learning.learned(SemanticParser, config(), SENTENCES, 80, rate=2e-2)[0]


def bare(sentence):
    return read(" ".join(sentence.forms) + "\n")[0]


def test_a_tiny_corpus_is_learned_by_heart(model):
    measured = model.measure(SENTENCES)
    assert measured.scores == dict.fromkeys(("sentences", "forms", *Tags._fields), 100.0)
    assert list(measured.details["case"]) == ["depth_1", "primitive"]
    assert measured.details["case"]["primitive"]["gold"] == 12
    assert model.selection in measured.scores


def test_what_a_sentence_is_annotated_with_is_not_read(model):
    predicted = list(model.predict(map(bare, SENTENCES)))
    assert [sentence.logical_form for sentence in predicted] == [
        sentence.logical_form for sentence in SENTENCES
    ]
    again = read("".join(map(str, predicted)))
    assert [sentence.tags for sentence in again] == [sentence.tags for sentence in SENTENCES]
    assert list(map(str, model.predict(SENTENCES))) == list(map(str, SENTENCES))


def test_the_loss_on_the_development_corpus_is_that_of_its_tags(tmp_path):
    halving = config()
    halving.scheme, halving.optimizer.schedule, halving.trainer.epochs = "published", "halving", 2
    bare_corpus = [cogs.read(io.BytesIO("".join(map(str, SENTENCES)).encode())) for _ in range(2)]
    train, dev = map(list, bare_corpus)
    results = fit("cogs", halving, tmp_path / "m", train=train, dev=dev)
    assert all(scores["dev_loss"] > 0 for scores in results["history"])


def test_the_loss_is_the_sum_of_five_cross_entropies(model):
    batch = model.eval().collate(SENTENCES[-3:])
    with torch.no_grad():
        scores = model._scores(batch)
        expected = 0.0
        for name in Tags._fields:
            words = [
                functional.cross_entropy(scores[name][row, place], torch.tensor(index))
                for row, sentence in enumerate(batch.sentences)
                for place, index in enumerate(model.vocabularies[name].indices(sentence.column(name)))
            ]
            expected += sum(words) / len(words)
        assert model.loss(batch).item() == pytest.approx(float(expected), rel=1e-4)


@pytest.mark.thinned("parents", "scheme")
@pytest.mark.parametrize("scheme", ["direct", "published"])
@pytest.mark.parametrize("parents", [pytest.param("relative", marks=pytest.mark.slow), "absolute", "attention"])
def test_every_scheme_and_kind_of_parents_is_learned_by_heart(scheme, parents):
    one = config()
    one.scheme, one.parents = scheme, parents
    model, _ = learning.learned(SemanticParser, one, SENTENCES, 120, rate=1e-2)
    assert ("parent" in model.vocabularies) == (parents != "attention")
    assert model.evaluate(SENTENCES) == dict.fromkeys(("sentences", "forms", *Tags._fields), 100.0)
    predicted = list(model.predict(map(bare, SENTENCES)))
    assert list(map(str, read("".join(map(str, predicted))))) == list(map(str, predicted))
    tags = [sentence.in_scheme(scheme).tags for sentence in SENTENCES]
    assert [sentence.tags for sentence in predicted] == tags


def test_tags_that_are_wrong_in_the_published_scheme_alone_count_as_wrong():
    one = config()
    one.scheme = "published"
    model = SemanticParser.from_corpus(one, SemanticParser.trainable(one, SENTENCES))
    gold = next(sentence for sentence in SENTENCES if "xcomp" in sentence.column("role"))
    tags = gold.in_scheme("published").tags
    other = tags._replace(category=["verb" if role == "xcomp" else "_" for role in tags.role])
    right, wrong = (model.compared(gold, TagsPrediction(predicted)) for predicted in (tags, other))
    assert right.tags == model.observed(gold).tags
    assert wrong.tags != model.observed(gold).tags


def words_of(batch):
    return batch.inputs["words"][batch.inputs["form"]]


def test_hidden_words_are_parsed_but_not_named():
    hiding = config()
    hiding.hide = 0.5
    model = SemanticParser.from_corpus(hiding, SENTENCES).train()
    batch = model.collate(SENTENCES)
    unknown = model.vocabularies["words"].index("<unk>")
    within = torch.arange(batch.lengths.max()) < batch.lengths.unsqueeze(1)
    hidden = (words_of(batch) == unknown) & within
    assert 0.3 < hidden.sum() / within.sum() < 0.7
    assert torch.equal(batch.targets["verb"] == -1, hidden | ~within)
    for name in ("parent", "role", "category", "determiner"):
        assert torch.equal(batch.targets[name] == -1, ~within)
    for whole in (model.collate(SENTENCES, with_targets=False), model.eval().collate(SENTENCES)):
        assert not ((words_of(whole) == unknown) & within).any()


def test_any_weights_give_sentences_that_can_be_written_and_measured():
    torch.manual_seed(1)
    model = SemanticParser.from_corpus(config(), SENTENCES)
    torch.nn.init.normal_(model.score.weight, std=9.0)
    predicted = list(model.predict(SENTENCES))
    assert [sentence.forms for sentence in read("".join(map(str, predicted)))] == [
        sentence.forms for sentence in SENTENCES
    ]
    for sentence in predicted:
        assert sentence.logical_form == form_of(sentence.forms, direct(sentence.forms, sentence.tags))
    assert 0 <= model.evaluate(SENTENCES)["sentences"] < 100
    assert len(list(model.diagrams(SENTENCES))) == len(SENTENCES)


def test_parents_that_were_not_seen_in_training_count_as_wrong(model):
    far = read(
        "The girl on the cake on the cake in the house on the TV slept .\t* girl ( x _ 1 ) ; * cake ( x _ 4 ) ; "
        "* cake ( x _ 7 ) ; * house ( x _ 10 ) ; * tv ( x _ 13 ) ; girl . nmod . on ( x _ 1 , x _ 4 ) AND "
        "cake . nmod . on ( x _ 4 , x _ 7 ) AND cake . nmod . in ( x _ 7 , x _ 10 ) AND house . nmod . on "
        "( x _ 10 , x _ 13 ) AND sleep . agent ( x _ 14 , x _ 1 )\tdeep"
    )
    assert far[0].column("parent")[1] == "13"
    assert "13" not in model.vocabularies["parent"]
    model.require_annotated(far[0])
    assert model.measure(far).details["case"]["deep"]["sentences"] == 0.0


def test_pictures_have_arcs_from_parents_and_all_other_tags(model):
    sentence = next(sentence for sentence in SENTENCES if "xcomp" in sentence.column("role"))
    [picture] = model.diagrams([bare(sentence)])
    arcs = {(arc.head, arc.dependent, arc.label) for arc in picture.arcs()}
    assert arcs == {
        (head, word, role)
        for word, (head, role) in enumerate(zip(sentence.tags.heads, sentence.tags.role, strict=True))
        if head is not None
    }
    assert picture.heads[sentence.forms.index(".")] == -1
    verb = next(place for place, tag in enumerate(sentence.tags.verb) if tag in ("want", "try"))
    assert (picture.tags[verb], picture.heads[verb]) == (f"verb {sentence.tags.verb[verb]}", 0)
    [with_probabilities] = model.diagrams([bare(sentence)], probabilities=True)
    assert all(0.2 < probability <= 1 for probability in with_probabilities.head_probabilities)


def test_probabilities_are_products_over_the_tags(model):
    batch = model.eval().collate(SENTENCES[-2:], with_targets=False)
    with torch.no_grad():
        predictions = model.predict_batch(batch, probabilities=True)
        scores = model._scores(batch)
    for row, prediction in enumerate(predictions):
        for word, probability in enumerate(prediction.probabilities):
            best = [of_tag[row, word].softmax(-1).max().item() for of_tag in scores.values()]
            assert probability == pytest.approx(torch.tensor(best).prod().item(), rel=1e-4)


def test_files_have_no_place_for_probabilities(model):
    with pytest.raises(
        DataError, match=r"some.tsv:1: logical forms have no place for probabilities; leave them out"
    ):
        list(model.predict(SENTENCES[:1], probabilities=True))


def test_what_tags_cannot_express_is_left_out_of_the_training():
    beyond = read("It fell\tit ( x _ 0 ) AND fall . theme ( x _ 1 , x _ 0 ) AND it ( x _ 0 )")
    message = (
        "1 of 33 sentences have a logical form that tags cannot express, and are left out of the training"
    )
    with pytest.warns(UserWarning, match=message):
        assert SemanticParser.trainable(Config(), SENTENCES + beyond) == SENTENCES


def test_a_sentence_without_logical_form_is_named(model):
    [sentence] = read("It fell")
    message = "some.tsv:1: the sentence has no logical form; write it after the sentence and a TAB"
    for refuse in (lambda: SemanticParser.trainable(Config(), [sentence]), lambda: model.measure([sentence])):
        with pytest.raises(DataError, match=message):
            refuse()


def test_other_sentences_are_refused(model):
    with pytest.raises(DataError, match="a semantic parser needs a file of logical forms, or text"):
        list(model.predict([conllu.from_forms(["It", "fell"])]))


def test_all_that_is_read_of_a_word_is_its_vector_by_default():
    encoder = Config().encoder
    encoder.words, encoder.hidden, encoder.layers = 7, 5, 1
    model = SemanticParser.from_corpus(Config(encoder=encoder), SENTENCES)
    assert model.encoder.embeddings.size == 7
    forms = {form.lower() for sentence in SENTENCES for form in sentence.forms}
    assert len(model.vocabularies["words"]) == 2 + len(forms)
