"""What a diagram accepts, and how high its arcs stand."""

import random

import pytest

from strukt.viz import Diagram, svg, terminal


def random_tree(words: int, generator: random.Random) -> list[int]:
    """Heads of a random tree with crossing arcs: each word hangs on one that came before it in a shuffle."""
    order = generator.sample(range(1, words + 1), words)
    heads = [0] * words
    for place, word in enumerate(order[1:], start=1):
        heads[word - 1] = generator.choice(order[:place])
    return heads


@pytest.mark.parametrize("name", ["tags", "heads", "relations", "tag_probabilities", "head_probabilities"])
def test_a_column_of_another_length_is_refused(name):
    with pytest.raises(ValueError, match=f"^{name} has 3 entries; expected 2"):
        Diagram(["a", "b"], **{name: [0, 0, 0]})


@pytest.mark.parametrize("name", ["tag_probabilities", "head_probabilities"])
@pytest.mark.parametrize("wrong", [1.5, -0.5, float("nan")])
def test_what_is_no_probability_is_refused(name, wrong):
    with pytest.raises(ValueError, match=f"^{name} has {wrong}; expected probabilities"):
        Diagram(["a", "b"], **{name: [0.5, wrong]})


@pytest.mark.parametrize("heads", [[3, 0], [-2, 0], [1, 0]])
def test_a_head_must_be_another_word(heads):
    with pytest.raises(ValueError, match=f"^heads has {heads[0]} for word 1; expected another word from 1 to"):
        Diagram(["a", "b"], heads=heads)


def test_what_is_read_out_has_tags_arcs_and_probabilities():
    diagram = Diagram(
        ["the", "dog", "saw", "the"], ["D", "N", "V", "D"], [2, 3, 0, -1], ["det", "", "", ""],
        [0.5] * 4, [0.25, 0.75, 1.0, 0.0], "weight .5",
    )  # fmt: skip
    assert diagram.heading == "weight .5"
    assert diagram.description() == (
        "weight .5. the dog saw the. Tags: the (1) D 0.50, dog N 0.50, saw V 0.50, the (4) D 0.50. "
        "Heads: the (1) det of dog 0.25, dog below saw 0.75, saw root 1.00."
    )
    assert Diagram(["Why", "?"]).description() == "Why ?"
    assert [Diagram(["a"], *rest).heading for rest in ([], [["X"]], [["X"], [0]])] == [
        "Words", "Words with tags", "Dependency tree",
    ]  # fmt: skip


def test_a_word_without_a_head_is_neither_dependent_nor_root():
    diagram = Diagram(["a", "b", "c"], heads=[2, 0, -1], head_probabilities=[0.5, 0.5, 0.5])
    assert [(arc.head, arc.dependent) for arc in diagram.arcs()] == [(1, 0)]
    assert diagram.roots() == [1]
    for width in (80, 20):
        assert terminal.draw(diagram, width).count("▶") + terminal.draw(diagram, width).count("▼") == 2
    assert svg.draw(diagram).count('class="tip"') == 2


def test_nested_arcs_stand_one_above_the_other():
    levels = {
        (arc.head, arc.dependent): arc.level for arc in Diagram(list("abcd"), heads=[4, 4, 4, 0]).arcs()
    }
    assert levels == {(3, 2): 1, (3, 1): 2, (3, 0): 3}


def test_arcs_above_the_same_gap_have_different_levels():
    for seed in range(20):
        arcs = Diagram(["w"] * 12, heads=random_tree(12, random.Random(seed))).arcs()
        for gap in range(11):
            levels = [arc.level for arc in arcs if arc.left <= gap < arc.right]
            assert len(set(levels)) == len(levels)


def test_a_sentence_of_five_thousand_words_has_levels():
    chain = Diagram(["w"] * 5000, heads=list(range(5000)))
    assert {arc.level for arc in chain.arcs()} == {1}
