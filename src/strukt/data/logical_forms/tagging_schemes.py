"""Two tagging schemes for the logical forms of COGS: the published one, and one without prepositions.

In the direct scheme (`strukt.data.logical_forms`), a modifying noun is attached to the noun that it modifies. In
the published scheme, the preposition between the two nouns is attached to the first noun, and the second noun to
the preposition. The schemes also differ in the tags of words without a parent, of verbs with the role xcomp, and
of primitives (sentences of one word).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from strukt.data.logical_forms.word_tags import NONE, SELF, Tags

Scheme = Literal["direct", "published"]

PREPOSITION = "PREP"
"""Role of a preposition with respect to the noun before it, in the published scheme."""

OF_PREPOSITION = "PP_NOUN"
"""Role of a noun with respect to the preposition before it, in the published scheme."""

_MODIFIER = "nmod."

AGENT_ALONE = frozenset(
    {
        "crawl", "cry", "dance", "frown", "gasp", "giggle", "jog", "laugh", "nap", "run", "scoff",
        "scream", "sleep", "smile", "smirk", "sneeze", "snooze", "snore", "stutter", "talk", "walk",
    }
)
"""The verbs of COGS whose primitive (the verb as a sentence of its own) takes an agent only."""

THEME_ALONE = frozenset(
    {
        "break", "burn", "change", "collapse", "crumple", "decompose", "disintegrate", "double",
        "enlarge", "float", "freeze", "grow", "improve", "inflate", "redden", "roll", "shorten",
        "slide", "snap", "split",
    }
)
"""The verbs of COGS whose primitive takes a theme only. Verbs in neither set take an agent and a theme."""


def published(words: Sequence[str], tags: Tags) -> Tags:
    """Convert direct tags to the published scheme.

    A preposition is attached to the noun before it, and the noun after it to the preposition. A word without a
    parent gets the parent `SELF`; a verb with the role xcomp gets no category; a one-word sentence gets neither
    role nor determiner. The given tags are not modified.

    Args:
        words: The words of the sentence.
        tags: The tags of the logical form in the direct scheme.

    Raises:
        ValueError: If a noun is attached to another one, but its preposition is not between them; or if a parent
            is neither `NONE` nor `SELF` nor a whole number.

    Source: Ontañón et al. (2021), "Making Transformers Solve Compositional Tasks", as tagged by Wu and Tu (2023),
    "Probabilistic Transformer", appendix D.4.

    Examples:
        >>> words = "girl on a TV".split()
        >>> nothing = ["_"] * 4
        >>> tags = Tags(["_", "_", "_", "-3"], ["_", "_", "_", "nmod.on"], nothing, nothing, nothing)
        >>> result = published(words, tags)
        >>> result.parent, result.role
        (['self', '-1', 'self', '-2'], ['_', 'PREP', '_', 'PP_NOUN'])
        >>> direct(words, result).parent, direct(words, result).role
        (['_', '_', '_', '-3'], ['_', '_', '_', 'nmod.on'])
    """
    parent = [SELF if tag == NONE else tag for tag in tags.parent]
    role = list(tags.role)
    category = [NONE if role[word] == "xcomp" else tag for word, tag in enumerate(tags.category)]
    for word, head in enumerate(tags.heads):
        if head is not None and role[word].startswith(_MODIFIER):
            between = _preposition(words, role[word].removeprefix(_MODIFIER), head, word)
            parent[between], role[between] = str(head - between), PREPOSITION
            parent[word], role[word] = str(between - word), OF_PREPOSITION
    if len(words) == 1:
        return Tags(parent, [NONE], category, [NONE], list(tags.verb))
    return Tags(parent, role, category, list(tags.determiner), list(tags.verb))


def direct(words: Sequence[str], tags: Tags) -> Tags:
    """Convert tags of either scheme to the direct one, even if they encode no logical form.

    Prepositions lose their parent and role. A noun attached to a preposition without a parent noun gets no parent.
    A verb that is the whole sentence gets the roles that its primitive takes, such as agent+theme. The given tags
    are not modified.

    Args:
        words: The words of the sentence.
        tags: The tags of the words, in either scheme.

    Raises:
        ValueError: If a parent is neither `NONE` nor `SELF` nor a whole number.
    """
    heads = tags.heads
    parent, role, category = list(tags.parent), list(tags.role), list(tags.category)
    for word, head in enumerate(heads):
        if role[word] == OF_PREPOSITION:
            above = heads[head] if head is not None and tags.role[head] == PREPOSITION else None
            parent[word] = SELF if above is None else str(above - word)
            role[word] = NONE if head is None or above is None else _MODIFIER + words[head].lower()
        elif role[word] == PREPOSITION:
            parent[word], role[word] = SELF, NONE
        elif role[word] == "xcomp" and category[word] == NONE:
            category[word] = "verb"
    if len(words) == 1 and category[0] == "verb" and role[0] == NONE:
        role = [_roles_alone(tags.verb[0])]
    parent = [NONE if tag == SELF else tag for tag in parent]
    return Tags(parent, role, category, list(tags.determiner), list(tags.verb))


def _preposition(words: Sequence[str], name: str, head: int, word: int) -> int:
    """Return the last position of the preposition `name` between the noun at `head` and its modifier at `word`."""
    for place in range(word - 1, head, -1):
        if words[place].lower() == name:
            return place
    raise ValueError(f"there is no {name!r} between {words[head]!r} and {words[word]!r}, its modifier")


def _roles_alone(verb: str) -> str:
    """Return the roles that the primitive of a verb takes, joined by a plus."""
    if verb in AGENT_ALONE:
        return "agent"
    return "theme" if verb in THEME_ALONE else "agent+theme"
