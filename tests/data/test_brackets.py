"""Bracket files go round to the byte in every layout; what is wrong with one is said with its line."""

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.data.constituents.random_trees import gum_files, layouts, trees
from tests.data.sources import stream

from strukt.data import brackets
from strukt.data.constituents import Tree
from strukt.data.files.problems import DataWarning
from strukt.errors import DataError

LINES = "(ROOT (S (NP (PRP It)) (VP (VBZ works))))\n(ROOT (X (UH Oh)))\n"
BLOCKS = """\
(ROOT
  (S
    (NP-SBJ (-NONE- *))
    (VP (VB Go) (PRT (RP on)))))

( (NP=2 (-LRB- -LRB-) (NN Governor-LRB-s-RRB-)
        (-RRB- -RRB-)))

"""


def source(text):
    return stream(text, "a.ptb")


def read(text):
    return list(brackets.read(source(text)))


@pytest.mark.parametrize(
    ("text", "forms"),
    [
        (LINES, [["It", "works"], ["Oh"]]),
        (LINES.replace("\n", "\n\n"), [["It", "works"], ["Oh"]]),
        (LINES.replace("\n", "\n \t\n"), [["It", "works"], ["Oh"]]),
        (BLOCKS, [["Go", "on"], ["(", "Governor(s)", ")"]]),
        (BLOCKS.replace("\n\n", "\n"), [["Go", "on"], ["(", "Governor(s)", ")"]]),
        (
            LINES + "\n" + BLOCKS.rstrip() + "\n" + LINES,
            [["It", "works"], ["Oh"], ["Go", "on"], ["(", "Governor(s)", ")"], ["It", "works"], ["Oh"]],
        ),
        ("(ROOT\n(NP\n(NN\na)\n)\n)\n(ROOT\n(NN b))\n", [["a"], ["b"]]),
        ("( ROOT\n( NP\n( NN a ) ) )\n(TOP (NN\tb))\n", [["a"], ["b"]]),
        ("(S(A a)(B b))\n", [["a", "b"]]),
        ("(UH Yes)\n((UH No))\n", [["Yes"], ["No"]]),
        ("(\n(S\n(NN a)))\n(\n(S (NN b)))\n", [["a"], ["b"]]),
        ("(S (NN a\xa0b) (NN \u3000))\n", [["a\xa0b", "\u3000"]]),
    ],
)
def test_layouts_go_round(text, forms):
    sentences = read(text)
    assert "".join(map(str, sentences)) == text
    assert [sentence.forms for sentence in sentences] == forms


def test_the_line_where_each_tree_begins():
    """The last line needs no end."""
    sentences = read((LINES + BLOCKS).rstrip())
    assert [sentence.line for sentence in sentences] == [1, 2, 3, 8]
    assert "".join(map(str, sentences)) == (LINES + BLOCKS).rstrip() + "\n"


@given(st.data())
def test_random_trees_in_random_layouts_go_round(data):
    wanted = data.draw(st.lists(trees(trace=True), min_size=1, max_size=4))
    ends = st.sampled_from(["\n", "\n\n", "\n \n"])
    text = "".join(data.draw(layouts(tree)) + data.draw(ends) for tree in wanted)
    sentences = read(text)
    assert [sentence.tree for sentence in sentences] == wanted
    assert "".join(map(str, sentences)) == text


def test_gum_goes_round_to_the_byte():
    for path in gum_files()[::10]:
        text = path.read_bytes().decode()
        assert "".join(map(str, brackets.read(path))) == text + "\n" * (not text.endswith("\n"))


def test_columns_have_no_traces():
    [sentence] = read("(S (NP (-NONE- *)) (VP (VB Go) (RP on)))\n")
    assert sentence.forms == sentence.column("form") == ["Go", "on"]
    assert sentence.column("tag") == ["VB", "RP"]
    assert len(sentence) == 2
    assert sentence.tree.words == ["*", "Go", "on"]
    with pytest.raises(ValueError, match="a tree has no column 'head'; choose form or tag"):
        sentence.column("head")


@pytest.mark.parametrize("ending", ["\n", "\n\n", "\n \n"])
def test_another_tree_is_written_in_one_line(ending):
    text = "(S (NP (-NONE- *))\n   (VP (VB Go) (RP on)))" + ending
    [sentence] = read(text)
    tree = Tree.build(["Go", "on"], ["VB", "IN"], [(0, 2, "ROOT"), (1, 2, "PP")])
    changed = sentence.annotated(tree=tree)
    assert str(changed) == "(ROOT (VB Go) (PP (IN on)))" + ending
    assert (changed.tree, changed.path, changed.line) == (tree, "a.ptb", 1)
    assert str(sentence) == text, "the sentence itself stays"
    assert str(sentence.annotated(tree=sentence.tree)) == text, "the same tree keeps its layout"


def test_what_cannot_be_annotated():
    [sentence] = read("(S (NN a) (NN b))\n")
    with pytest.raises(ValueError, match="tree: its words are not those of the sentence"):
        sentence.annotated(tree=Tree.parse("(S (NN a) (NN c))"))
    with pytest.raises(ValueError, match=r"no columns to replace, got \['tag'\]; give tree="):
        sentence.annotated(tag=["X", "Y"])
    with pytest.raises(ValueError, match=r"no place for notes, got \['p'\]"):
        sentence.with_misc(p=["1", "2"])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("(S (NN a))\n(S (NP (NN b)\n", "a.ptb:2: the tree is not closed: 2 closing brackets are missing"),
        (
            "(S (NN a))\n\n(S\n  (NP (NN b))\n\n(S (NN c))\n",
            "a.ptb:3: the tree is not closed: 1 closing bracket is",
        ),
        (
            "(ROOT\n  (NP (NN b))\n(ROOT\n  (NN c))\n",
            "a.ptb:1: the tree is not closed: 1 closing bracket is missing",
        ),
        (
            "( (S (NP (NN b))\n((S (NN c)))\n",
            "a.ptb:1: the tree is not closed: 2 closing brackets are missing",
        ),
        ("(S (NN a))\n(S\n (NN b)))\n", "a.ptb:3: there are more closing brackets than opening ones"),
        ("(S (NN a))\n(S\n (NN b)) yes\n", "a.ptb:3: 'yes' follows the tree; delete it, or put it into"),
        ("(S (NN a)) (S (NN b))\n", "a.ptb:1: a tree begins on the line where another one ends; begin each"),
        ("(ROOT\n  (NN a))(ROOT\n  (NN b))\n", "a.ptb:2: a tree begins on the line where another one ends"),
        ("(S (NN a)\n   (NN b c))\n", "a.ptb:2: the bracket NN holds two words, 'b' and 'c'; give each word"),
        ("(S (NN a))\n(S (NP (-NONE- *)))\n", "a.ptb:2: the tree has traces and no word; delete it"),
        ("It works .\nOh dear .\n", "a.ptb:1: expected a tree in brackets, found 'It'; write trees, such as"),
        ("", "a.ptb: the file holds no tree; give a file with at least one"),
    ],
)
def test_one_clear_message(text, message):
    with pytest.raises(DataError) as caught:
        read(text)
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)


def test_blank_lines_that_end_no_tree_are_dropped():
    with pytest.warns(DataWarning) as caught:
        assert "".join(map(str, read("\n\n" + LINES.replace("\n", "\n\n\n") + BLOCKS))) == (
            LINES.replace("\n", "\n\n") + BLOCKS
        )
    assert [str(warning.message) for warning in caught] == [
        "a.ptb:1: the blank line belongs to no tree; dropping such lines"
    ]


def test_reading_is_lazy():
    class Endless(io.RawIOBase):
        def readable(self):
            return True

        def readinto(self, buffer):
            piece = LINES.encode()[: len(buffer)]
            buffer[: len(piece)] = piece
            return len(piece)

    found = brackets.read(io.BufferedReader(Endless(), len(LINES)))
    assert [next(found).forms for _ in range(5)][-1] == ["It", "works"]


def test_a_depth_of_5000():
    text = "(S " * 5000 + "(NN a)" + ")" * 5000 + "\n" + "(S\n " * 5000 + "(NN b)" + ")" * 5000 + "\n"
    sentences = read(text)
    assert [sentence.forms for sentence in sentences] == [["a"], ["b"]]
    assert "".join(map(str, sentences)) == text


def test_text_becomes_trees_without_constituents():
    sentences = list(brackets.read_text(source("It works ( now )\n\n  Oh \n")))
    assert [str(sentence) for sentence in sentences] == [
        "( (X It) (X works) (X -LRB-) (X now) (X -RRB-))\n",
        "( (X Oh))\n",
    ]
    assert [sentence.line for sentence in sentences] == [1, 3]
    assert sentences[0].forms == ["It", "works", "(", "now", ")"]
    tree = Tree.build(["Oh"], ["UH"], [(0, 1, "ROOT"), (0, 1, "INTJ")])
    assert str(sentences[1].annotated(tree=tree)) == "(ROOT (INTJ (UH Oh)))\n"


@given(trees())
def test_annotated_text_is_read_as_brackets(tree):
    words = " ".join(tree.words)
    if words.split() == tree.words and not words.startswith("\ufeff"):
        [sentence] = brackets.read_text(source(words + "\n"))
        [again] = read(str(sentence.annotated(tree=tree)))
        assert again.tree == tree


@pytest.mark.parametrize(
    "text",
    ["(ROOT\n  (NN a))\n", "(S (NN a) (NN b))\n", "((S (NN a)))\n", "a b\n(S (NP (NN a)))\n", "( (NN tea))\n"],
)
def test_text_that_is_a_tree(text):
    with pytest.raises(
        DataError, match=r"a.ptb:\d: expected plain text, found a tree; read it as brackets, not as text"
    ):
        list(brackets.read_text(source(text)))


def test_brackets_in_text_are_no_trees():
    text = "(see below)\n(laughs)\n(a (b) c) d\n((sighs))\n( what ?\n(ROOTs)\n"
    assert len(list(brackets.read_text(source(text)))) == 6
