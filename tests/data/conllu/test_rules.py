"""Rules for the lines of a sentence, when all problems are collected."""


from strukt.data.conllu.rules import parse
from strukt.data.files.blocks import Block


def row(identifier, head="_", form="w"):
    return f"{identifier}\t{form}\t_\t_\t_\t_\t{head}\t_\t_\t_"


def parsed(lines):
    found = []
    words = parse(Block(lines, "", "a.conllu", 10), found.append)
    return words, [(problem.rule, problem.line) for problem in found]


def test_all_problems_of_a_sentence_are_told():
    lines = [row("1"), "two", row("3", "x"), row("4-3"), "# late", row("3", "9"), row("a")]
    words, found = parsed(lines)
    assert found == [
        ("column-count", 11),
        ("id", 12),
        ("head", 12),
        ("multiword-token", 13),
        ("comment", 14),
        ("id", 16),
        ("head", 15),
    ]
    assert [word.id for word in words] == [1, 2, 3]


def test_labels_are_shared_in_memory():
    words, _ = parsed(["\t".join([str(number), "w", "_", "VE" + "RB", *["_"] * 6]) for number in (1, 2)])
    assert words[0].upos is words[1].upos
