"""Pairs of sentences with trees: two sentences of a CoNLL-U file each."""

import io

import pytest

from strukt.data.check import check
from strukt.data.conllu import tree_pairs
from strukt.errors import DataError


def sentence(words, heads, comment=""):
    rows = [
        f"{number}\t{word}" + "\t_" * 4 + f"\t{head}" + "\t_" * 3
        for number, (word, head) in enumerate(zip(words, heads, strict=True), 1)
    ]
    return "\n".join(([comment] if comment else []) + rows) + "\n\n"


TEXT = (
    sentence(["Dogs", "bark"], [2, 0], "# label = yes")
    + sentence(["Loud"], [0])
    + sentence(["Cats", "sleep", "."], [2, 0, 2], "# label = no")
    + sentence(["They", "run"], "__")
)


def read(text):
    return list(tree_pairs.read(io.BytesIO(text.encode())))


def test_two_sentences_are_a_pair():
    first, second = read(TEXT)
    assert (first.premise, first.hypothesis, first.label) == (["Dogs", "bark"], ["Loud"], "yes")
    assert (second.forms, second.label) == (["Cats", "sleep", ".", "They", "run"], "no")
    assert first.heads == ([2, 0], [0])
    assert "".join(map(str, (first, second))) == TEXT
    with pytest.raises(DataError, match=r"<stream>:12: word 1, 'They', has no head"):
        _ = second.heads


def test_annotations_are_of_the_premise_and_of_all_words():
    first, _ = read(TEXT)
    found = first.annotated(label="no", p="0.9")
    assert (found.label, found.hypothesis) == ("no", ["Loud"])
    assert read(str(found)) == [found]
    noted = first.with_misc(p=["1", "2", "3"])
    assert noted.column("misc") == ["p=1", "p=2", "p=3"]
    assert noted.column("form") == ["Dogs", "bark", "Loud"]


def test_a_premise_alone_is_refused():
    with pytest.raises(DataError, match="<stream>:7: the premise has no hypothesis; write it as the next"):
        read(TEXT[: TEXT.index("1\tLoud")] + sentence(["Loud"], [0]) + sentence(["Odd"], [0], "# label = no"))


def test_what_is_wrong_is_told():
    assert check("nli", io.BytesIO(TEXT.encode()), "conllu").problem_count == 0
    bad = sentence(["Dogs", "bark"], [2, 1]) + sentence(["Loud"], [1])
    found = [str(problem) for problem in check("nli", io.BytesIO(bad.encode()), "conllu").problems]
    assert len(found) == 5
    assert "the sentence has no class" in found[0]
    alone = check("nli", io.BytesIO(sentence(["Dogs"], [0], "# label = yes").encode()), "conllu")
    assert [problem.rule for problem in alone.problems] == ["pair"]
    broken = check("nli", io.BytesIO(b"1\tDogs\n\n" + TEXT.encode()), "conllu")
    assert broken.problem_count == 1
