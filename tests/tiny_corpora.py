"""Corpora of a few sentences that a model can learn by heart, and configurations that do so in seconds."""

from __future__ import annotations

import io
import json
import random

from strukt.data import brackets, columns, conllu
from strukt.data.conllu import entity_notes
from strukt.data.entities import Entity, json_lines
from strukt.tasks import constituency, dependency, ner, pipeline, tag

DETERMINERS, ADJECTIVES = ["the", "a", "every"], ["red", "old", "shy", "wet"]
NOUNS, VERBS = ["cat", "dog", "bird", "fish", "fox"], ["sees", "eats", "hears", "likes"]

CONLL_2003 = """-DOCSTART- -X- O O

EU NNP I-NP I-ORG
rejects VBZ I-VP O
German JJ I-NP I-MISC
call NN I-NP O

-DOCSTART- -X- O O

Paris NNP I-NP I-LOC
London NNP I-NP B-LOC
Bridge NNP I-NP I-LOC

"""
"""Columns as they are published: tags of IOB1, lines of documents, and two entities of a type side by side."""


def trees(count: int, seed: int = 0) -> list[conllu.Sentence]:
    """Sentences such as "the old cat sees a dog", with tags and trees that follow from the words."""
    generator = random.Random(seed)
    return [_sentence(generator) for _ in range(count)]


def _sentence(generator: random.Random) -> conllu.Sentence:
    words: list[tuple[str, str, int, str]] = []
    verb = _phrase(generator, words, "nsubj") + 1
    words.append((generator.choice(VERBS), "VBZ", 0, "root"))
    _phrase(generator, words, "obj")
    heads = [verb if head is None else head for _, _, head, _ in words]
    sentence = conllu.from_forms([form for form, _, _, _ in words])
    tags, labels = [word[1] for word in words], [word[3] for word in words]
    return sentence.annotated(xpos=tags, upos=tags, head=heads, deprel=labels)


def _phrase(generator, words, label):
    adjectives = generator.sample(ADJECTIVES, generator.randrange(3))
    noun = len(words) + len(adjectives) + 2
    words.append((generator.choice(DETERMINERS), "DT", noun, "det"))
    words += [(adjective, "JJ", noun, "amod") for adjective in adjectives]
    words.append((generator.choice(NOUNS), "NN", None, label))
    return noun


def layers(count: int) -> list[entity_notes.Sentence]:
    """Trees whose nouns are entities, the first of which has another around it."""
    sentences = []
    for plain in trees(count):
        nouns = [place for place, tag in enumerate(plain.column("xpos")) if tag == "NN"]
        entities = [Entity(noun, noun + 1, "animal") for noun in nouns] + [Entity(0, nouns[0] + 1, "agent")]
        [sentence] = entity_notes.read(io.BytesIO(str(plain).encode()))
        sentences.append(sentence.annotated(entities=entities))
    return sentences


def crossing() -> conllu.Sentence:
    """A tree with crossing arcs."""
    sentence = conllu.from_forms(["w", "x", "y", "z"])
    return sentence.annotated(xpos=["A"] * 4, head=[3, 4, 0, 3], deprel=["a", "b", "root", "c"])


def entities(folder, count: int = 8):
    """A two-column file with names of persons and places; its path."""
    generator = random.Random(1)
    lines = []
    for _ in range(count):
        name = generator.choice([["Ada", "Lovelace"], ["Alan", "Turing"], ["Grace", "Hopper"]])
        lines += [f"{name[0]}\tB-PER", f"{name[1]}\tI-PER", "visits\tO"]
        lines += [f"{generator.choice(['Rome', 'Oslo', 'Lima'])}\tB-LOC", "\t".join([".", "O"]), ""]
    path = folder / "entities.tsv"
    path.write_text("\n".join(lines) + "\n")
    return path


def read_entities(folder, count: int = 8) -> list[columns.Sentence]:
    return list(columns.read(entities(folder, count)))


def phrases(count: int, seed: int = 0, top: str = "ROOT") -> list[brackets.Sentence]:
    """Constituency trees of sentences such as "the old cat sees a dog", and of one and of two words.

    They have function tags, traces and chains of constituents over the same words.
    """
    generator = random.Random(seed)
    kinds = [
        lambda: _clause(generator),
        lambda: _clause(generator),
        lambda: _order(generator),
        lambda: "(INTJ (UH oh))",
    ]
    return read_brackets("".join(f"({top} {kinds[number % 4]()})\n" for number in range(count)))


def _clause(generator: random.Random) -> str:
    subject, verb = _nouns(generator, "NP-SBJ"), generator.choice(VERBS)
    return f"(S {subject} (VP (VBZ {verb}) {_nouns(generator, 'NP')}) (. .))"


def _order(generator: random.Random) -> str:
    return f"(S (NP-SBJ=2 (-NONE- *)) (VP (VB {generator.choice(['run', 'stop'])})))"


def _nouns(generator: random.Random, label: str) -> str:
    adjectives = [f"(JJ {word})" for word in generator.sample(ADJECTIVES, generator.randrange(3))]
    words = [f"(DT {generator.choice(DETERMINERS)})", *adjectives, f"(NN {generator.choice(NOUNS)})"]
    return f"({label} {' '.join(words)})"


def read_brackets(text: str) -> list[brackets.Sentence]:
    return list(brackets.read(io.BytesIO(text.encode())))


def nested(count: int, seed: int = 0) -> list[json_lines.Sentence]:
    """Sentences with entities in entities, with two over the same words, of one word, and without entities."""
    generator = random.Random(seed)
    visits = [_visit(generator, number % 4 == 0) for number in range(count)]
    kinds = [visits, visits, [[("Ada", "PER")]] * count, [[("it rains", "")]] * count]
    return read_json_lines("".join(_marked(kinds[number % 4][number]) for number in range(count)))


def _visit(generator: random.Random, of_club: bool) -> list[tuple[str, str]]:
    """Pieces of a sentence with their types; `outer/inner` for a phrase whose last word is an entity too."""
    city, name = generator.choice(["Rome", "Oslo", "Lima"]), generator.choice(["Ada", "Alan", "Grace"])
    visited = ("Ajax", "LOC+ORG") if of_club else (name, "PER")
    verb = generator.choice(["visits", "likes"])
    return [(f"the mayor of {city}", "PER/LOC"), (verb, ""), visited, (".", "")]


def _marked(pieces: list[tuple[str, str]]) -> str:
    tokens: list[str] = []
    found: list[dict[str, int | str]] = []
    for text, types in pieces:
        start = len(tokens)
        tokens += text.split()
        outer, _, inner = types.partition("/")
        found += [{"start": start, "end": len(tokens), "type": label} for label in outer.split("+") if label]
        found += [{"start": len(tokens) - 1, "end": len(tokens), "type": inner}] if inner else []
    return json.dumps({"tokens": tokens, "entities": found}) + "\n"


def read_json_lines(text: str) -> list[json_lines.Sentence]:
    return list(json_lines.read(io.BytesIO(text.encode())))


def write(sentences, path):
    """Writes a corpus and gives its path as text."""
    path.write_text("".join(map(str, sentences)))
    return str(path)


def calm(config):
    """The same configuration with little dropout, under which codes are learned in few steps too."""
    config.encoder.dropout, config.encoder.word_dropout = 0.1, 0.0
    return config


def small(config):
    """The same configuration with a model and batches that suit these corpora."""
    encoder = {"layers": 1, "hidden": 24, "words": 16, "character_size": 12, "affixes": 4, "minimum_count": 1}
    trainer = {"epochs": 15, "tokens": 60, "checkpoint_steps": 3, "accelerator": "cpu", "precision": "32"}
    optimizer = {"learning_rate": 1e-2, "averaging": 0.9}
    for part, options in (("encoder", encoder), ("trainer", trainer), ("optimizer", optimizer)):
        for name, value in options.items():
            assert hasattr(getattr(config, part), name)
            setattr(getattr(config, part), name, value)
    return config


def tag_config(**options):
    return small(tag.Config(**options))


def dependency_config(**options):
    return small(dependency.Config(arc_size=32, label_size=16, **options))


def pipeline_config(**options):
    return small(pipeline.Config(arc_size=32, label_size=16, **options))


def constituency_config(**options):
    sizes = {"span_size": 48, "label_size": 16, "bits": 6, "tree_weight": 1.0}
    return calm(small(constituency.Config(**(_read(sizes, options) | options))))


def ner_config(**options):
    sizes = {"span_size": 24, "label_size": 16, "bits": 5}
    return calm(small(ner.Config(**(_read(sizes, options) | options))))


def _read(sizes, options):
    """The sizes that a criterion of spans reads."""
    names = {
        "bits": ("label_size", "bits", "tree_weight"),
        "bits-published": ("bits",),
        "flat": (),
    }.get(options.get("criterion"), ("span_size", "label_size"))
    return {name: value for name, value in sizes.items() if name in names}
