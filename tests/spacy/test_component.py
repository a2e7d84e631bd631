"""The component sets on documents what the model predicts for their words."""

import io
import json

import pytest
from tests.spacy.conftest import KINDS
from tests.tasks.learning import learned
from tests.tiny_corpora import crossing, dependency_config, small

pytest.importorskip("spacy", reason='needs spaCy: pip install "strukt[spacy]"')

import spacy
from spacy.tokens import Doc, DocBin
from spacy.training import Example

from strukt.data.classes import labelled
from strukt.data.entities import json_lines
from strukt.errors import DataError, SettingError
from strukt.spacy import StruktComponent, sentences
from strukt.tasks import classify
from strukt.tasks.classify.model import Classifier
from strukt.tasks.dependency.model import Parser
from strukt.train.saved_model import save

TEXTS = [
    "the old cat sees a dog",
    "",
    "every shy bird hears the red wet fish",
    "fish",
    " \n",
    "the cat  likes\nthe\t fox ",
    "  Ada visits Rome",
]

EVERY_KIND = pytest.mark.parametrize(
    "kind",
    [
        pytest.param(kind, marks=() if kind in ("all", "constituency", "ner") else pytest.mark.slow)
        for kind in sorted(KINDS)
    ],
)
"""All kinds of models; in CI trees, nested entities, and a pipeline of all layers."""


def described(doc):
    """All that the components may set, in plain objects."""
    of_tokens = [(token.tag_, token.pos_, token.head.i, token.dep_, token.sent_start) for token in doc]
    groups = {
        key: [(span.start, span.end, span.label_) for span in group] for key, group in doc.spans.items()
    }
    entities = [(entity.start, entity.end, entity.label_) for entity in doc.ents]
    return of_tokens, groups, entities, doc._.strukt


def words(doc):
    return [token.text for token in doc if not token.is_space]


@pytest.mark.parametrize("kind", ["tagger", "universal", "other"])
def test_tags(pipeline, kind):
    for doc in pipeline(kind).pipe(TEXTS[:4:2]):
        (expected,) = KINDS[kind]().predict([words(doc)])
        column = "xpos" if kind == "tagger" else "upos"
        attribute, other = ("pos_", "tag_") if kind == "universal" else ("tag_", "pos_")
        assert [getattr(token, attribute) for token in doc] == expected.column(column)
        assert not any(getattr(token, other) for token in doc)


@pytest.mark.parametrize("kind", ["parser", "projective"])
def test_trees(pipeline, kind):
    for doc in pipeline(kind).pipe(TEXTS[:4:2]):
        (expected,) = KINDS[kind]().predict([words(doc)])
        heads = [0 if token.head == token else token.head.i + 1 for token in doc]
        assert heads == expected.heads
        assert [token.dep_ for token in doc] == [
            "ROOT" if label == "root" else label for label in expected.deprels
        ]
        assert [sentence.text for sentence in doc.sents] == [doc.text]


def test_tags_trees_and_entities_of_a_pipeline(pipeline):
    nlp = pipeline("all", probabilities=True)
    assert {"DT", "nsubj", "animal"} <= set(nlp.get_pipe("all").labels)
    for doc in nlp.pipe(TEXTS[:4:2]):
        (expected,) = KINDS["all"]().predict(" ".join(words(doc)))
        assert [token.tag_ for token in doc] == expected.column("xpos")
        assert [0 if token.head == token else token.head.i + 1 for token in doc] == expected.plain.heads
        assert [tuple(span) for span in described(doc)[1]["all"]] == expected.entities
        assert {"animal", "agent"} >= {entity.label_ for entity in doc.ents} != set()
        assert len(doc._.strukt["all"]["probabilities"]) == len(doc)
        assert len(doc._.strukt["all"]["span_probabilities"]) == len(doc.spans["all"]) > 0
    assert not list(nlp(" \n").ents)


def test_crossing_arcs_are_kept(folder_of, tmp_path):
    save(learned(Parser, dependency_config(criterion="tree"), [crossing()] * 2, 60)[0], tmp_path / "model")
    nlp = spacy.blank("en")
    nlp.add_pipe("strukt", config={"model": str(tmp_path / "model")})
    doc = nlp("w x y z")
    assert [token.head.i for token in doc] == [2, 3, 2, 2]
    assert [[token.text for token in sentence] for sentence in doc.sents] == [["w", "x", "y", "z"]]


def test_nested_entities(pipeline):
    model, doc = KINDS["ner"](), pipeline("ner")("Ada sees Mary Smith of York")
    (expected,) = model.predict([words(doc)])
    assert isinstance(expected, json_lines.Sentence)
    spans = [(span.start, span.end, span.label_) for span in doc.spans["ner"]]
    assert spans == [tuple(entity) for entity in expected.entities]
    outermost = [
        one for one in spans if not any(o[0] <= one[0] and one[1] <= o[1] and o[:2] != one[:2] for o in spans)
    ]
    assert {(entity.start, entity.end) for entity in doc.ents} == {one[:2] for one in outermost}


def test_tags_that_mark_entities(pipeline):
    doc = pipeline("bio")("Ada Lovelace visits Rome .")
    assert [(entity.text, entity.label_) for entity in doc.ents] == [("Ada Lovelace", "PER"), ("Rome", "LOC")]
    assert [span.text for span in doc.spans["bio"]] == ["Ada Lovelace", "Rome"]
    assert not any(token.tag_ for token in doc)


def test_entities_of_earlier_components_are_kept(pipeline):
    nlp = pipeline("bio")
    ruler = nlp.add_pipe("entity_ruler", before="bio")
    ruler.add_patterns([{"label": "NAME", "pattern": "Lovelace"}, {"label": "END", "pattern": "."}])
    doc = nlp("Ada Lovelace visits Rome .")
    found = [(entity.text, entity.label_) for entity in doc.ents]
    assert found == [("Lovelace", "NAME"), ("Rome", "LOC"), (".", "END")]
    assert [span.text for span in doc.spans["bio"]] == ["Ada Lovelace", "Rome"]


@pytest.mark.parametrize("kind", ["constituency", "codes"])
def test_constituents(pipeline, kind):
    doc = pipeline(kind)("the old cat sees a dog .")
    (expected,) = KINDS[kind]().predict([words(doc)])
    assert doc._.strukt[kind]["trees"] == [str(expected.tree)]
    nodes = [(node.start, node.end, node.label) for node in expected.tree.nodes if node.word is None]
    assert [(span.start, span.end, span.label_) for span in doc.spans[kind]] == nodes[1:]  # all but ROOT
    assert [token.tag_ for token in doc] == expected.tree.tags
    assert not doc.ents


@EVERY_KIND
def test_batches_say_the_same_as_documents_one_by_one(pipeline, kind):
    nlp = pipeline(kind, sentencizer=True, probabilities=True, k=2)
    alone = [described(nlp(text)) for text in TEXTS]
    for size in (1, 3, 100):
        together = [described(doc) for doc in nlp.pipe(TEXTS, batch_size=size)]
        for one, other in zip(alone, together, strict=True):
            assert one[:3] == other[:3]
            assert one[3].keys() == other[3].keys()
            assert list(numbers(one[3])) == pytest.approx(list(numbers(other[3])), abs=2e-4)


def numbers(value):
    """All numbers in nested lists and dictionaries."""
    for each in value.values() if isinstance(value, dict) else value:
        if isinstance(each, (dict, list)):
            yield from numbers(each)
        elif isinstance(each, (int, float)):
            yield each


@EVERY_KIND
def test_white_space_is_not_read(pipeline, kind):
    nlp = pipeline(kind, probabilities=True)
    plain, spaced = nlp("the old cat sees a dog"), nlp("  the old   cat sees a\n\ndog ")
    (of_plain,), (of_spaced,) = sentences(plain), sentences(spaced)
    assert of_plain.forms == of_spaced.forms
    place = [token.i for token in spaced if not token.is_space]
    for before, after in zip(plain, (spaced[i] for i in place), strict=True):
        assert place[before.head.i] == after.head.i
        assert (before.dep_, before.tag_, before.pos_) == (after.dep_, after.tag_, after.pos_)
    for key, group in plain.spans.items():
        assert [span.text.split() for span in group] == [span.text.split() for span in spaced.spans[key]]
    (plain_says,), (spaced_says,) = plain._.strukt.values(), spaced._.strukt.values()
    for name in plain_says.keys() - {"trees"}:
        assert [p for p in spaced_says[name] if p is not None] == plain_says[name]


def test_white_space_is_annotated_as_by_spacy(pipeline):
    doc = pipeline("parser", "tagger", "universal")("  the cat\nsees a dog\n")
    blanks = [token for token in doc if token.is_space]
    assert {(token.tag_, token.pos_, token.dep_) for token in blanks} == {("_SP", "SPACE", "dep")}
    assert [token.head.text for token in blanks] == ["the", "cat", "dog"]
    assert len(list(doc.sents)) == 1
    assert doc[1:2].root.text == "the"
    (token,) = pipeline("parser", "tagger")(" \n ")
    assert (token.head, token.dep_, token.tag_, token.doc._.strukt) == (token, "ROOT", "_SP", {})


def test_empty_documents(pipeline):
    doc = pipeline(*sorted(KINDS), probabilities=True, k=2)("")
    assert len(doc) == 0
    assert [len(doc.spans[kind]) for kind in ("ner", "flat", "codes")] == [0, 0, 0]
    assert doc._.strukt["parser"] == {"probabilities": [], "label_probabilities": [], "best": [[]]}
    assert doc._.strukt["all"]["best"] == [{"tag": [], "dependency": [], "ner": []}]


def test_each_sentence_is_read_by_itself(pipeline):
    text = "the old cat sees a dog. the fox eats a fish."
    doc = pipeline("parser", "ner", sentencizer=True, k=1)(text)
    first, second = doc.sents
    assert [second.text, first.root.sent.text] == ["the fox eats a fish.", first.text]
    alone = pipeline("parser")("the fox eats a fish.")
    assert [token.head.i - second.start for token in second] == [token.head.i for token in alone]
    assert len(doc._.strukt["parser"]["best"]) == len(doc._.strukt["ner"]["best"]) == 2


def test_words_that_no_corpus_holds(pipeline):
    nlp = pipeline(*sorted(KINDS))
    doc = Doc(nlp.vocab, words=["New York", "a\tb", "c\0d", "(", "\u200b", "#"])
    assert all(token.dep_ and token.tag_ for token in nlp(doc))
    assert sentences(doc)[0].forms == ["New York", "a\ufffdb", "c\ufffdd", "(", "\u200b", "#"]


def test_probabilities_are_those_of_the_model(pipeline):
    doc = pipeline("parser", "tagger", "ner", probabilities=True)("the old cat sees a dog")
    (of_arcs,) = KINDS["parser"]().predict([words(doc)], probabilities=True)
    notes = [dict(note.split("=") for note in misc.split("|")) for misc in of_arcs.column("misc")]
    assert doc._.strukt["parser"]["probabilities"] == [float(note["p"]) for note in notes]
    assert doc._.strukt["parser"]["label_probabilities"] == [float(note["p_label"]) for note in notes]
    marginals = KINDS["tagger"]().distribution(sentences(doc)).marginals[0].amax(-1)
    assert doc._.strukt["tagger"]["probabilities"] == pytest.approx(marginals.tolist(), abs=1e-4)
    assert len(doc._.strukt["ner"]["span_probabilities"]) == len(doc.spans["ner"])


def test_tags_arcs_and_entities_of_a_pipeline_have_probabilities(pipeline):
    doc = pipeline("all", probabilities=True)("the cat sees a dog")
    model, found = KINDS["all"](), doc._.strukt["all"]
    [alone] = model.batched(
        sentences(doc),
        lambda batch: [
            [part.predict_batch(model.batches(batch)[name], True)[0] for name, part in model.parts.items()]
        ],
    )
    tags, arcs, entities = alone
    assert found["tag_probabilities"] == [float(note) for note in tags.notes["p"]]
    assert found["probabilities"] == [float(note) for note in arcs.notes["p"]]
    assert found["span_probabilities"] == [bracket.probability for bracket in entities.brackets] != []


@pytest.mark.parametrize("kind", ["parser", "projective", "tagger"])
def test_k_best_structures(pipeline, kind):
    doc = pipeline(kind, k=3)("the old cat sees a dog")
    best = KINDS[kind]().distribution(sentences(doc)).topk(3)
    (found,) = doc._.strukt[kind]["best"]
    assert [each["probability"] for each in found] == pytest.approx(best.probs[0].tolist(), rel=1e-4)
    for each, event in zip(found, best.events[0].tolist(), strict=True):
        if kind == "tagger":
            symbols = KINDS[kind]().vocabularies["labels"].symbols
            assert each["tags"] == [symbols[number] for number in event]
        else:
            expected = [token if head == 0 else head - 1 for token, head in enumerate(event)]
            assert each["heads"] == expected
            assert [dep == "ROOT" for dep in each["deps"]] == [head == 0 for head in event]
    if kind != "tagger":
        assert found[0]["heads"] == [token.head.i for token in doc]
        assert found[0]["deps"] == [token.dep_ for token in doc]


@pytest.mark.parametrize("kind", ["constituency", "codes", "ner", "flat"])
def test_k_best_structures_that_look_the_same_are_one(pipeline, kind):
    doc = pipeline(kind, k=8)("the old cat sees a dog")
    (found,) = doc._.strukt[kind]["best"]
    assert 1 <= len(found) <= 8
    assert len({str(each["spans"]) for each in found}) == len(found)
    probabilities = [each["probability"] for each in found]
    assert probabilities == sorted(probabilities, reverse=True)
    total = KINDS[kind]().distribution(sentences(doc)).topk(8).probs.sum().item()
    assert sum(probabilities) == pytest.approx(total, rel=1e-4)


def test_each_part_of_a_pipeline_has_k_best_structures(pipeline):
    doc = pipeline("all", k=3)("the old cat sees a dog")
    [best] = doc._.strukt["all"]["best"]
    assert list(best) == ["tag", "dependency", "ner"]
    for name, part in KINDS["all"]().parts.items():
        expected = part.distribution(sentences(doc)).topk(3).probs[0]
        found = [each["probability"] for each in best[name]]
        assert sum(found) == pytest.approx(expected.sum().item(), rel=1e-3)
        assert name == "ner" or found == pytest.approx(expected.tolist(), rel=1e-3)
    assert best["tag"][0]["tags"] == [token.tag_ for token in doc]
    assert best["dependency"][0]["heads"] == [token.head.i for token in doc]
    assert best["dependency"][0]["deps"] == [token.dep_ for token in doc]


def test_a_short_sentence_has_fewer_than_k_structures(pipeline):
    assert len(pipeline("parser", k=5)("fish")._.strukt["parser"]["best"][0]) == 1


def test_everything_is_saved_with_documents(pipeline):
    nlp = pipeline("parser", "tagger", "ner", "constituency", probabilities=True, k=2)
    doc = nlp("the old cat sees  a dog")
    stored = DocBin(docs=[doc], store_user_data=True).to_bytes()
    (again,) = DocBin().from_bytes(stored).get_docs(nlp.vocab)
    assert described(Doc(nlp.vocab).from_bytes(doc.to_bytes())) == described(doc)
    assert described(again)[:3] == described(doc)[:3]
    assert json.dumps(again._.strukt) == json.dumps(doc._.strukt)  # of lists spaCy makes tuples


def gold(nlp, doc):
    """An example whose gold annotation is that of a document, and whose prediction is empty yet."""
    return Example(nlp.make_doc(doc.text), doc)


def test_scores_are_those_of_spacy(pipeline):
    nlp = pipeline("all")
    docs = list(nlp.pipe(TEXTS[:3:2]))  # spaCy counts tokens of white space as mistakes
    nested = len(docs[0].spans["all"])
    assert nested > len(docs[0].ents) > 0
    measured = nlp.evaluate([gold(nlp, doc) for doc in docs])
    names = ("tag_acc", "dep_uas", "dep_las", "sents_f", "ents_f", "spans_all_f")
    assert {name: measured[name] for name in names} == dict.fromkeys(names, 1.0)
    docs[0][0].tag_ = "XX"
    docs[0][1].dep_ = "other"
    measured = nlp.evaluate([gold(nlp, doc) for doc in docs])
    words_of_all = sum(len(doc) for doc in docs)
    assert measured["tag_acc"] == pytest.approx(1 - 1 / words_of_all)
    assert measured["dep_uas"] == 1.0 > measured["dep_las"]


@pytest.mark.parametrize(
    ("kind", "names"),
    [
        ("tagger", {"tag_acc"}),
        ("universal", {"pos_acc"}),
        ("bio", {"ents_f"}),
        ("ner", {"ents_f", "spans_ner_f"}),
        ("constituency", {"tag_acc", "spans_constituency_f"}),
    ],
)
def test_each_task_has_the_scores_of_what_it_sets(pipeline, kind, names):
    nlp = pipeline(kind)
    docs = list(nlp.pipe(["the old cat sees a dog", "Ada visits Rome"]))
    measured = nlp.evaluate([gold(nlp, doc) for doc in docs])
    assert {name: measured[name] for name in names} == dict.fromkeys(names, 1.0)
    assert names == set(measured) & {*names, "tag_acc", "pos_acc", "dep_las", "ents_f"}


def test_without_gold_annotation_there_are_no_scores(pipeline):
    nlp = pipeline("all")
    measured = nlp.evaluate([Example(nlp.make_doc("a dog"), nlp.make_doc("a dog"))])
    assert {measured[name] for name in ("tag_acc", "dep_las", "ents_f")} == {None}


def test_several_components_do_not_clash(pipeline):
    kinds = ["constituency", "tagger", "universal", "parser", "ner", "flat"]
    doc = pipeline(*kinds, probabilities=True)("the old cat sees a dog")
    assert set(doc._.strukt) == set(kinds)
    assert set(doc.spans) == {"constituency", "ner", "flat"}
    for kind in kinds:
        assert doc._.strukt[kind] == pipeline(kind, probabilities=True)(doc.text)._.strukt[kind]
    assert [token.tag_ for token in doc] == [token.tag_ for token in pipeline("tagger")(doc.text)]


def test_labels(pipeline):
    nlp = pipeline("tagger", "parser", "ner", "constituency")
    assert nlp.pipe_labels["tagger"] == ["DT", "JJ", "NN", "VBZ"]
    assert nlp.pipe_labels["parser"] == ["amod", "det", "nsubj", "obj", "root"]
    assert nlp.pipe_labels["ner"] == ["LOC", "ORG", "PER"]
    assert {"NP", "S", "VP"} <= set(nlp.pipe_labels["constituency"])


def test_a_folder_that_is_not_there_is_named_when_it_is_needed():
    nlp = spacy.blank("en")
    nlp.add_pipe("strukt", config={"model": "modle"})
    with pytest.raises(DataError, match="modle: there is no such model folder"):
        nlp("the cat")
    failed = []
    nlp.set_error_handler(lambda name, component, docs, error: failed.append((name, len(docs))))
    assert list(nlp.pipe(["the cat", "a dog"])) == []
    assert failed == [("strukt", 2)]


def test_settings_are_checked(folder_of, tmp_path):
    with pytest.raises(SettingError, match="k is -1; expected 0 or more"):
        StruktComponent("strukt", folder_of("parser"), k=-1)
    with pytest.raises(ValueError, match="probabilities"):
        spacy.blank("en").add_pipe("strukt", config={"model": folder_of("parser"), "probabilities": "often"})
    with pytest.raises(ValueError, match="model"):
        spacy.blank("en").add_pipe("strukt")
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match=r"is not a saved model: it has no format\.json"):
        StruktComponent("strukt", str(tmp_path / "empty"))


def test_models_of_other_tasks_are_refused(tmp_path):
    config = small(classify.Config())
    save(
        Classifier.from_corpus(config, list(labelled.read(io.BytesIO(b"good\tfine film\nbad\ttoo long\n")))),
        tmp_path,
    )
    with pytest.raises(
        SettingError, match="model is of the task classify; expected one of tag, dependency, ner"
    ):
        StruktComponent("strukt", str(tmp_path))
