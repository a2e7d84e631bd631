"""Sentences of a small grammar with their logical forms, written down beside each other as in COGS."""

from __future__ import annotations

import random

from tests.data.sources import stream

from strukt.data.logical_forms import cogs

NAMES, NOUNS = ["Emma", "Liam", "Ava"], ["girl", "cake", "TV", "house"]
TRANSITIVE = {"ate": ("eaten", "eat"), "saw": ("seen", "see"), "liked": ("liked", "like")}
INTRANSITIVE, DATIVE = {"slept": "sleep", "ran": "run"}, {"gave": "give", "sold": "sell"}
CLAUSAL, CONTROL = {"said": "say", "hoped": "hope"}, {"wanted": "want", "tried": "try"}
OF_NAMES, OF_NOUNS = (
    [f"{name}\t{name}" for name in NAMES],
    [f"{n}\tLAMBDA a . {n.lower()} ( a )" for n in NOUNS],
)
OF_VERBS = [f"{verb}\tLAMBDA a . LAMBDA e . {verb} . agent ( e , a )" for verb in INTRANSITIVE.values()] + [
    f"{verb}\tLAMBDA a . LAMBDA b . LAMBDA e . {verb} . agent ( e , b ) AND {verb} . theme ( e , a )"
    for _, verb in TRANSITIVE.values()
]


class Draft:
    """A sentence that grows from left to right, and what is said of its words."""

    def __init__(self, generator: random.Random) -> None:
        self.generator = generator
        self.words: list[str] = []
        self.definite: list[str] = []
        self.others: list[tuple[int, int, str]] = []

    def add(self, *words: str) -> int:
        """Adds words and gives the place of the last."""
        self.words += words
        return len(self.words) - 1

    def any_of(self, words) -> str:
        return self.generator.choice(sorted(words))

    def relate(self, verb: int, predicate: str, role: str, argument: tuple[int, str]) -> None:
        place, written = argument
        self.others.append((verb, place, f"{predicate} . {role} ( x _ {verb} , {written} )"))

    def noun_phrase(self, depth: int = 2, may_be_name: bool = True) -> tuple[int, str]:
        """Its place, and how it is written as an argument."""
        if may_be_name and self.generator.random() < 0.4:
            place = self.add(self.any_of(NAMES))
            return place, self.words[place]
        definite = self.generator.random() < 0.5
        noun = self.any_of(NOUNS)
        article = "the" if definite else "a"
        place = self.add(article if self.words else article.capitalize(), noun)
        unary = f"{noun.lower()} ( x _ {place} )"
        if definite:
            self.definite.append(f"* {unary}")
        else:
            self.others.append((place, -1, unary))
        if depth and self.generator.random() < 0.3:
            preposition = self.any_of(["on", "in", "beside"])
            self.add(preposition)
            inner = self.noun_phrase(depth - 1, may_be_name=False)
            self.relate(place, noun.lower(), f"nmod . {preposition}", inner)
        return place, f"x _ {place}"

    def clause(self, depth: int) -> int:
        """The place of its verb."""
        kinds = [self.active, self.passive, self.giving]
        if depth:
            kinds += [self.saying, self.wanting]
        return self.generator.choice(kinds)(self.noun_phrase(), depth)

    def active(self, subject: tuple[int, str], depth: int, infinitive: bool = False) -> int:
        if self.generator.random() < 0.4:
            past = self.any_of(INTRANSITIVE)
            lemma = INTRANSITIVE[past]
            verb = self.add(lemma if infinitive else past)
            self.relate(verb, lemma, "agent", subject)
            return verb
        past = self.any_of(TRANSITIVE)
        lemma = TRANSITIVE[past][1]
        verb = self.add(lemma if infinitive else past)
        self.relate(verb, lemma, "agent", subject)
        self.relate(verb, lemma, "theme", self.noun_phrase())
        return verb

    def passive(self, subject: tuple[int, str], depth: int) -> int:
        participle, lemma = TRANSITIVE[self.any_of(TRANSITIVE)]
        verb = self.add("was", participle)
        self.relate(verb, lemma, "theme", subject)
        if self.generator.random() < 0.5:
            self.add("by")
            self.relate(verb, lemma, "agent", self.noun_phrase())
        return verb

    def giving(self, subject: tuple[int, str], depth: int) -> int:
        past = self.any_of(DATIVE)
        verb = self.add(past)
        self.relate(verb, DATIVE[past], "agent", subject)
        self.relate(verb, DATIVE[past], "theme", self.noun_phrase())
        self.add("to")
        self.relate(verb, DATIVE[past], "recipient", self.noun_phrase())
        return verb

    def saying(self, subject: tuple[int, str], depth: int) -> int:
        past = self.any_of(CLAUSAL)
        verb = self.add(past)
        self.relate(verb, CLAUSAL[past], "agent", subject)
        self.add("that")
        inner = self.clause(depth - 1)
        self.relate(verb, CLAUSAL[past], "ccomp", (inner, f"x _ {inner}"))
        return verb

    def wanting(self, subject: tuple[int, str], depth: int, infinitive: bool = False) -> int:
        past = self.any_of(CONTROL)
        lemma = CONTROL[past]
        verb = self.add(lemma if infinitive else past)
        self.relate(verb, lemma, "agent", subject)
        self.add("to")
        kind = self.wanting if depth > 1 and self.generator.random() < 0.5 else self.active
        inner = kind(subject, depth - 1, infinitive=True)
        self.relate(verb, lemma, "xcomp", (inner, f"x _ {inner}"))
        return verb


def line(generator: random.Random, depth: int = 3) -> str:
    """A sentence, its logical form, and how deep its clauses may nest, as its case."""
    draft = Draft(generator)
    draft.clause(depth)
    draft.add(".")
    form = " ; ".join([*draft.definite, " AND ".join(text for _, _, text in sorted(draft.others))])
    return f"{' '.join(draft.words)}\t{form}\tdepth_{depth}"


def lines(count: int, seed: int = 0, depth: int = 3) -> list[str]:
    """The primitives, then as many sentences."""
    generator = random.Random(seed)
    primitives = [f"{text}\tprimitive" for text in (*OF_NAMES, *OF_NOUNS, *OF_VERBS)]
    return primitives + [line(generator, depth) for _ in range(count)]


def read(text: str | list[str]) -> list[cogs.Sentence]:
    content = text if isinstance(text, str) else "".join(f"{line}\n" for line in text)
    return list(cogs.read(stream(content, "some.tsv")))
