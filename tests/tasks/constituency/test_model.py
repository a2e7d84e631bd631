"""The constituency parser: what it learns under each criterion, what it writes, and what it refuses."""

import io
from functools import cache

import pytest
import torch
from tests import tiny_corpora
from tests.tasks.learning import learned, untrained

from strukt.data import brackets, conllu
from strukt.data.constituents import Tree
from strukt.data.entities import json_lines
from strukt.errors import DataError
from strukt.tasks.constituency.model import ConstituencyParser

SENTENCES = tiny_corpora.phrases(12)
CRITERIA = ["likelihood", "margin", "bits"]


def config(**options):
    return tiny_corpora.constituency_config(**options)


@cache
def by_heart(criterion):
    """A parser that knows the sentences by heart."""
    steps = 60 if criterion == "bits" else 40
    return learned(ConstituencyParser, config(criterion=criterion), SENTENCES, steps)[0]


@pytest.fixture(
    params=[pytest.param(each, marks=pytest.mark.slow if each == "margin" else ()) for each in CRITERIA]
)
def model(request):
    return by_heart(request.param)


@pytest.fixture
def parser():
    return by_heart("likelihood")


def plain(sentence):
    """A tree as the parser writes it."""
    return f"{sentence.tree.without_traces().without_functions()}\n"


def test_the_example_has_one_word_and_chains_of_constituents():
    known = [plain(sentence) for sentence in SENTENCES if len(sentence) == 1]
    assert "(ROOT (INTJ (UH oh)))\n" in known
    assert any(text.startswith("(ROOT (S (VP (VB ") for text in known)


def test_a_tiny_corpus_is_learned_by_heart(model):
    measured = model.measure(SENTENCES)
    unseen = {"unseen_codes": 0.0} if model.layer.bits else {}
    whole = dict.fromkeys(("precision", "recall", "f1", "exact", "tagging"), 100.0)
    assert measured.scores == whole | unseen
    assert measured.details["label"].keys() == {"S", "NP", "VP", "INTJ"}
    assert measured.details["label"]["NP"]["gold"] == 12


def test_labels_are_in_the_order_of_their_frequency(parser):
    spans = [label for sentence in SENTENCES for _, _, label in parser.known_spans(sentence)]
    counts = [spans.count(label) for label in parser.vocabularies["labels"].symbols]
    assert counts == sorted(counts, reverse=True)
    assert counts[-1] > 0


def test_predicted_trees_have_no_traces_and_no_function_tags(model):
    assert [str(sentence) for sentence in model.predict(SENTENCES)] == [*map(plain, SENTENCES)]


def test_the_annotation_of_the_input_is_not_read(parser):
    flat = [
        sentence.annotated(tree=Tree.build(sentence.forms, ["X"] * len(sentence), []))
        for sentence in SENTENCES
    ]
    assert [str(sentence) for sentence in parser.predict(flat)] == [*map(plain, SENTENCES)]


def test_every_prediction_is_a_tree_over_the_words():
    sentences = tiny_corpora.phrases(20, seed=3)
    for criterion in CRITERIA:
        model = untrained(ConstituencyParser, config(criterion=criterion), sentences)
        for sentence, predicted in zip(sentences, model.predict(sentences), strict=True):
            assert predicted.forms == sentence.forms
            assert Tree.parse(str(predicted)) == predicted.tree


@pytest.mark.parametrize(
    ("top", "expected"),
    [
        ("ROOT", "(ROOT (S "),
        *(pytest.param(*top, marks=pytest.mark.slow) for top in (("TOP", "(TOP (S "), ("", "( (S "))),
    ],
)
def test_the_label_of_the_top_is_put_back(top, expected):
    sentences = tiny_corpora.phrases(4, top=top)
    model, _ = learned(ConstituencyParser, config(), sentences, 30)
    predicted = [str(sentence) for sentence in model.predict(sentences)]
    assert predicted == [*map(plain, sentences)]
    assert predicted[0].startswith(expected)
    assert top not in str(model.vocabularies["labels"].symbols) or not top


@pytest.mark.parametrize(
    "other", ["(TOP {})", *(pytest.param(top, marks=pytest.mark.slow) for top in ("( {})", "{}"))]
)
def test_a_label_that_not_all_trees_have_is_left_out(other):
    texts = ["(S (NP (NN dogs)) (VP (VBP bark)))", "(INTJ (UH oh) (UH dear))"]
    sentences = tiny_corpora.read_brackets(f"(ROOT {texts[0]})\n{other.format(texts[1])}\n")
    model, _ = learned(ConstituencyParser, config(), sentences, 30)
    assert [sentence.tree.nodes[0].label for sentence in model.predict(sentences)] == ["S", "INTJ"]
    assert model.evaluate(sentences)["f1"] == 100.0, "the label of the top does not count"


@pytest.mark.parametrize(
    "text",
    [
        "(S (NP (NN dogs)) (VP (VBP bark)))\n(INTJ (UH oh) (UH dear))\n",
        "(ROOT (NN dogs) (VBP bark))\n(ROOT (UH oh))\n(ROOT (NP (NN cats)))\n",
    ],
)
def test_trees_without_any_top_and_sentences_without_constituents(text):
    sentences = tiny_corpora.read_brackets(text)
    model, _ = learned(ConstituencyParser, config(), sentences, 30)
    assert "".join(map(str, model.predict(sentences))) == "".join(map(str, sentences))


def test_text_becomes_brackets(parser):
    text = "the cat ( sees ) a dog\noh\n"
    sentences = list(parser.predict(brackets.read_text(io.BytesIO(text.encode()))))
    assert [sentence.forms for sentence in sentences] == [line.split() for line in text.splitlines()]
    assert str(sentences[1]) == "(ROOT (INTJ (UH oh)))\n"
    assert "-LRB-" in str(sentences[0])
    assert list(brackets.read(io.BytesIO("".join(map(str, sentences)).encode()))) == sentences


def in_conllu(sentence):
    plain = conllu.from_forms(sentence.forms, ["# sent_id = 1"])
    return plain.annotated(tree=sentence.tree.without_traces())


def test_conllu_has_its_trees_in_comments():
    sentences = [in_conllu(sentence) for sentence in SENTENCES]
    model, _ = learned(ConstituencyParser, config(), sentences)
    assert model.evaluate(sentences)["f1"] == 100.0
    bare = [conllu.from_forms(sentence.forms, ["# sent_id = 1"]) for sentence in SENTENCES]
    predicted = [str(sentence) for sentence in model.predict(bare)]
    assert predicted == [
        str(sentence.annotated(tree=sentence.tree.without_functions())) for sentence in sentences
    ]
    assert predicted[0].startswith("# sent_id = 1\n# constituency = (ROOT (S (NP (DT ")


def test_probabilities_have_no_place_in_trees_but_in_pictures(parser):
    read_from = list(brackets.read_text(io.BytesIO(b"the cat sees a dog\n")))
    with pytest.raises(DataError, match="1: trees have no place for probabilities; leave them out, or draw"):
        list(parser.predict(read_from, probabilities=True))
    (diagram,) = parser.diagrams(read_from, probabilities=True)
    assert diagram.brackets
    assert all(0 < bracket.probability <= 1 for bracket in diagram.brackets)
    assert len(diagram.tags) == len(diagram.forms) == 5
    (diagram,) = parser.diagrams(read_from)
    assert {bracket.probability for bracket in diagram.brackets} == {None}


def test_pictures_show_codes():
    model = untrained(ConstituencyParser, config(criterion="bits"), SENTENCES)
    for diagram in model.diagrams(SENTENCES):
        assert diagram.bits == 6
        assert diagram.codes == model.layer.vocabulary.codes
        assert all(0 <= bracket.code < 64 for bracket in diagram.brackets)


def test_unseen_codes_are_reported():
    model = untrained(ConstituencyParser, config(criterion="bits"), SENTENCES)
    batch = model.collate(SENTENCES)
    words = model.words(batch.inputs, batch.lengths)
    spans = [span for found in model.layer.best_spans(words, batch.lengths) for span in found]
    codes = {span.code for span in spans}
    one = min(codes)
    model.layer.vocabulary = type(model.layer.vocabulary)({one: {"S": 1}})
    expected = 100 * sum(span.code != one for span in spans) / len(spans)
    assert 0 < expected < 100
    assert model.evaluate(SENTENCES)["unseen_codes"] == pytest.approx(expected)


@pytest.mark.parametrize("criterion", ["bits", "bits-published"])
def test_calibration_changes_the_counts_and_nothing_else(criterion):
    model = untrained(ConstituencyParser, config(criterion=criterion), SENTENCES).train()
    counts = model.layer.vocabulary
    model.layer.vocabulary = type(counts)({})
    before = {name: value.clone() for name, value in model.state_dict().items() if "extra" not in name}
    torch.manual_seed(5)
    expected = torch.rand(2)
    torch.manual_seed(5)
    model.calibrate(SENTENCES)
    assert torch.equal(torch.rand(2), expected)
    assert model.training
    assert all(torch.equal(model.state_dict()[name], value) for name, value in before.items())
    assert model.layer.vocabulary == counts, "without dropout, as in evaluation"
    assert sum(sum(labels.values()) for labels in counts.counts.values()) == sum(
        2 * len(sentence) - 1 for sentence in SENTENCES
    )


@pytest.mark.parametrize(("criterion", "alone"), [("bits", False), ("bits-published", True)])
def test_tags_leave_the_encoder_to_the_published_loss(criterion, alone):
    model = untrained(ConstituencyParser, config(criterion=criterion), SENTENCES[:4])
    batch, gradients = model.collate(SENTENCES[:4]), []
    for weight in (0.0, 10.0):
        model.config.tag_weight = weight
        model.zero_grad()
        model.loss(batch).backward()
        gradients.append([p.grad.clone() for p in (*model.encoder.parameters(), *model.layer.parameters())])
    same = [torch.equal(*pair) for pair in zip(*gradients, strict=True)]
    assert all(same) == alone
    assert model.tag_score.weight.grad.abs().max() > 0


def test_corpora_without_trees_are_refused():
    bare = [conllu.from_forms(["It", "works"], path="a.conllu", line=3)]
    with pytest.raises(DataError, match=r"a.conllu:3: the sentence has no constituency tree"):
        ConstituencyParser.trainable(config(), bare)
    lines = list(json_lines.read(io.BytesIO(b'{"tokens": ["It"]}\n')))
    with pytest.raises(DataError, match="1: constituency parsing needs a file of trees"):
        ConstituencyParser.trainable(config(), lines)


def test_a_format_without_place_for_trees_is_refused(parser):
    lines = list(json_lines.read(io.BytesIO(b'{"tokens": ["It"]}\n')))
    with pytest.raises(DataError, match="1: a constituency parser needs brackets, CoNLL-U or text"):
        list(parser.predict(lines))
