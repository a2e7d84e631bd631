"""Training on sentences of which some words are annotated: losses by enumeration, and what is refused."""

import itertools
import json
import random

import pytest
import torch
from tests import tiny_corpora
from tests.tasks.learning import learned

from strukt.data import columns, conllu
from strukt.data.conllu.dependency_trees import is_projective
from strukt.errors import DataError
from strukt.tasks.common.partial_annotation import (
    may_be_projective,
    require_partial_tree,
)
from strukt.tasks.dependency.model import Parser
from strukt.tasks.tag.model import Tagger

TREES = tiny_corpora.trees(12)
CASES = {
    "crf": (Tagger, tiny_corpora.tag_config, {"criterion": "crf"}),
    "cross-entropy": (Tagger, tiny_corpora.tag_config, {}),
    "sentences": (Tagger, tiny_corpora.tag_config, {"criterion": "crf", "average": "sentences"}),
    "tree": (Parser, tiny_corpora.dependency_config, {"criterion": "tree"}),
    "projective": (Parser, tiny_corpora.dependency_config, {"criterion": "tree", "trees": "projective"}),
    "head": (Parser, tiny_corpora.dependency_config, {"criterion": "head"}),
}


def model_of(name, partial=True):
    """A model that does not know of partial annotation while it is made, so that both kinds are the same."""
    kind, config, options = CASES[name]
    torch.manual_seed(0)
    model = kind.from_corpus(config(**options), TREES).eval()
    for biaffine in (model.arc_score, model.label_score) if kind is Parser else ():
        torch.nn.init.normal_(biaffine.weight)
    model.config.partial = partial
    return model


def blanked(sentence, words, columns=("xpos", "head", "deprel")):
    """A sentence in which these words, counted from 0, are not annotated."""
    kept = {
        name: ["_" if place in words else value for place, value in enumerate(sentence.column(name))]
        for name in columns
    }
    return sentence.annotated(**kept)


def half_blank(sentences, seed=0):
    generator = random.Random(seed)
    return [blanked(each, generator.sample(range(len(each)), len(each) // 2)) for each in sentences]


@pytest.mark.parametrize("name", CASES)
def test_full_annotation_has_the_loss_and_the_gradients_of_training_without(name):
    losses, gradients = [], []
    for partial in (False, True):
        model = model_of(name, partial)
        loss = model.loss(model.collate(TREES))
        loss.backward()
        losses.append(loss.detach())
        gradients.append({key: value.grad for key, value in model.named_parameters() if value.requires_grad})
    torch.testing.assert_close(*losses)
    for key, gradient in gradients[0].items():
        torch.testing.assert_close(gradient, gradients[1][key], rtol=1e-3, atol=1e-5, msg=key)


@pytest.mark.parametrize("name", CASES)
def test_the_loss_is_the_likelihood_of_all_structures_that_agree(name):
    model = model_of(name)
    sentence = conllu.from_forms(TREES[0].forms[:4]).annotated(
        xpos=["DT", "_", "NN", "_"], head=[3, "_", 4, "_"], deprel=["det", "_", "nsubj", "_"]
    )
    loss = model.loss(model.collate([sentence])).item() * len(sentence)
    assert loss == pytest.approx(_expected(model, name, sentence), rel=1e-4)


FORBIDDEN = {
    "tag": [{"word": 2, "tag": "JJ"}, {"word": 4, "tag": "NN"}, {"word": 4, "tag": "VBZ"}],
    "arc": [{"word": 2, "head": 3}, {"word": 4, "head": 3}, {"word": 2, "head": 1}],
    "relation": [
        {"word": 2, "head": 3, "relation": "amod"},
        {"word": 2, "head": 3, "relation": "det"},
        {"word": 2, "head": 1, "relation": "obj"},
        {"word": 4, "head": 0, "relation": "root"},
        {"word": 1, "head": 3, "relation": "amod"},  # its relation is known
    ],
}


def with_forbidden(kind):
    comments = [f"# forbidden = {json.dumps(part)}" for part in FORBIDDEN[kind]]
    return conllu.from_forms(TREES[0].forms[:4], comments).annotated(
        xpos=["DT", "_", "NN", "_"], head=[3, "_", "_", "_"], deprel=["det", "_", "_", "_"]
    )


@pytest.mark.parametrize(
    ("name", "kind"),
    [("crf", "tag"), ("cross-entropy", "tag"), ("tree", "arc"), ("projective", "arc"), ("tree", "relation")],
)
def test_structures_with_forbidden_parts_do_not_agree(name, kind):
    model, sentence = model_of(name), with_forbidden(kind)
    distribution, batch = model.distribution([sentence]), model.collate([sentence])
    events = distribution.enumerate_support()[:, 0]
    target = batch.targets["heads" if "heads" in batch.targets else "tags"][0]
    logs = distribution.log_prob(events.unsqueeze(1))[:, 0]
    logs = logs.masked_fill(~((events == target) | (target < 0)).all(-1), -torch.inf)
    labels = model.vocabularies["labels"]
    for part in FORBIDDEN[kind]:
        place = events[:, part["word"] - 1]
        has_part = place == (part["head"] if "head" in part else labels.index(part["tag"]))
        logs = logs.masked_fill(has_part, -torch.inf) if kind != "relation" else logs
    if kind == "relation":
        logs = logs + torch.stack([_log_permitted(model, batch, event) for event in events])
    loss = model.loss(batch).item() * len(sentence)
    of_labels = _of_labels(model, batch) if "labels" in batch.targets else 0.0
    assert loss == pytest.approx(of_labels - logs.logsumexp(0).item(), rel=1e-4)


def _log_permitted(model, batch, heads):
    """The log-probability that the unknown labels of the arcs to these heads are not forbidden."""
    with model.predicting():
        _, vectors = model.scores(batch.inputs, batch.lengths)
        probabilities = model.label_scores(vectors, heads.unsqueeze(0))[0].softmax(-1)
    probabilities = probabilities.clone()
    for part in FORBIDDEN["relation"][:-1]:
        if heads[part["word"] - 1] == part["head"]:
            probabilities[part["word"] - 1, model.vocabularies["labels"].index(part["relation"])] = 0
    return probabilities.sum(-1).log().sum()


@pytest.mark.parametrize(
    ("kind", "config", "comment", "message"),
    [
        (Tagger, tiny_corpora.tag_config(partial=True), '{"word": 1, "tag": "DT"}', "word 1 may have no tag"),
        (
            Parser,
            tiny_corpora.dependency_config(partial=True),
            '{"word": 1, "head": 3}',
            "no tree has the annotated heads and none of the forbidden arcs",
        ),
        (
            Parser,
            tiny_corpora.dependency_config(partial=True),
            '{"word": 1, "head": 3, "relation": "det"}',
            "the relation 'det' of word 1 is annotated and forbidden",
        ),
        (
            Parser,
            tiny_corpora.dependency_config(partial=True),
            '{"word": 9, "head": 3}',
            '{"word": 9, "head": 3} is not a part of a structure over 4 words',
        ),
    ],
)
def test_annotation_that_is_forbidden_is_named(kind, config, comment, message):
    sentence = conllu.from_forms(TREES[0].forms[:4], [f"# forbidden = {comment}"]).annotated(
        xpos=["DT", "_", "NN", "_"], head=[3, "_", "_", "_"], deprel=["det", "_", "_", "_"]
    )
    with pytest.raises(DataError, match=message):
        kind.trainable(config, [sentence])


def _expected(model, name, sentence):
    distribution = model.distribution([sentence])
    batch = model.collate([sentence])
    target = batch.targets["heads" if "heads" in batch.targets else "tags"]
    if name in ("head", "cross-entropy"):
        with model.predicting():
            inputs = model.scores(batch.inputs, batch.lengths)[0]
        arcs = -inputs.log_softmax(-1)[0]
        of_words = sum(arcs[word, part].item() for word, part in enumerate(target[0]) if part >= 0)
    else:
        events = distribution.enumerate_support()
        agree = ((events == target) | (target < 0)).all(-1)
        of_words = -torch.logsumexp(distribution.log_prob(events)[agree], 0).item()
    return of_words + (_of_labels(model, batch) if "labels" in batch.targets else 0.0)


def _of_labels(model, batch):
    with model.predicting():
        _, vectors = model.scores(batch.inputs, batch.lengths)
        scores = model.label_scores(vectors, batch.targets["heads"])[0].log_softmax(-1)
    labels = batch.targets["labels"][0].tolist()
    return -sum(scores[word, label].item() for word, label in enumerate(labels) if label >= 0)


def test_a_relation_may_be_left_out_where_the_head_is_known():
    model = model_of("tree")
    sentence = TREES[0]
    bare = sentence.annotated(deprel=["_"] * len(sentence))
    batch = model.collate([bare])
    assert model.loss(batch).item() * len(sentence) == pytest.approx(_expected(model, "tree", bare), rel=1e-4)
    assert (batch.targets["heads"] >= 0).all()
    assert (batch.targets["labels"] == -1).all()


@pytest.mark.parametrize(
    "name",
    [
        "crf",
        "tree",
        *(pytest.param(name, marks=pytest.mark.slow) for name in ("cross-entropy", "projective", "head")),
    ],
)
def test_what_half_of_the_words_show_is_learned_for_all(name):
    kind, config, options = CASES[name]
    model, losses = learned(kind, config(**options, partial=True), half_blank(tiny_corpora.trees(30)), 80)
    assert losses[-1] < losses[0] / 3
    assert model.evaluate(TREES)[model.selection] > 95
    assert "_" not in model.vocabularies["labels"]


@pytest.mark.parametrize("name", ["crf", "tree"])
def test_sentences_without_annotation_are_left_out_with_a_warning(name):
    kind, config, options = CASES[name]
    sentences = [*TREES[:3], blanked(TREES[3], range(len(TREES[3])))]
    with pytest.warns(UserWarning, match="1 of 4 sentences have no annotation, and are left out"):
        assert kind.trainable(config(**options, partial=True), sentences) == TREES[:3]


def test_sentences_that_no_projective_tree_fits_are_left_out():
    config = tiny_corpora.dependency_config(criterion="tree", trees="projective", partial=True)
    crossing = blanked(tiny_corpora.crossing(), [2, 3])
    with pytest.warns(UserWarning, match="1 of 13 sentences have crossing arcs"):
        assert Parser.trainable(config, [*half_blank(TREES), crossing]) == half_blank(TREES)
    assert Parser.trainable(tiny_corpora.dependency_config(partial=True), [crossing]) == [crossing]


@pytest.mark.parametrize("words", [2, 3, 4])
def test_heads_are_possible_if_some_tree_has_them(words):
    trees = [
        heads
        for heads in itertools.product(range(words + 1), repeat=words)
        if not list(conllu.tree_problems(_with_heads(heads)))
    ]
    generator = random.Random(words)
    every = list(itertools.product([None, *range(words + 1)], repeat=words))
    for heads in generator.sample(every, min(len(every), 125)):
        fitting = [tree for tree in trees if all(a in (None, b) for a, b in zip(heads, tree, strict=True))]
        sentence = _with_heads(heads)
        if fitting:
            assert require_partial_tree(sentence) is sentence
            assert may_be_projective(sentence) == any(map(is_projective, fitting))
        else:
            with pytest.raises(DataError):
                require_partial_tree(sentence)


def _with_heads(heads):
    return conllu.from_forms(["w"] * len(heads)).annotated(
        head=["_" if head is None else head for head in heads],
        deprel=["_" if head is None else "x" for head in heads],
    )


def tagged(text, tmp_path):
    """The sentences of a two-column file of words, `/`, and tags."""
    path = tmp_path / "names.tsv"
    path.write_text("\n".join(pair.replace("/", "\t") for pair in text.split()) + "\n\n")
    return list(columns.read(path))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a/O b/I-PER c/B-PER", "names.tsv:2: I-PER cannot follow O of word 1, whatever the tags of"),
        ("a/I-PER b/_ c/B-PER", "names.tsv:1: I-PER cannot follow the beginning, whatever the tags"),
        ("a/B-PER b/_ c/X", r"'X' is not a tag of BIO; expected O, B-X or I-X, or choose other --constraints"),
        ("a/_ b/_ c/O", "column tag: expected at least two different tags, found O"),
    ],
)
def test_tags_that_cannot_be_completed_are_named(text, message, tmp_path):
    config = tiny_corpora.tag_config(criterion="crf", constraints="bio", partial=True)
    with pytest.raises(DataError, match=message):
        Tagger.trainable(config, tagged(text, tmp_path))


def test_tags_are_completed_under_constraints(tmp_path):
    config = tiny_corpora.tag_config(criterion="crf", constraints="bio", partial=True)
    model, losses = learned(Tagger, config, tagged("a/B-PER b/_ c/I-PER d/_ e/O", tmp_path), 40)
    assert losses[-1] < 0.1
    assert next(model.predict("a b c d e")).column("xpos")[:3] == ["B-PER", "I-PER", "I-PER"]


@pytest.mark.parametrize(
    ("head", "deprel", "message"),
    [
        ([2, "_"], ["a", "b"], "word 2, 'works', has a relation and no head; fill in the column HEAD"),
        ([2, 1], ["a", "b"], "the heads form a cycle: 1 -> 2 -> 1"),
        ([0, 0], ["a", "b"], "word 2 has head 0, as has word 1"),
    ],
)
def test_heads_that_no_tree_has_are_named(head, deprel, message):
    sentence = conllu.from_forms(["It", "works"]).annotated(head=head, deprel=deprel)
    with pytest.raises(DataError, match=message):
        Parser.trainable(tiny_corpora.dependency_config(partial=True), [sentence])


def test_a_corpus_without_relations_is_refused():
    bare = [sentence.annotated(deprel=["_"] * len(sentence)) for sentence in TREES]
    with pytest.raises(DataError, match="no word has a relation; fill in the column DEPREL of some"):
        Parser.from_corpus(tiny_corpora.dependency_config(partial=True), bare)


def test_a_loss_without_partial_annotation_needs_all_heads():
    model = model_of("head", partial=False)
    with pytest.raises(DataError, match=f"word 2, '{TREES[0].forms[1]}', has no head"):
        model.collate([blanked(TREES[0], [1])])


@pytest.mark.parametrize("name", ["crf", "tree"])
def test_measuring_needs_full_annotation(name):
    sentence = blanked(TREES[0], [1])
    column = {"crf": "tag in the column XPOS", "tree": "head"}[name]
    for partial in (False, True):
        with pytest.raises(DataError, match=f"word 2, '{sentence.forms[1]}', has no {column}"):
            model_of(name, partial).evaluate([sentence])
