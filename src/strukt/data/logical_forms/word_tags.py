"""Logical forms as word tags, and back: five tags per word encode the meaning of a sentence of COGS."""

from __future__ import annotations

import re
from collections import defaultdict, deque
from collections.abc import Sequence
from string import ascii_lowercase
from typing import NamedTuple

NONE = "_"
"""The tag of a word that has no tag in a column."""

SELF = "self"
"""The parent of a word without a parent in the published scheme (`strukt.data.logical_forms.tagging_schemes`)."""

_NOUN = re.compile(r"(\* )?(\S+) \( x _ (\d+) \)")
_RELATION = re.compile(r"(\S+) \. (\S+(?: \. \S+)*) \( x _ (\d+) , (?:x _ (\d+)|(\S+)) \)")
_LONE_NOUN = re.compile(r"LAMBDA a \. \S+ \( a \)")
_LONE_VERB = re.compile(r"(?:LAMBDA [a-z] \. )+(\S+)(?: \. .*)? \( e , [a-z] \)")
_OPEN_ROLE = re.compile(r" \. (\S+) \( e , ")


class Tags(NamedTuple):
    """The tags that encode the logical form of a sentence: five columns with a string per word.

    `NONE` stands for no tag. The attributes below describe the direct scheme;
    `strukt.data.logical_forms.tagging_schemes.published` says how the published scheme differs.

    Attributes:
        parent: Offset of the parent from the word: -1 if the parent is the previous word.
        role: Role of the word with respect to its parent: agent, theme, recipient, xcomp, ccomp, nmod.on ... A
            verb on its own (a primitive) has its open roles, as in agent+theme.
        category: noun, name or verb.
        determiner: For nouns: definite or indefinite.
        verb: The lemma of a verb, such as help for helped.

    Examples:
        >>> tags = Tags(["1", "_", "_"], ["agent", "_", "_"], ["name", "verb", "_"], ["_"] * 3, ["_", "eat", "_"])
        >>> tags.heads  # the parent of the first word is the second
        [1, None, None]
    """

    parent: list[str]
    role: list[str]
    category: list[str]
    determiner: list[str]
    verb: list[str]

    @property
    def heads(self) -> list[int | None]:
        """The position of each word's parent, counted from 0; None if the word has no parent in the sentence.

        Raises:
            ValueError: If a parent is neither `NONE` nor `SELF` nor a whole number.
        """
        return [_head(tag, word, len(self.parent)) for word, tag in enumerate(self.parent)]


def _head(tag: str, word: int, length: int) -> int | None:
    """Return the position of the parent of a word, from its tag and its position; see `Tags.heads`."""
    if tag in (NONE, SELF):
        return None
    try:
        place = word + int(tag)
    except ValueError:
        raise ValueError(f"parent: {tag!r} is invalid; give {NONE} or a whole number such as -1") from None
    return place if 0 <= place < length and place != word else None


class _Noun(NamedTuple):
    """A conjunct such as `* cake ( x _ 4 )`; the star marks it as definite."""

    word: int
    definite: bool


class _Relation(NamedTuple):
    """A conjunct such as `eat . agent ( x _ 2 , Emma )`; its argument is a word or a name."""

    word: int
    predicate: str
    role: str
    argument: int | str


def tags_of(words: Sequence[str], form: str) -> Tags:
    """Encode a logical form as tags in the direct scheme, without the parts that tags cannot express.

    A verb that is the xcomp of another shares its agent, which needs no tag. The encoding is lossless if and only
    if `form_of` returns the logical form.

    Args:
        words: The words of the sentence; a single word is a primitive, whose form begins with LAMBDA or is a name.
        form: The logical form of the sentence.

    Raises:
        ValueError: If the text is not a logical form, or refers to a word that the sentence does not have.

    Source: Ontañón et al. (2021), "Making Transformers Solve Compositional Tasks", section on COGS.

    Examples:
        >>> tags = tags_of("The girl ate".split(), "* girl ( x _ 1 ) ; eat . agent ( x _ 2 , x _ 1 )")
        >>> tags.parent, tags.role, tags.category
        (['_', '1', '_'], ['_', 'agent', '_'], ['_', 'noun', 'verb'])
        >>> tags.determiner, tags.verb
        (['_', 'definite', '_'], ['_', '_', 'eat'])
    """
    tags = Tags(*([NONE] * len(words) for _ in Tags._fields))
    if len(words) == 1:
        _tag_primitive(tags, words[0], form)
        return tags
    nouns, relations = _conjuncts(form, len(words))
    for word, definite in nouns:
        tags.category[word] = "noun"
        tags.determiner[word] = "definite" if definite else "indefinite"
    controlled = {relation.argument for relation in relations if relation.role == "xcomp"}
    names: dict[str, deque[int]] = defaultdict(deque)  # positions of each name, from left to right
    for place, name in enumerate(words):
        names[name].append(place)
    for word, predicate, role, argument in relations:
        if tags.category[word] != "noun":
            tags.category[word], tags.verb[word] = "verb", predicate
        if role == "agent" and word in controlled:
            continue
        if isinstance(argument, str):
            if argument not in names:
                raise ValueError(f"the name {argument!r} is not a word of the sentence")
            if not names[argument]:
                continue
            argument = names[argument].popleft()
            tags.category[argument] = "name"
        tags.parent[argument], tags.role[argument] = str(word - argument), role
    return tags


def form_of(words: Sequence[str], tags: Tags) -> str:
    """Decode tags in the direct scheme into a logical form, even if `tags_of` would not produce them.

    The predicate of a noun, or of a verb without a lemma, is the word in lower case. A verb that is the xcomp of
    another and has no agent gets that of the nearest verb above it that has one. Parents outside the sentence are
    ignored. A single word is decoded as a primitive, such as `LAMBDA a . cake ( a )`, whatever its parent.
    Conjuncts are ordered as in COGS: definite nouns first, then all others by first word and then by argument.

    Args:
        words: The words of the sentence.
        tags: The tags of the words.

    Returns:
        The logical form; empty if all tags are `NONE`.

    Raises:
        ValueError: If a column does not have one tag for each word; or if there are several words, and a parent is
            neither `NONE` nor `SELF` nor a whole number.

    Complexity: O(n log n) for n words.

    Examples:
        >>> from strukt.data.logical_forms import Tags
        >>> words = "Emma wanted to eat".split()
        >>> tags = Tags(["1", "_", "_", "-2"], ["agent", "_", "_", "xcomp"], ["name", "verb", "_", "verb"],
        ...             ["_"] * 4, ["_", "want", "_", "eat"])
        >>> for conjunct in form_of(words, tags).split(" AND "):
        ...     print(conjunct)
        want . agent ( x _ 1 , Emma )
        want . xcomp ( x _ 1 , x _ 3 )
        eat . agent ( x _ 3 , Emma )
    """
    if any(len(column) != len(words) for column in tags):
        lengths = ", ".join(f"{len(column)}" for column in tags)
        raise ValueError(f"tags has columns of {lengths} tags for {len(words)} words; give one tag for each word")
    if len(words) == 1:
        return _primitive(words[0], tags)
    definite: list[str] = []
    others: list[tuple[int, int, str]] = []
    for word, category in enumerate(tags.category):
        if category == "noun":
            noun = f"{words[word].lower()} ( x _ {word} )"
            if tags.determiner[word] == "definite":
                definite.append(f"* {noun}")
            else:
                others.append((word, -1, noun))
    for parent, role, word in _arcs(tags):
        predicate = _predicate(words[parent], tags.verb[parent])
        argument = words[word] if tags.category[word] == "name" else f"x _ {word}"
        others.append((parent, word, f"{predicate} . {_spaced(role)} ( x _ {parent} , {argument} )"))
    joined = " AND ".join(text for _, _, text in sorted(others))
    return " ; ".join([*definite, joined] if joined else definite)


def _arcs(tags: Tags) -> list[tuple[int, str, int]]:
    """Return parent, role and word of each relation, including agents that verbs share."""
    heads = tags.heads
    arcs = [
        (head, role, word)
        for word, (head, role) in enumerate(zip(heads, tags.role, strict=True))
        if head is not None and role != NONE
    ]
    agents = {head: word for head, role, word in arcs if role == "agent"}
    above = {word: head for head, role, word in arcs if role == "xcomp"}
    seen: set[int] = set()  # predicted tags may form a cycle
    for lowest in above:
        verb, without = lowest, []
        while verb in above and verb not in agents and verb not in seen:
            seen.add(verb)
            without.append(verb)
            verb = above[verb]
        if verb in agents:
            agents |= dict.fromkeys(without, agents[verb])
            arcs += [(lower, "agent", agents[verb]) for lower in without]
    return arcs


def _predicate(word: str, verb: str) -> str:
    """Return the lemma of a verb, or the word in lower case if it has none."""
    return word.lower() if verb == NONE else verb


def _tag_primitive(tags: Tags, word: str, form: str) -> None:
    """Set the tags of a primitive, that is, a word on its own.

    Raises:
        ValueError: If the logical form is not that of a primitive.
    """
    if form == word:
        tags.category[0] = "name"
    elif _LONE_NOUN.fullmatch(form):
        tags.category[0], tags.determiner[0] = "noun", "indefinite"
    elif verb := _LONE_VERB.fullmatch(form):
        tags.category[0], tags.verb[0] = "verb", verb[1]
        tags.role[0] = "+".join(_OPEN_ROLE.findall(form))
    else:
        raise ValueError(f"{form!r} is neither the name {word!r} nor like 'LAMBDA a . cake ( a )'")


def _primitive(word: str, tags: Tags) -> str:
    """Return the logical form of a primitive; its outermost variable, a, is that of the last role of a verb."""
    category, role, predicate = tags.category[0], tags.role[0], _predicate(word, tags.verb[0])
    if category == "name":
        return word
    if category == "noun":
        return f"LAMBDA a . {word.lower()} ( a )"
    if role == NONE:
        return ""
    roles = role.split("+")
    variables = dict(zip(reversed(roles), ascii_lowercase, strict=False))
    bound = "".join(f"LAMBDA {variable} . " for variable in [*variables.values(), "e"])
    return bound + " AND ".join(f"{predicate} . {_spaced(role)} ( e , {variables[role]} )" for role in roles)


def _conjuncts(form: str, length: int) -> tuple[list[_Noun], list[_Relation]]:
    """Parse the conjuncts of a logical form of a sentence with `length` words.

    Raises:
        ValueError: If a conjunct is malformed, or refers to a word outside the sentence.
    """
    nouns, relations = [], []
    for text in re.split(" ; | AND ", form):
        if noun := _NOUN.fullmatch(text):
            nouns.append(_Noun(_within(noun[3], length), noun[1] is not None))
        elif match := _RELATION.fullmatch(text):
            argument = _within(match[4], length) if match[4] else match[5]
            role = match[2].replace(" . ", ".")
            relations.append(_Relation(_within(match[3], length), match[1], role, argument))
        else:
            raise ValueError(f"{text!r} is neither like 'cake ( x _ 4 )' nor like 'eat . agent ( x _ 2 , Emma )'")
    return nouns, relations


def _within(index: str, length: int) -> int:
    """Return an index as a number; raise ValueError if it is not that of a word of the sentence."""
    if int(index) >= length:
        raise ValueError(f"x _ {index} is beyond the last word of the sentence, which is x _ {length - 1}")
    return int(index)


def _spaced(role: str) -> str:
    """Return a role as it is written in a logical form, such as `nmod . on` for nmod.on."""
    return role.replace(".", " . ")
