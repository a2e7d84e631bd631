"""Plain text: one sentence per line, words separated by white space. Annotated, it becomes CoNLL-U."""

from __future__ import annotations

import re
from collections.abc import Iterator

from strukt.data import conllu
from strukt.data.attached import ATTACHED, JOINED, all_matches
from strukt.data.conllu import entity_notes
from strukt.data.files import Source
from strukt.data.files.line_reader import LineReader
from strukt.data.files.problems import Report, stop

_LETTERS = rf"(?:\w{ATTACHED})+"
_TOKEN = re.compile(rf"{ATTACHED}{_LETTERS}(?:[-'’.]{_LETTERS})*|{JOINED}")


def read(source: Source, report: Report = stop) -> Iterator[conllu.Sentence]:
    r"""Read one sentence from each non-blank line, lazily; words are separated by white space.

    The line, without white space at its ends, is kept in a comment `# text = ...`.

    Args:
        source: A path, `-` for standard input, or an open stream.
        report: Called with each problem; if it returns, a line with NUL or a carriage return within it is left
            out.

    Raises:
        DataError: If the file cannot be opened. With the default report, also if it cannot be read to its end, is
            not UTF-8 text, a line has NUL or a carriage return within it, or there are no sentences.

    Examples:
        >>> import io
        >>> [sentence.forms for sentence in read(io.BytesIO(b"It works .\n"))]
        [['It', 'works', '.']]
    """
    reader = LineReader(source, report)
    for number, line in reader.filled():
        if "\0" in line or "\r" in line:
            continue  # already reported, and no other format could represent it
        yield conllu.from_forms(line.split(), [f"# text = {line.strip()}"], reader.path, number)


def tokenize(text: str) -> list[str]:
    """Split running text into words and punctuation marks, by a language-independent rule.

    Letters, digits and underscores form words, which may contain hyphens, apostrophes and full stops; every other
    mark is a separate token. Accents, vowel signs and joiners stay with the character before them.

    Examples:
        >>> tokenize("It isn't over, she said (at 3.15).")
        ['It', "isn't", 'over', ',', 'she', 'said', '(', 'at', '3.15', ')', '.']
    """
    return all_matches(_TOKEN, text)


def read_for_entities(source: Source) -> Iterator[entity_notes.Sentence]:
    r"""Read plain text as `read` does, as sentences that can be annotated with entities.

    Args:
        source: A path, `-` for standard input, or an open stream.

    Raises:
        DataError: If `read` raises it.

    Examples:
        >>> import io
        >>> [sentence] = read_for_entities(io.BytesIO(b"Ada spoke .\n"))
        >>> sentence.forms, sentence.entities
        (['Ada', 'spoke', '.'], [])
    """
    for number, plain in enumerate(read(source)):
        yield entity_notes.Sentence(plain, None, number == 0, [])
