"""Column files of shared tasks such as CoNLL-2003: a word first, optional columns, the span tag last."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from strukt.data.files import Source, name_of
from strukt.data.files.blocks import Block, blocks
from strukt.data.files.problems import empty_column
from strukt.data.tag_schemes.bio_schemes import SCHEMES, Scheme, converted, sequence_faults
from strukt.errors import DataError

_DOCUMENT = re.compile(r"-DOCSTART-(?:[ \t]|$)")


@dataclass(frozen=True)
class TaggedWords:
    r"""The words of a sentence and their tags; `str` writes two columns separated by a TAB.

    Attributes:
        words: The first column.
        tags: The last column.
        path: The file name, for messages.
        line: Line number of the first word, counted from 1.

    Examples:
        >>> str(TaggedWords(["Ada", "Lovelace"], ["B-PER", "I-PER"], "people.txt", 1))
        'Ada\tB-PER\nLovelace\tI-PER\n\n'
    """

    words: list[str]
    tags: list[str]
    path: str
    line: int

    def converted(self, source: Scheme, target: Scheme) -> TaggedWords:
        """Return the sentence with its spans rewritten in another scheme.

        Args:
            source: The scheme of the tags.
            target: The scheme to write.

        Raises:
            DataError: If the tags break the source scheme. The error names file and line.

        Examples:
            >>> from strukt.data.tag_schemes import scheme_of
            >>> sentence = TaggedWords(["Ada", "sleeps"], ["I-PER", "O"], "people.txt", 1)
            >>> sentence.converted(scheme_of("IOB1"), scheme_of("BIOES")).tags
            ['S-PER', 'O']
        """
        if fault := _first_fault([self], source):
            line, message = fault
            remedy = "correct the tags, or name their scheme with --from"
            raise DataError(f"{message}, which breaks {source.name}; {remedy}", self.path, line)
        return replace(self, tags=converted(self.tags, source.name, target.name))

    def __str__(self) -> str:
        return str(Block([f"{word}\t{tag}" for word, tag in zip(self.words, self.tags, strict=True)]))


def read(source: Source) -> Iterator[TaggedWords]:
    r"""Read sentences separated by blank lines, lazily; ``-DOCSTART-`` lines are skipped, and also end a sentence.

    Columns are separated by TABs or, in lines without any, by spaces. Only the first and the last one are
    kept. There are no comments: `#` is an ordinary word.

    Args:
        source: A path, `-` for standard input, or an open stream.

    Raises:
        DataError: If the file cannot be read or has no sentences, or if a line has no tag, an empty column, or not
            as many columns as the lines before. The error names file and line.

    Examples:
        >>> import io
        >>> [sentence] = read(io.BytesIO(b"-DOCSTART- -X- O O\n\nEU NNP I-NP I-ORG\nrejects VBZ I-VP O\n\n"))
        >>> sentence.words, sentence.tags, sentence.line
        (['EU', 'rejects'], ['I-ORG', 'O'], 3)
    """
    path, width = name_of(source), 0
    for block in blocks(source):
        for is_border, lines in groupby(enumerate(block.lines, block.line), _begins_document):
            if is_border:
                continue
            rows = []
            for number, text in lines:
                row = _columns(text)
                width = width or len(row)
                if fault := _fault(row, width):
                    raise DataError(fault, path, number)
                rows.append(row)
            words, tags = [row[0] for row in rows], [row[-1] for row in rows]
            yield TaggedWords(words, tags, path, number + 1 - len(rows))
    if not width:
        raise DataError("the file holds no sentence; give a file with at least one", path)


def scheme_of_all(sentences: Sequence[TaggedWords]) -> Scheme:
    """Return the first scheme of `SCHEMES` that the tags of a file do not break.

    If several schemes fit, for example because all tags are O, they all read the same spans.

    Args:
        sentences: All sentences of the file, at least one.

    Raises:
        DataError: If no scheme fits; the message says where the best-fitting scheme is first broken.

    Examples:
        >>> scheme_of_all([TaggedWords(["Ada", "sleeps"], ["I-PER", "O"], "people.txt", 1)]).name
        'IOB1'
    """
    faults = []
    for scheme in SCHEMES.values():
        fault = _first_fault(sentences, scheme)
        if fault is None:
            return scheme
        faults.append((*fault, scheme.name))
    line, message, name = max(faults, key=lambda fault: fault[0])
    fits = f"no scheme fits all tags; {name} does up to this line, where {message}"
    raise DataError(f"{fits}; correct the tags", sentences[0].path, line)


def _first_fault(sentences: Sequence[TaggedWords], scheme: Scheme) -> tuple[int, str] | None:
    """Return the number of the line at which tags first break a scheme, and the reason; None if they do not."""
    for sentence in sentences:
        for position, message in sequence_faults(sentence.tags, scheme):
            return sentence.line + position, message
    return None


def _begins_document(numbered: tuple[int, str]) -> bool:
    """Return True if a line, given with its number, marks the beginning of a document."""
    return _DOCUMENT.match(numbered[1]) is not None


def _columns(text: str) -> list[str]:
    """Split a line at TABs or, if it has none, at spaces."""
    # Other white space does not separate: words of some corpora contain no-break spaces.
    return text.split("\t") if "\t" in text else re.split(" +", text.strip(" "))


def _fault(row: list[str], width: int) -> str | None:
    """Return the fault of the columns of a line, with a remedy; None if they are valid."""
    if len(row) < 2:
        return "expected a word and its tag, found one column; write the tag after a space or TAB"
    if len(row) != width:
        remedy = "separate all columns alike, by TABs or by spaces"
        return f"expected {width} columns as in the lines before, found {len(row)}; {remedy}"
    if fault := empty_column(row):
        return f"{fault}; write something in it, or leave out all of it"
    return None
