"""Grammars of corpus files, for property tests; each draws the bytes of a well-formed file."""

import warnings

from hypothesis import strategies as st

from strukt.data.files.problems import DataWarning
from strukt.errors import DataError

FORBIDDEN = "\t\n\r\0"
text = st.text(st.characters(exclude_categories=["Cs"], exclude_characters=FORBIDDEN), min_size=1, max_size=8)
"""Text of one column; any character of Unicode that can stand there, spaces and controls among them."""

token = text.filter(lambda cell: not cell.isspace() and " " not in cell)


@st.composite
def heads(draw, length):
    """Heads of a random tree with a single root: each word hangs on one before it in a random order."""
    order = draw(st.permutations(range(1, length + 1)))
    result = [0] * length
    for rank, word in enumerate(order[1:], 1):
        result[word - 1] = order[draw(st.integers(0, rank - 1))]
    return result


@st.composite
def conllu_sentence(draw):
    """The lines of one sentence with comments, multiword tokens and empty nodes."""
    length = draw(st.integers(1, 6))
    tree = draw(heads(length))
    with_heads = draw(st.booleans())
    lines = ["#" + comment for comment in draw(st.lists(text, max_size=2))]
    lines += draw(empty_nodes(0))
    range_end = 0
    for word in range(1, length + 1):
        if word > range_end and word < length and draw(st.integers(0, 4)) == 0:
            range_end = draw(st.integers(word + 1, length))
            lines.append("\t".join([f"{word}-{range_end}", draw(text), *["_"] * 7, draw(text)]))
        head = str(tree[word - 1]) if with_heads else "_"
        cells = [draw(text) for _ in range(8)]
        lines.append("\t".join([str(word), *cells[:5], head, *cells[5:]]))
        lines += draw(empty_nodes(word))
    return "".join(line + "\n" for line in lines)


@st.composite
def empty_nodes(draw, word):
    """The lines of the empty nodes after a word."""
    count = draw(st.sampled_from([0, 0, 0, 1, 2]))
    return ["\t".join([f"{word}.{rank}", draw(text), *["_"] * 8]) for rank in range(1, count + 1)]


@st.composite
def conllu_file(draw):
    """A CoNLL-U file."""
    sentences = draw(st.lists(conllu_sentence(), min_size=1, max_size=3))
    return "".join(sentence + "\n" for sentence in sentences).encode()


@st.composite
def column_file(draw):
    """A two-column file; the lines between sentences may hold white space."""
    sentence = st.lists(st.tuples(token, token), min_size=1, max_size=5)
    sentences = draw(st.lists(sentence, min_size=1, max_size=3))
    blank = st.sampled_from(["", "\t", " "])
    lines = []
    for sentence in sentences:
        lines += [f"{form}\t{tag}\n" for form, tag in sentence]
        lines.append(draw(blank) + "\n")
    return "".join(lines).encode()


marks = st.sampled_from(["B", "I", "E", "S"])
labels = st.sampled_from(["PER", "LOC", "creative-work", "_"])
tags = st.lists(st.one_of(st.just("O"), st.builds("{}-{}".format, marks, labels)), min_size=1, max_size=12)
"""Tag sequences of any scheme, also those that break its rules."""

_BYTES = [b"\t", b"\n", b"\r", b"\0", b"#", b"_", b"0", b"9", b"-", b".", b" ", b"\xff", b"\xc3", b"a"]
mutations = st.lists(
    st.tuples(
        st.sampled_from(["replace", "insert", "delete", "cut", "double"]),
        st.integers(0, 10_000),
        st.sampled_from(_BYTES),
    ),
    min_size=1,
    max_size=6,
)
"""Changes to bytes; apply them with `mutated`."""


def mutated(content, changes):
    """The content after the changes, one after the other."""
    for kind, place, byte in changes:
        at = place % (len(content) + 1)
        if kind == "replace":
            content = content[:at] + byte + content[at + 1 :]
        elif kind == "insert":
            content = content[:at] + byte + content[at:]
        elif kind == "delete":
            content = content[:at] + content[at + 1 :]
        elif kind == "cut":
            content = content[:at]
        else:
            content = content[:at] + content[max(0, at - 20) : at] + content[at:]
    return content


def attempt(function, *arguments):
    """What the function returns and None, or None and the DataError that it raises; warns of nothing."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        try:
            return function(*arguments), None
        except DataError as error:
            return None, error


def read_or_refused(read, content, name):
    """The sentences of some bytes, or None; a refusal says in one line where, and what was read goes round."""
    sentences, error = attempt(read, content)
    if error:
        assert str(error).startswith(f"{name}:")
        assert "\n" not in str(error)
        assert error.line is not None or not content.strip()
        return None
    written = "".join(map(str, sentences)).encode()
    assert "".join(map(str, read(written))).encode() == written, "what was read can be read again"
    return sentences
