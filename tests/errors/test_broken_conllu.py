"""Broken CoNLL-U files: each gives one clear line with file and line number, or a stated repair."""

import gzip
import os
import sys
import warnings

import pytest

from strukt.data import conllu
from strukt.data.files.problems import DataWarning
from strukt.errors import DataError


def word(identifier, head="0", form="w", deprel="dep"):
    return f"{identifier}\t{form}\t_\t_\t_\t_\t{head}\t{deprel}\t_\t_\n".encode()


GOOD = word(1, 2) + word(2, 0) + b"\n"
"""A sentence of two words on lines 1 and 2, and the blank line 3."""

COMMENT = b"# text = w w\n"

# name -> (content of the file, line of the problem, part of the message)
UNREADABLE = {
    "empty file": (b"", None, "the file holds no sentence"),
    "only blank lines": (b"\n\n\n", None, "the file holds no sentence"),
    "only a comment": (COMMENT, 1, "comments but no words"),
    "comments cut off by a blank line": (COMMENT + b"\n" + GOOD, 1, "comments but no words"),
    "nine columns": (GOOD + word(1).replace(b"\t_\n", b"\n"), 4, "expected 10 columns, found 9"),
    "a TAB too many at the end": (word(1).replace(b"\n", b"\t\n"), 1, "expected 10 columns, found 11"),
    "two-column file": (b"Ada\tB-PER\n\n", 1, "expected 10 columns, found 2"),
    "spaces for TABs": (word(1).replace(b"\t", b"  "), 1, "put one TAB, not spaces, between the columns"),
    "some spaces for TABs": (word(1).replace(b"\t_\t0", b" _ 0"), 1, "expected 10 columns, found 8"),
    "empty form": (word(1, form=""), 1, "the column FORM is empty"),
    "empty relation": (word(1, deprel=""), 1, "the column DEPREL is empty"),
    "empty ID": (word(""), 1, "the column ID is empty"),
    "begins with word 2": (word(2), 1, "the ID is 2, expected 1"),
    "gap in the IDs": (word(1) + word(3), 2, "the ID is 3, expected 2"),
    "ID with a leading zero": (word("01"), 1, "the ID is 01, expected 1"),
    "ID with a sign": (word("+1"), 1, "the ID is '+1'"),
    "ID is a word": (word("one"), 1, "the ID is 'one'"),
    "ID in other digits": (word("１"), 1, "the ID is １, expected 1"),
    "ID is superscript": (word("²"), 1, "the ID is '²'"),
    "space in the ID": (word("1 "), 1, "the ID is '1 '"),
    "huge ID": (word("9" * 5000), 1, "expected 1"),
    "no blank line between sentences": (word(1) + word(1), 2, "the ID is 1, expected 2"),
    "range after its words": (word(1) + word(2, 1) + word("1-2", "_"), 3, "is not directly before its first word"),
    "range twice": (word("1-2", "_") * 2 + word(1) + word(2, 1), 2, "overlaps"),
    "ranges overlap": (word("1-2", "_") + word(1) + word("2-3", "_"), 3, "overlaps"),
    "range backwards": (word("2-1", "_") + word(1), 1, "the ID is '2-1'"),
    "range of one word": (word("1-1", "_") + word(1), 1, "the ID is '1-1'"),
    "range without end": (word("1-", "_") + word(1), 1, "the ID is '1-'"),
    "range beyond the sentence": (word("1-3", "_") + word(1) + word(2, 1), 1, "after the last word, 2"),
    "empty node begins with .2": (word(1) + word("1.2", "_"), 2, "expected 1.1"),
    "empty node twice": (word(1) + word("1.1", "_") * 2, 3, "expected 1.2"),
    "empty node in the wrong place": (word("1.1", "_") + word(1), 1, "expected 0.1"),
    "empty node with two dots": (word(1) + word("1.1.1", "_"), 2, "no empty node has the ID '1.1.1'"),
    "head is a word": (word(1, "root"), 1, "HEAD is 'root'"),
    "head is negative": (word(1, "-1"), 1, "HEAD is '-1'"),
    "head after the end": (word(1, 3) + word(2), 1, "HEAD is 3 in a sentence of 2 words"),
    "head far after the end": (word(1, "9" * 5000), 1, "use the ID of a word"),
    "comment between words": (word(1) + COMMENT + word(2, 1), 2, "a comment follows the words"),
    "Latin-1": (COMMENT + word(1, form="é").decode().encode("latin-1"), 2, "0xe9, is not UTF-8"),
    "cut UTF-8 sequence": (word(1, form="€").replace(b"\xac", b""), 1, "is not UTF-8"),
    "surrogate": (word(1).replace(b"w", b"\xed\xa0\x80"), 1, "is not UTF-8"),
    "UTF-16": (GOOD.decode().encode("utf-16"), 1, "NUL byte"),
    "NUL byte": (GOOD + word(1).replace(b"w", b"w\0"), 4, "NUL byte"),
    "old Mac line ends": (GOOD.replace(b"\n", b"\r"), 1, "carriage return"),
    "carriage return in a form": (word(1, form="a\rb"), 1, "carriage return"),
    "line of 1 MB": (GOOD + word(1, form="x" * 1_000_000), 4, "more than 100,000 bytes"),
    "line of 1 MB without end": (b"x" * 1_000_000, 1, "more than 100,000 bytes"),
    "gzip cut short": (gzip.compress(GOOD * 50, mtime=0)[:-12], None, "damaged or cut short"),
    "gzip cut in its header": (gzip.compress(GOOD, mtime=0)[:7], None, "damaged or cut short"),
    "gzip with a wrong sum": (gzip.compress(GOOD, mtime=0)[:-8] + b"12345678", 3, "damaged or cut short"),
    "gzip with damaged data": (gzip.compress(GOOD, mtime=0)[:10] + b"\xff" * 20, None, "damaged or cut short"),
    "source code": (b"import os\n\nprint(os.name)\n", 1, "expected 10 columns, found 1"),
}

# name -> (file, line of the first fault, part of the message); readable, but no trees
NO_TREES = {
    "no head": (word(1, "_"), 1, "word 1, 'w', has no head"),
    "one head missing": (word(1, 2) + word(2, "_"), 2, "word 2, 'w', has no head"),
    "no relation": (word(1, deprel="_"), 1, "has no relation"),
    "own head": (word(1, 0) + word(2, 2), 2, "form a cycle: 2 -> 2"),
    "cycle of two": (word(1, 2) + word(2, 1) + word(3, 0), 1, "form a cycle: 1 -> 2 -> 1"),
    "cycle of three": (word(1, 0) + word(2, 3) + word(3, 4) + word(4, 2), 2, "2 -> 3 -> 4 -> 2"),
    "two roots": (GOOD + word(1, 0) + word(2, 0), 5, "word 2 has head 0, as has word 1"),
    "no root": (word(1, 2) + word(2, 1), 1, "no word has head 0"),
}

# name -> (file, what is read instead, line, part of the warning)
REPAIRED = {
    "byte order mark": (b"\xef\xbb\xbf" + GOOD, GOOD, 1, "byte order mark; dropped it"),
    "CRLF": (GOOD.replace(b"\n", b"\r\n"), GOOD, 1, "the lines end in CRLF"),
    "CRLF somewhere": (GOOD + word(1).replace(b"\n", b"\r\n") + b"\n", GOOD + word(1) + b"\n", 4, "CRLF"),
    "no blank line at the end": (GOOD[:-1], GOOD, 2, "does not end in a blank line; adding it"),
    "no line end at the end": (GOOD[:-2], GOOD, 2, "does not end in a blank line; adding it"),
    "blank lines before": (b"\n" + GOOD, GOOD, 1, "belongs to no sentence; dropping"),
    "blank lines between": (GOOD + b"\n\n" + GOOD, GOOD * 2, 4, "belongs to no sentence; dropping"),
    "blank lines after": (GOOD + b"\n", GOOD, 4, "belongs to no sentence; dropping"),
    "white space in a blank line": (GOOD[:-1] + b" \t\n", GOOD, 3, "only white space"),
}


def write(folder, content):
    path = folder / "broken.conllu"
    path.write_bytes(content)
    return path


def one_line(error, path):
    """The message, after the checks that hold for every one of them."""
    text = str(error)
    assert len(text.splitlines()) == 1, "one line only"
    assert len(text) < 6000
    assert text.startswith(str(path))
    assert error.path == str(path)
    return text


@pytest.mark.parametrize("name", UNREADABLE)
@pytest.mark.filterwarnings("ignore::strukt.data.files.problems.DataWarning")
def test_unreadable_file_gives_one_line_with_file_and_line(name, tmp_path):
    content, line, message = UNREADABLE[name]
    path = write(tmp_path, content)
    with pytest.raises(DataError) as caught:
        list(conllu.read(path))
    assert message in one_line(caught.value, path)
    if line is not None:
        assert caught.value.line == line
        assert str(caught.value).startswith(f"{path}:{line}: ")


@pytest.mark.parametrize("name", NO_TREES)
@pytest.mark.filterwarnings("ignore::strukt.data.files.problems.DataWarning")
def test_file_without_trees_is_read_for_prediction_and_refused_for_training(name, tmp_path):
    content, line, message = NO_TREES[name]
    path = write(tmp_path, content + b"\n")
    sentences = list(conllu.read(path))
    assert "".join(map(str, sentences)).encode() == content + b"\n"
    with pytest.raises(DataError) as caught:
        list(map(conllu.require_tree, sentences))
    assert message in one_line(caught.value, path)
    assert caught.value.line == line


@pytest.mark.parametrize("name", REPAIRED)
def test_repair_is_stated_once_and_done(name, tmp_path):
    content, repaired, line, message = REPAIRED[name]
    path = write(tmp_path, content)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        text = "".join(str(sentence) for sentence in conllu.read(path))
    assert text.encode() == repaired
    [warning] = caught
    assert warning.category is DataWarning
    assert str(warning.message).startswith(f"{path}:{line}: ")
    assert message in str(warning.message)
    assert len(str(warning.message).splitlines()) == 1


def test_missing_file(tmp_path):
    with pytest.raises(DataError, match=r"no\.conllu: there is no such file$"):
        list(conllu.read(tmp_path / "no.conllu"))


def test_directory(tmp_path):
    with pytest.raises(DataError, match="is a directory; give a file in it"):
        list(conllu.read(tmp_path))


@pytest.mark.parametrize("name", ["a\0b", "x" * 5000])
def test_names_that_no_file_has(name):
    with pytest.raises(DataError, match="cannot be read"):
        list(conllu.read(name))


@pytest.mark.skipif(sys.platform == "win32" or os.geteuid() == 0, reason="root may read everything")
def test_file_that_may_not_be_read(tmp_path):
    path = write(tmp_path, GOOD)
    path.chmod(0)
    with pytest.raises(DataError, match="cannot be read: Permission denied"):
        list(conllu.read(path))


def test_sentences_before_the_problem_are_given(tmp_path):
    path = write(tmp_path, GOOD * 2 + word(7))
    reader = conllu.read(path)
    assert [len(next(reader)), len(next(reader))] == [2, 2]
    with pytest.raises(DataError, match=":7: the ID is 7"), pytest.warns(DataWarning):
        next(reader)


def test_gzip_cut_short_gives_what_can_be_read(tmp_path):
    whole = b"".join(word(1, form=f"w{number * 7919 % 1000}") + b"\n" for number in range(20_000))
    path = write(tmp_path, gzip.compress(whole, mtime=0)[:-1000])
    found = []
    with pytest.raises(DataError) as caught:
        found.extend(conllu.read(path))
    assert len(found) > 10_000
    assert caught.value.line in (2 * len(found), 2 * len(found) + 1)
