"""Tagging schemes that encode spans as one tag per word: BIO, IOB1, BIOES, BILOU, BMES."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from strukt.data.tag_schemes.spans import spans

OUTSIDE = "O"
"""The tag of words outside all spans."""


@dataclass(frozen=True)
class Scheme:
    """A tagging scheme: the marks of the words of a span, written before the hyphen and the span type.

    Attributes:
        name: The common name.
        first: Mark of the first of several words.
        inside: Mark of the words between first and last.
        last: Mark of the last of several words.
        single: Mark of a span of one word.
        again: Mark of the first word of a span that directly follows another span of its type; empty if the scheme
            has no such mark.

    Examples:
        >>> from strukt.data.tag_schemes import scheme_of
        >>> scheme_of("BIOES")
        Scheme(name='BIOES', first='B', inside='I', last='E', single='S', again='')
    """

    name: str
    first: str
    inside: str
    last: str
    single: str
    again: str = ""

    @property
    def marks(self) -> tuple[str, ...]:
        """All marks, without duplicates.

        Examples:
            >>> from strukt.data.tag_schemes import scheme_of
            >>> scheme_of("BIO").marks, scheme_of("BIOES").marks
            (('B', 'I'), ('B', 'I', 'E', 'S'))
        """
        every = (self.first, self.inside, self.last, self.single, self.again)
        return tuple(dict.fromkeys(mark for mark in every if mark))

    @property
    def expected(self) -> str:
        """Description of the valid tags, for messages.

        Examples:
            >>> from strukt.data.tag_schemes import scheme_of
            >>> scheme_of("BILOU").expected
            'O, B-X, I-X, L-X or U-X'
        """
        *others, last = (f"{mark}-X" for mark in self.marks)
        return f"{', '.join([OUTSIDE, *others])} or {last}"

    def has(self, tag: str) -> bool:
        """Return True if a tag belongs to the scheme: ``O``, a mark, or a mark, a hyphen and a type.

        Examples:
            >>> from strukt.data.tag_schemes import scheme_of
            >>> [scheme_of("BIO").has(tag) for tag in ("O", "B-LOC", "I", "E-LOC", "NOUN")]
            [True, True, True, False, False]
        """
        mark, kind = _parts(tag)
        return tag == OUTSIDE or (
            mark in self.marks and tag in (mark, f"{mark}-{kind}") and tag != f"{mark}-"
        )

    def begins(self, tag: str) -> bool:
        """Return True if a sentence may begin with a tag of the scheme."""
        return self.follows(OUTSIDE, tag)

    def ends(self, tag: str) -> bool:
        """Return True if a sentence may end with a tag of the scheme."""
        return self.follows(tag, OUTSIDE)

    def follows(self, before: str, tag: str) -> bool:
        """Return True if a tag may follow another tag.

        Args:
            before: The tag of a word.
            tag: The tag of the next word; both must be of the scheme.

        Examples:
            >>> from strukt.data.tag_schemes import scheme_of
            >>> bio = scheme_of("BIO")
            >>> bio.follows("B-LOC", "I-LOC"), bio.follows("B-LOC", "I-PER"), bio.follows("O", "I-LOC")
            (True, False, False)
        """
        if self.continues(before, tag):
            return True
        (mark, kind), (next_mark, next_kind) = _parts(before), _parts(tag)
        same = kind == next_kind and OUTSIDE not in (before, tag)
        complete = before == OUTSIDE or mark in (self.last, self.single, self.again)
        if tag == OUTSIDE or not complete:
            return complete
        return next_mark == self.again if same and self.again else next_mark in (self.first, self.single)

    def continues(self, before: str, tag: str) -> bool:
        """Return True if a tag belongs to the same span as the previous tag.

        Args:
            before: The tag of a word.
            tag: The tag of the next word; both must be of the scheme.

        Examples:
            >>> from strukt.data.tag_schemes import scheme_of
            >>> scheme_of("BIO").continues("B-LOC", "I-LOC"), scheme_of("BIO").continues("B-LOC", "B-LOC")
            (True, False)
        """
        (mark, kind), (next_mark, next_kind) = _parts(before), _parts(tag)
        same = kind == next_kind and OUTSIDE not in (before, tag)
        return same and mark in (self.first, self.inside, self.again) and next_mark in (self.inside, self.last)

    def span(self, kind: str, length: int) -> list[str]:
        """Return the tags of a span that does not directly follow another one of its type.

        Args:
            kind: Type of the span; if empty, tags are marks only.
            length: Number of its words.

        Raises:
            ValueError: If `length` is below 1.

        Examples:
            >>> from strukt.data.tag_schemes import scheme_of
            >>> scheme_of("BIOES").span("LOC", 3), scheme_of("BIO").span("LOC", 1)
            (['B-LOC', 'I-LOC', 'E-LOC'], ['B-LOC'])
        """
        if length < 1:
            raise ValueError(f"length is {length}; expected 1 or more")
        marks = [self.first, *[self.inside] * (length - 2), self.last] if length > 1 else [self.single]
        return [f"{mark}-{kind}" if kind else mark for mark in marks]


SCHEMES: Mapping[str, Scheme] = MappingProxyType(
    {
        scheme.name: scheme
        for scheme in (
            Scheme("BIO", "B", "I", "I", "B"),
            Scheme("IOB1", "I", "I", "I", "I", again="B"),
            Scheme("BIOES", "B", "I", "E", "S"),
            Scheme("BILOU", "B", "I", "L", "U"),
            Scheme("BMES", "B", "M", "E", "S"),
        )
    }
)
"""The schemes by name: BIO, IOB1, BIOES, BILOU and BMES."""

_OTHER_NAMES = {"IOB2": "BIO", "IOBES": "BIOES"}


def scheme_of(name: str) -> Scheme:
    """Return the scheme with a name, ignoring case; IOB2 is BIO, and IOBES is BIOES.

    Raises:
        ValueError: If there is no such scheme.

    Examples:
        >>> scheme_of("iob2").name, scheme_of("BILOU").marks
        ('BIO', ('B', 'I', 'L', 'U'))
    """
    known = _OTHER_NAMES.get(str(name).upper(), str(name).upper())
    if known not in SCHEMES:
        raise ValueError(f"scheme is {name!r}; expected one of {', '.join(SCHEMES)}")
    return SCHEMES[known]


def tag_fault(tags: Sequence[str], scheme: Scheme) -> str | None:
    """Return a message about the first tag that no valid sentence of these tags can have; None if there is none.

    Args:
        tags: The different tags of a corpus, in any order.
        scheme: The scheme that the sentences must follow.

    Examples:
        >>> from strukt.data.tag_schemes import scheme_of
        >>> tag_fault(["O", "B-LOC", "E-LOC"], scheme_of("BIO"))
        "'E-LOC' is not a tag of BIO; expected O, B-X or I-X. All tags are valid in BIOES, BMES"
        >>> tag_fault(["O", "I-LOC"], scheme_of("BIO"))
        "'I-LOC' is in no sentence of BIO, as no sequence of these tags can precede it. All tags are valid in IOB1"
    """
    fault = _fault(tags, scheme)
    if fault is None:
        return None
    fitting = [other.name for other in SCHEMES.values() if _fault(tags, other) is None]
    return f"{fault}. All tags are valid in {', '.join(fitting)}" if fitting else fault


def sequence_faults(tags: Sequence[str], scheme: Scheme) -> Iterator[tuple[int, str]]:
    """Yield the positions at which the tags of a sentence break a scheme, with the reasons.

    Yields:
        The position of a word, counted from 0, and a message.

    Examples:
        >>> from strukt.data.tag_schemes import scheme_of
        >>> list(sequence_faults(["O", "I-LOC", "B-LOC", "X"], scheme_of("BIO")))
        [(1, 'I-LOC follows O'), (3, "'X' is not a tag of BIO; expected O, B-X or I-X")]
        >>> list(sequence_faults(["I-LOC", "E-LOC", "B-PER"], scheme_of("BIOES")))
        [(0, 'the sentence begins with I-LOC'), (2, 'the sentence ends with B-PER')]
    """
    before: str | None = OUTSIDE
    for position, tag in enumerate(tags):
        if not scheme.has(tag):
            yield position, f"{tag!r} is not a tag of {scheme.name}; expected {scheme.expected}"
            before = None
            continue
        if before is not None and not scheme.follows(before, tag):
            yield position, f"{tag} follows {before}" if position else f"the sentence begins with {tag}"
        before = tag
    if tags and before is not None and not scheme.ends(before):
        yield len(tags) - 1, f"the sentence ends with {before}"


def converted(tags: Sequence[str], source: str, target: str) -> list[str]:
    """Return the tags that encode the spans of a sentence in another scheme.

    Args:
        tags: The tags of a sentence.
        source: Name of the scheme of the tags, as for `scheme_of`.
        target: Name of the scheme of the result.

    Raises:
        ValueError: If a scheme does not exist, or the tags break the source scheme.

    Examples:
        >>> converted(["B-PER", "I-PER", "O", "B-LOC"], "BIO", "BIOES")
        ['B-PER', 'E-PER', 'O', 'S-LOC']
    """
    old, new = scheme_of(source), scheme_of(target)
    for position, fault in sequence_faults(tags, old):
        raise ValueError(f"tags: {fault} at position {position}, which breaks {old.name}; correct the tags")
    result = [OUTSIDE] * len(tags)
    for _, first, last in spans(tags):
        kind = _parts(tags[first])[1]
        result[first : last + 1] = new.span(kind, last + 1 - first)
        if new.again and first and result[first - 1] != OUTSIDE and _parts(result[first - 1])[1] == kind:
            result[first] = new.again + result[first].removeprefix(_parts(result[first])[0])
    return result


def _parts(tag: str) -> tuple[str, str]:
    """Split a tag into its mark and the type after the hyphen."""
    mark, _, kind = tag.partition("-")
    return mark, kind


def _fault(tags: Sequence[str], scheme: Scheme) -> str | None:
    """Return the message of `tag_fault`, without the schemes in which all tags are valid."""
    for tag in tags:
        if not scheme.has(tag):
            return f"{tag!r} is not a tag of {scheme.name}; expected {scheme.expected}"
    for tag in _unreachable(tags, scheme.begins, scheme.follows):
        return f"{tag!r} is in no sentence of {scheme.name}, as no sequence of these tags can precede it"
    for tag in _unreachable(tags, scheme.ends, lambda after, tag: scheme.follows(tag, after)):
        return f"{tag!r} is in no sentence of {scheme.name}, as no sequence of these tags can follow it"
    return None


def _unreachable(
    tags: Sequence[str], starts: Callable[[str], bool], step: Callable[[str, str], bool]
) -> list[str]:
    """Return the tags that no chain of tags reaches, in their order.

    Args:
        tags: The tags of which chains consist.
        starts: Returns True for a tag that may be the first of a chain.
        step: Returns True if its second argument may be the next tag after its first one.
    """
    reached = {tag for tag in tags if starts(tag)}
    newest = set(reached)
    while newest:
        newest = {tag for tag in tags if tag not in reached and any(step(before, tag) for before in newest)}
        reached |= newest
    return [tag for tag in tags if tag not in reached]
