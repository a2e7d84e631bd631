"""Training on partly annotated constituents, entities and pipelines: losses by enumeration, and refusals."""

import io
import json
import warnings

import pytest
import torch
from tests import tiny_corpora
from tests.tasks.learning import learned

from strukt.data import brackets, conllu
from strukt.data.conllu import entity_notes
from strukt.data.entities import json_lines
from strukt.errors import DataError
from strukt.tasks.constituency.model import ConstituencyParser
from strukt.tasks.ner.model import EntityModel
from strukt.tasks.pipeline.model import Pipeline

NESTED, PHRASES, LAYERS = tiny_corpora.nested(8), tiny_corpora.phrases(8), tiny_corpora.layers(8)


def json_line(text, entities=(), **more):
    spans = [dict(zip(("start", "end", "type"), entity, strict=True)) for entity in entities]
    line = json.dumps({"tokens": text.split(), "entities": spans, **more})
    return next(json_lines.read(io.BytesIO(line.encode() + b"\n")))


def bracketed(text):
    return next(brackets.read(io.BytesIO(text.encode() + b"\n")))


def in_conllu(tree, *forbidden):
    comments = [f"# constituency = {tree}", *(f"# forbidden = {json.dumps(part)}" for part in forbidden)]
    return conllu.from_forms(bracketed(tree).forms, comments)


def model_of(name, partial=True):
    torch.manual_seed(0)
    if name == "constituency":
        model = ConstituencyParser.from_corpus(tiny_corpora.constituency_config(), PHRASES)
    else:
        model = EntityModel.from_corpus(tiny_corpora.ner_config(criterion=name), NESTED)
    for parameter in model.layer.parameters():
        if parameter.requires_grad and parameter.dim() > 1:
            torch.nn.init.normal_(parameter)
    model.config.partial = partial
    return model.eval()


@pytest.mark.parametrize("name", ["likelihood", "flat", "constituency"])
def test_complete_annotation_has_the_loss_of_training_without(name):
    sentences = PHRASES if name == "constituency" else NESTED
    losses = [model.loss(model.collate(sentences)) for model in (model_of(name), model_of(name, partial=False))]
    torch.testing.assert_close(*losses)


def spans_of(model, event):
    symbols = model.vocabularies["labels"].symbols
    return {(i, j, symbols[event[i, j]]) for i, j in (event >= 0).nonzero().tolist() if symbols[event[i, j]]}


def expected(model, sentence, agrees):
    """The loss by enumeration: over the trees whose labelled spans agree."""
    distribution = model.distribution([sentence])
    events = distribution.enumerate_support()
    chosen = torch.tensor([agrees(spans_of(model, event)) for event in events[:, 0]])
    assert 0 < chosen.sum() < len(events)
    return -distribution.log_prob(events)[chosen, 0].logsumexp(0).item()


@pytest.mark.parametrize(
    ("entities", "forbidden"),
    [
        ([], [(0, 2, "PER")]),
        ([(1, 3, "LOC")], []),
        ([(0, 3, "ORG"), (0, 3, "LOC")], [(2, 3, "LOC")]),
        ([(0, 1, "PER")], [(0, 3, "LOC\tORG"), (1, 2, "PER")]),
    ],
)
def test_the_loss_of_entities_is_the_likelihood_of_all_trees_that_agree(entities, forbidden):
    model = model_of("likelihood")
    parts = [{"start": start, "end": end, "label": label} for start, end, label in forbidden]
    sentence = json_line("Ada likes Rome", entities, partial=True, forbidden=parts)
    required = set(model.known_spans(sentence))
    assert len(required) == bool(entities)
    loss = model.loss(model.collate([sentence])).item() * 3
    assert loss == pytest.approx(
        expected(model, sentence, lambda spans: required <= spans and not spans & set(forbidden)),
        rel=1e-4,
        abs=1e-5,
    )


@pytest.mark.parametrize("entity", [(0, 2, "PER"), (1, 3, "LOC"), (0, 3, "PER")])
@pytest.mark.parametrize("scheme", ["bio", "bioes"])
def test_a_flat_entity_is_not_continued(entity, scheme):
    torch.manual_seed(0)
    config = tiny_corpora.ner_config(criterion="flat", scheme=scheme)
    model = EntityModel.from_corpus(config, NESTED[1:4]).eval()
    torch.nn.init.normal_(model.layer.score.weight)
    model.config.partial = True
    sentence = json_line("Ada likes Rome", [entity], partial=True)
    chain = model.distribution([sentence])
    events = chain.enumerate_support()
    start, end, label = entity
    wanted = model.layer.scheme.span(label, end - start)
    chosen = [
        tags[start:end] == wanted and tags[end:][:1] != [f"I-{label}"]
        for tags in ([model.layer.tags[tag] for tag in event.tolist()] for event in events[:, 0])
    ]
    loss = -chain.log_prob(events)[torch.tensor(chosen), 0].logsumexp(0)
    assert model.loss(model.collate([sentence])).item() * 3 == pytest.approx(loss.item(), rel=1e-4)


@pytest.mark.parametrize("forbidden", [[(0, 1, "PER")], [(0, 2, "PER"), (0, 3, "PER"), (1, 3, "LOC")]])
def test_forbidden_flat_entities_do_not_agree(forbidden):
    torch.manual_seed(0)
    model = EntityModel.from_corpus(tiny_corpora.ner_config(criterion="flat"), NESTED[1:4]).eval()
    torch.nn.init.normal_(model.layer.score.weight)
    model.config.partial = True
    parts = [{"start": start, "end": end, "label": label} for start, end, label in forbidden]
    sentence = json_line("Ada likes Rome", [(2, 3, "LOC")], partial=True, forbidden=parts)
    other = json_line("Ada likes Rome today", [(0, 2, "PER")], partial=True)
    chain = model.distribution([sentence])
    events = chain.enumerate_support()[:, 0]
    named = [set(model.layer.spans_of(event)) for event in events]
    chosen = torch.tensor([(2, 3, "LOC") in each and not each & {*forbidden} for each in named])
    expected = -chain.log_prob(events.unsqueeze(1))[chosen, 0].logsumexp(0).item()
    assert model.loss(model.collate([sentence])).item() * 3 == pytest.approx(expected, rel=1e-4)
    alone = model.loss(model.collate([other])).item() * 4
    assert model.loss(model.collate([other, sentence])).item() * 7 == pytest.approx(alone + expected, rel=1e-4)


def test_the_loss_of_constituents_is_the_likelihood_of_all_trees_that_agree():
    model = model_of("constituency")
    forbidden = {"start": 1, "end": 3, "label": "VP"}
    sentence = in_conllu("(_ (_ run) (NP (_ cat)) (_ oh))", forbidden)

    def agrees(spans):
        return (1, 2, "NP") in spans and (1, 3, "VP") not in spans

    loss = model.loss(model.collate([sentence])).item() * 3
    assert loss == pytest.approx(expected(model, sentence, agrees), rel=1e-4)


def test_unknown_tags_of_a_partial_tree_do_not_count():
    model = model_of("constituency")
    tags = model.collate([bracketed("(_ (_ the) (NN cat) (_ sees))")]).targets["tags"]
    assert [bool(tag >= 0) for tag in tags[0]] == [False, True, False]
    assert "_" not in ConstituencyParser.labels_of(
        model.config, [*PHRASES, bracketed("(_ (NP (_ the) (_ cat)))")]
    )["tags"]


@pytest.mark.slow
def test_entities_are_learned_from_some_of_them():
    corpus = tiny_corpora.nested(24)
    some = []
    for number, sentence in enumerate(corpus):
        kept = sentence.entities[number % 2 :: 2] if number >= 12 else sentence.entities
        some.append(json_line(" ".join(sentence.forms), kept, partial=number >= 12))
    config = tiny_corpora.ner_config(partial=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model, losses = learned(EntityModel, config, some, 40)
    assert losses[-1] < losses[0] / 5
    assert model.evaluate(corpus)["f1"] > 90


def partial_layers(sentence):
    """A sentence of which one word, its head and one entity are annotated."""
    blank = ["_"] * (len(sentence) - 1)
    columns = {name: [sentence.column(name)[0], *blank] for name in ("xpos", "head", "deprel")}
    lines = str(sentence.annotated(entities=sentence.entities[:1], **columns)).split("\n")
    text = "\n".join(["# entities = partial", '# forbidden = {"word": 2, "head": 0}', *lines])
    return next(entity_notes.read(io.BytesIO(text.encode())))


@pytest.mark.parametrize("entities", ["nested", "flat"])
def test_a_pipeline_learns_from_partial_layers(entities):
    config = tiny_corpora.pipeline_config(entities=entities, partial=True)
    partial = [partial_layers(sentence) for sentence in LAYERS[:4]]
    torch.manual_seed(0)
    model = Pipeline.from_corpus(config, LAYERS).eval()
    batch = model.collate(partial)
    parts, batches = model.parts, model.batches(batch)
    assert model.loss(batch).item() == pytest.approx(
        sum(parts[name].loss(batches[name]).item() for name in parts), rel=1e-5
    )
    assert (batch.targets["tag.tags"] >= 0).sum() == 4
    assert (batch.targets["dependency.forbidden0"] == 1).sum() == 4
    assert batch.targets["ner.partial"].all()
    assert 0 < model.loss(batch) < model.loss(model.collate(LAYERS[:4]))


def test_sentences_without_any_annotation_are_left_out_of_a_pipeline():
    config = tiny_corpora.pipeline_config(entities="nested", partial=True)
    first = LAYERS[0]
    blank = {name: ["_"] * len(first) for name in ("xpos", "head", "deprel")}
    text = "# entities = partial\n" + str(first.annotated(entities=[], **blank))
    bare = next(entity_notes.read(io.BytesIO(text.encode())))
    tagged = first.annotated(entities=None, head=blank["head"], deprel=blank["deprel"])
    with pytest.warns(UserWarning, match="1 of 4 sentences have no annotation"):
        assert Pipeline.trainable(config, [*LAYERS[1:3], tagged, bare]) == [*LAYERS[1:3], tagged]


@pytest.mark.parametrize(
    ("kind", "config", "sentence", "message"),
    [
        (
            EntityModel,
            tiny_corpora.ner_config(),
            json_line("Ada spoke", partial=True),
            "the entities of the sentence are partly annotated; train on them with --partial",
        ),
        (
            EntityModel,
            tiny_corpora.ner_config(partial=True),
            json_line("Ada", [(0, 1, "PER")], forbidden=[{"start": 0, "end": 1, "label": "PER"}]),
            "the entity 'PER' of words 1 to 1 is annotated and forbidden",
        ),
        (
            ConstituencyParser,
            tiny_corpora.constituency_config(),
            bracketed("(_ (NP (_ Ada)) (_ spoke))"),
            "the tree is partly annotated, as its outermost label _ says; train on it with --partial",
        ),
        (
            ConstituencyParser,
            tiny_corpora.constituency_config(partial=True),
            in_conllu("(_ (NP (_ Ada)) (_ spoke))", {"start": 0, "end": 1, "label": "NP"}),
            "the constituent 'NP' is annotated and forbidden",
        ),
    ],
)
def test_what_cannot_be_learned_from_is_refused(kind, config, sentence, message):
    with pytest.raises(DataError, match=message):
        kind.trainable(config, [sentence])


def test_measuring_needs_complete_annotation():
    with pytest.raises(DataError, match="partly annotated"):
        model_of("likelihood").evaluate([json_line("Ada spoke", partial=True)])
    with pytest.raises(DataError, match="partly annotated"):
        model_of("constituency").evaluate([bracketed("(_ (NP (_ Ada)) (_ spoke))")])
