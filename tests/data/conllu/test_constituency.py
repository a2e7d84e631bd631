"""Trees in the comments of CoNLL-U: read, demanded, replaced."""

import pytest
from tests.data.constituents.random_trees import gum_files
from tests.data.sources import shared, stream

from strukt.data import brackets, conllu
from strukt.data.constituents import Tree
from strukt.errors import DataError

EMPTY = "\t_" * 8 + "\n"
ROWS = f"1\tShe{EMPTY}2-3\tcan't{EMPTY}2\tca{EMPTY}3\t(n't{EMPTY}\n"
TREE = "(ROOT (S (NP (PRP She)) (VP (MD ca) (RB -LRB-n't))))"
TEXT = f"# sent_id = 1\n# constituency = {TREE}\n# text = She can't\n{ROWS}"


def read(text):
    [sentence] = conllu.read(stream(text, "a.conllu"))
    return sentence


@pytest.mark.parametrize("key", ["# constituency = ", "#constituency=", "# constituency=\t"])
def test_the_tree_of_a_comment(key):
    sentence = read(TEXT.replace("# constituency = ", key))
    assert sentence.tree == Tree.parse(TREE)
    assert sentence.tree.words == ["She", "ca", "-LRB-n't"]
    assert sentence.forms == ["She", "ca", "(n't"]


def test_traces_stand_in_the_tree_alone():
    sentence = read(TEXT.replace("(S ", "(S (NP (-NONE- *)) "))
    assert sentence.tree.without_traces() == Tree.parse(TREE)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            f"# constituency = {TREE}\n",
            "",
            "a.conllu:1: the sentence has no constituency tree; add the comment",
        ),
        (TREE, "(ROOT (S", "a.conllu:2: the tree is not closed: 2 closing brackets are missing"),
        (TREE, "", "a.conllu:2: there is no tree"),
        (TREE, f"{TREE} %", "a.conllu:2: '%' follows the tree"),
        (
            "PRP She",
            "PRP He",
            "a.conllu:2: word 1 is 'She', but 'He' in the tree; correct the tree, or delete",
        ),
        (" (RB -LRB-n't)", "", "a.conllu:2: the sentence has 3 words, but its tree 2"),
        ("(MD ca)", "(MD ca) (RB -LRB-n't)", "a.conllu:2: the sentence has 3 words, but its tree 4"),
        (
            "# text = She can't",
            f"# constituency = {TREE}",
            "a.conllu:3: the sentence has a second tree; keep one",
        ),
    ],
)
def test_no_tree_over_the_words(old, new, message):
    sentence = read(TEXT.replace(old, new))
    with pytest.raises(DataError) as caught:
        _ = sentence.tree
    assert str(caught.value).startswith(message)


def test_the_tree_is_replaced_and_nothing_else():
    other = Tree.build(["She", "ca", "(n't"], ["A", "B", "C"], [(0, 3, "ROOT"), (1, 3, "VP")])
    changed = read(TEXT).annotated(tree=other)
    assert str(changed) == TEXT.replace(TREE, "(ROOT (A She) (VP (B ca) (C -LRB-n't)))")
    assert changed.tree == other
    assert str(changed.annotated(tree=Tree.parse(TREE))) == TEXT


def test_a_tree_is_added_after_the_comments():
    bare = TEXT.replace(f"# constituency = {TREE}\n", "")
    expected = bare.replace("can't\n", f"can't\n# constituency = {TREE}\n", 1)
    assert str(read(bare).annotated(tree=Tree.parse(TREE))) == expected
    assert str(read(ROWS).annotated(tree=Tree.parse(TREE))) == f"# constituency = {TREE}\n{ROWS}"


def test_of_several_trees_one_is_left():
    second, third = "# constituency = (S (NN x))\n", "#constituency=\n"
    doubled = TEXT.replace("# text", f"{second}# text").replace("can't\n", f"can't\n{third}", 1)
    assert str(read(doubled).annotated(tree=Tree.parse(TREE))) == TEXT


def test_a_tree_and_columns_together():
    changed = read(TEXT).annotated(tree=Tree.parse(f"(X {TREE})"), xpos=["PRP", "MD", "RB"])
    assert str(changed.tree) == f"(X {TREE})"
    assert changed.column("xpos") == ["PRP", "MD", "RB"]
    assert changed.multiword_tokens == read(TEXT).multiword_tokens


def test_words_that_differ_cannot_be_annotated():
    with pytest.raises(
        ValueError, match="tree: word 2 is 'ca', but 'can' in the tree; give a tree over the words"
    ):
        read(TEXT).annotated(tree=Tree.parse("(S (PRP She) (MD can) (RB -LRB-n't))"))
    with pytest.raises(ValueError, match="tree: the sentence has 3 words, but its tree 1"):
        read(TEXT).annotated(tree=Tree.parse("(S (PRP She))"))


def test_forms_with_spaces_have_an_underscore_in_the_tree():
    sentence = read("1\t10 000\t_\t_\t_\t_\t_\t_\t_\t_\n\n")
    tree = Tree.build(sentence.forms, ["CD"], [(0, 1, "NP")])
    assert str(sentence.annotated(tree=tree).tree) == "(NP (CD 10_000))"


def test_the_trees_of_gum_fit_its_sentences():
    for path in gum_files()[:3]:
        sentences = list(conllu.read(shared(f"gum/dep/{path.stem}.conllu.gz")))
        for sentence, other in zip(sentences, brackets.read(path), strict=True):
            annotated = sentence.annotated(tree=other.tree)
            assert annotated.tree == other.tree
            assert annotated.words[0].form == sentence.words[0].form
            assert len(annotated.comments) == len(sentence.comments) + 1
