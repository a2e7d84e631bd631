"""Annotated sentences show themselves, whatever their format; what cannot be drawn is shown as text."""

import io
import xml.etree.ElementTree as ElementTree

import pytest
import torch
from tests import tiny_corpora

from strukt.data import brackets, columns, conllu, listops, text
from strukt.data.classes import labelled, pairs
from strukt.data.conllu import sentence_labels
from strukt.data.constituents import Tree
from strukt.data.entities import Entity, json_lines
from strukt.data.logical_forms import cogs
from strukt.tasks.dependency.model import Parser
from strukt.viz import notebook, svg
from strukt.viz.sentences import picture

DOGS = conllu.from_forms(["Dogs", "bark"])
ROW = "1\tFine" + "\t_" * 4 + "\t0" + "\t_" * 3 + "\n\n"


def read(module, content):
    [sentence] = module.read(io.BytesIO(content.encode()))
    return sentence


SENTENCES = {
    "words": (DOGS, "Dogs bark."),
    "a tree": (
        DOGS.annotated(head=[2, 0], deprel=["nsubj", "root"]).with_misc(p=["0.5", "0.75"]),
        "Dogs bark. Heads: Dogs nsubj of bark 0.50, bark root 0.75.",
    ),
    "half a tree": (DOGS.annotated(head=["_", 0]), "Dogs bark. Heads: bark root."),
    "constituents in a comment": (
        DOGS.annotated(tree=Tree.build(["Dogs", "bark"], ["N", "V"], [(0, 2, "S")])),
        "(S Dogs bark). Tags: Dogs N, bark V.",
    ),
    "constituents": (
        read(brackets, "(ROOT (S (NP (-NONE- *)) (NP (NN -LRB-)) (VP (V go))))\n"),
        "(ROOT (S (NP () (VP go))). Tags: ( NN, go V.",
    ),
    "entities": (
        read(json_lines, '{"tokens": ["Ada", "spoke"]}\n').annotated(entities=[Entity(0, 1, "PER")]),
        "(PER Ada) spoke.",
    ),
    "tags": (read(columns, "Ada\tB-PER\nslept\tO\n\n"), "Ada slept. Tags: Ada B-PER, slept O."),
    "no tags": (read(columns, "Ada\nslept\n\n"), "Ada slept."),
    "a class": (read(labelled, "good\tfine film\n"), "good. fine film."),
    "a class of a tree": (read(sentence_labels, "# label = good\n" + ROW), "good. Fine. Heads: Fine root."),
    "a pair": (read(pairs, "A man\tA dog\tneutral\n"), "neutral. A man A dog."),
    "an expression": (
        read(listops, "3\t[MAX 2 3 ]\n"),
        "value 3. [MAX 2 3 ]. Tags: [MAX 2. Heads: [MAX root, 2 below [MAX, 3 below [MAX, ] below [MAX.",
    ),
    "a logical form": (
        read(cogs, "Emma ate .\teat . agent ( x _ 1 , Emma )\tcase\n"),
        "eat . agent ( x _ 1 , Emma ). Emma ate .",
    ),
    "plain text": (read(text, "Dogs < cats\n"), "Dogs < cats."),
}


@pytest.mark.parametrize("kind", SENTENCES)
def test_a_notebook_draws_what_a_sentence_is_annotated_with(kind):
    sentence, said = SENTENCES[kind]
    root = ElementTree.fromstring(sentence._repr_svg_())
    assert sentence._repr_svg_() == svg.document(picture(sentence))
    assert root.find("{*}desc").text == said


def test_a_notebook_draws_what_a_model_predicts(monkeypatch):
    monkeypatch.setenv("STRUKT_BACKEND", "reference")  # kernels would be compiled for this picture alone
    sentences = tiny_corpora.trees(6)
    torch.manual_seed(0)
    parser = Parser.from_corpus(tiny_corpora.dependency_config(), sentences)
    [predicted] = parser.predict(sentences[:1], probabilities=True)
    [drawn] = parser.diagrams(sentences[:1], probabilities=True)
    [shown] = notebook.pictures(predicted)
    assert (shown.heads, shown.relations) == (drawn.heads, drawn.relations)
    assert shown.head_probabilities == pytest.approx(drawn.head_probabilities, abs=1e-4)
    assert predicted._repr_svg_() == svg.document(shown)


def test_what_cannot_be_drawn_is_shown_as_text():
    crossing = [Entity(0, 2, "A"), Entity(1, 3, "B")]
    sentence = read(json_lines, '{"tokens": ["a", "b", "c"]}\n').annotated(entities=crossing)
    assert sentence._repr_svg_() is None
    with pytest.raises(ValueError, match="crosses"):
        notebook.pictures(sentence)


@pytest.mark.parametrize("note", ["p=7", "p=nan", "p=x"])
def test_notes_that_are_no_probabilities_are_shown_as_text(note):
    sentence = DOGS.annotated(upos=["NOUN", "VERB"], misc=[note, "p=0.5"])
    assert sentence._repr_svg_() is None
    with pytest.raises(ValueError, match=note.removeprefix("p=")):
        notebook.pictures(sentence)


def test_things_without_pictures_are_named():
    with pytest.raises(TypeError, match="result is of type int; expected a picture, a sentence, a program"):
        notebook.pictures(3)
