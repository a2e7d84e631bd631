"""Corpora of a few sentences that a model can learn by heart, and configurations that do so in seconds."""

from __future__ import annotations

import random

from strukt.data import columns, conllu
from strukt.tasks import dependency, tag

DETERMINERS, ADJECTIVES = ["the", "a", "every"], ["red", "old", "shy", "wet"]
NOUNS, VERBS = ["cat", "dog", "bird", "fish", "fox"], ["sees", "eats", "hears", "likes"]


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


def write(sentences, path):
    """Writes a corpus and gives its path as text."""
    path.write_text("".join(map(str, sentences)))
    return str(path)


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
