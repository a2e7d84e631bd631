"""Classes in the comments of CoNLL-U."""

import io
from time import process_time

import pytest

from strukt.data import classes
from strukt.data.conllu import sentence_labels

WORDS = "1\tToo\t_\t_\t_\t_\t2\tadvmod\t_\t_\n2\ttepid\t_\t_\t_\t_\t0\troot\t_\t_\n\n"


def read(content):
    return list(sentence_labels.read(io.BytesIO(content.encode())))


def test_what_is_read_is_written():
    content = f"# sent_id = 1\n#label=negative \n{WORDS}{WORDS}"
    sentences = read(content)
    assert "".join(map(str, sentences)) == content
    assert [sentence.label for sentence in sentences] == ["negative", None]
    assert [sentence.plain.heads for sentence in sentences] == [[2, 0]] * 2


def test_a_class_is_replaced_and_all_else_kept():
    [sentence] = read(
        f"# sent_id = 1\n# label = negative\n# p = 0.5\n# text = Too tepid\n# label = x\n{WORDS}"
    )
    changed = sentence.annotated(label="positive", p="0.9")
    assert str(changed) == f"# sent_id = 1\n# label = positive\n# p = 0.9\n# text = Too tepid\n{WORDS}"
    assert changed.label == "positive"


def test_a_class_is_added_before_the_words():
    [sentence] = read(f"# text = Too tepid\n{WORDS}")
    assert str(sentence.annotated(label="negative")) == f"# text = Too tepid\n# label = negative\n{WORDS}"
    assert str(sentence.annotated()) == str(sentence)


def test_a_long_class_full_of_spaces():
    before = process_time()  # were spaces tried as part of the class and after it, this would take half a minute
    [sentence] = read(f"# label = too{' ' * 60_000}tepid \n{WORDS}")
    assert len(sentence.label) == 60_008
    assert process_time() - before < 2


def test_an_empty_class_is_none():
    [sentence] = read(f"# label = \n{WORDS}")
    assert sentence.label is None
    assert next(sentence.problems()).message == "the sentence has no class"


def test_other_columns_are_read_and_noted():
    [sentence] = read(WORDS)
    assert sentence.column("deprel") == ["advmod", "root"]
    assert sentence.with_misc(p=["1", "2"]).column("misc") == ["p=1", "p=2"]


def test_faults():
    [sentence] = read(WORDS)
    error = str(classes.missing(sentence).error())
    assert error == "<stream>:1: the sentence has no class; add the comment # label = CLASS"
    with pytest.raises(ValueError, match="label"):
        sentence.annotated(label="a\nb")
    for blank in ("", "  "):
        with pytest.raises(ValueError, match=r"label: .* is blank; give text"):
            sentence.annotated(label=blank)
