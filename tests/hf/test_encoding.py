"""Words as pieces, and labels of words as labels of pieces."""

import re

import numpy as np
import pytest
import torch

pytest.importorskip("transformers", reason="heads on encoders of Hugging Face need transformers")
import tokenizers
import transformers
from tests.hf import tiny_heads
from tests.hf.tiny_heads import tokenizer

from strukt.hf import WordCollator, encode_words, word_numbers
from strukt.hf.words import WordPlaces, first_pieces


def test_labels_stand_at_first_pieces():
    found = encode_words(tokenizer(), ["abc", "d", "ef"], tags=[3, 1, 2])
    assert found["words"] == [-1, 0, 0, 0, 1, 2, 2, -1]
    assert found["labels"] == [-100, 3, -100, -100, 1, 2, -100, -100]
    assert len(found["input_ids"]) == len(found["attention_mask"]) == 8
    pairs = encode_words(tokenizer(), ["abc", "d"], heads=[2, 0], relations=[7, 8])
    none = [-100, -100]
    assert pairs["labels"] == [none, [2, 7], none, none, [0, 8], none]


def test_heads_below_0_are_unknown():
    pairs = encode_words(tokenizer(), ["a", "b"], heads=[-1, 0], relations=[1, 2])
    assert pairs["labels"] == [[-100, -100], [-100, 1], [0, 2], [-100, -100]]


def test_words_without_pieces_become_unknown():
    found = encode_words(tokenizer(), ["a", "\x00", "b", ""], tags=[0, 1, 2, 3])
    assert found["words"] == [-1, 0, 1, 2, 3, -1]
    unknown = tokenizer().unk_token_id
    assert [piece == unknown for piece in found["input_ids"]] == [False, False, True, False, True, False]
    assert found["labels"] == [-100, 0, 1, 2, 3, -100]


def test_words_without_pieces_are_refused_by_a_tokenizer_without_an_unknown_piece():
    pieces = tokenizers.models.BPE({"a": 0, "b": 1}, [])
    bare = transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizers.Tokenizer(pieces))
    assert encode_words(bare, ["a", "b"])["words"] == [0, 1]
    with pytest.raises(ValueError, match="words has '' at 1, for which the tokenizer has neither a piece nor"):
        encode_words(bare, ["a", "", "b"])


def test_what_a_tokenizer_cuts_off_has_no_label():
    words = ["abcde"] * 4  # 20 pieces, of which 14 are read
    found = encode_words(tokenizer(), words, tags=[1, 2, 3, 4])
    assert len(found["input_ids"]) == 16
    assert [label for label in found["labels"] if label >= 0] == [1, 2, 3]
    pairs = encode_words(tokenizer(), words, heads=[2, 4, 0, 3], relations=[0, 1, 2, 3])
    assert [pair for pair in pairs["labels"] if pair[1] >= 0] == [[2, 0], [-100, 1], [0, 2]]
    spans = encode_words(tokenizer(), words, spans=[(0, 4, 0), (0, 3, 1), (3, 4, 2)])
    assert spans["labels"] == [[0, 3, 1]]


def test_heads_and_spans_count_from_the_first_word_that_is_left():
    words, cut = ["abcde"] * 4, tokenizer()  # 20 pieces, of which the last 14 are read
    cut.truncation_side = "left"
    tags = encode_words(cut, words, tags=[1, 2, 3, 4])
    assert [label for label in tags["labels"] if label >= 0] == [2, 3, 4]
    pairs = encode_words(cut, words, heads=[2, 3, 0, 1], relations=[0, 1, 2, 3])
    assert [pair for pair in pairs["labels"] if pair[1] >= 0] == [[2, 1], [0, 2], [-100, 3]]
    spans = encode_words(cut, words, spans=[(0, 4, 0), (1, 4, 1), (3, 4, 2), (0, 1, 3)])
    assert spans["labels"] == [[0, 3, 1], [2, 3, 2]]


def test_words_of_running_text_are_those_of_the_tokenizer():
    encoding = tokenizer()(["abc d", "ef"], padding=True)
    assert word_numbers(encoding).tolist() == [[-1, 0, 0, 0, 1, -1], [-1, 0, 0, -1, -1, -1]]
    assert word_numbers(tokenizer()("abc", return_tensors="pt")).shape == (1, 5)


def test_encodings_that_do_not_know_words_are_refused():
    with pytest.raises(ValueError, match=r"^encoding is a dict without words; expected the result of a fast"):
        word_numbers({"input_ids": [1]})
    with pytest.raises(ValueError, match=r"^encoding has rows of different lengths; expected padding=True"):
        word_numbers(tokenizer()(["abc", "d"]))

    class Slow:
        is_fast = False

    with pytest.raises(ValueError, match=r"^tokenizer is a Slow, which does not know words; expected a fast one"):
        encode_words(Slow(), ["a"])


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ({"tags": [1]}, "tags is of length 1; expected 2 numbers, one for each word"),
        ({"tags": ["O", "O"]}, "tags has 'O'; expected a whole number"),
        ({"heads": [2, 0], "relations": ["obj", "root"]}, "relations has 'obj'; expected a whole number"),
        ({"spans": [(0, 1)]}, "spans has (0, 1); expected three whole numbers"),
        ({"spans": [(0, 1, "PER")]}, "spans has (0, 1, 'PER'); expected three whole numbers"),
        ({"heads": [2, 0]}, "relations is None; expected 2 numbers, one for each word"),
        ({"relations": [2, 0]}, "heads is None; expected 2 numbers, one for each word"),
        (
            {"heads": [0, 3], "relations": [0, 0]},
            "heads has 3 for word 2; expected 0 for the root, or a word up to 2",
        ),
        ({"tags": [0, 0], "relations": [0, 0]}, "tags and relations are given; expected labels of one kind"),
        (
            {"tags": [0, 0], "spans": []},
            "tags and spans are given; expected labels of one kind, those of the head",
        ),
        ({"spans": [(0, 3, 0)]}, "spans has (0, 3, 0); expected 0 <= start < end <= 2, the number of words"),
        ({"spans": [(1, 1, 0)]}, "spans has (1, 1, 0); expected 0 <= start < end <= 2"),
        ({"spans": [(0, 2, 0), (0, 2, 1)]}, "spans has (0, 2, 0) and (0, 2, 1), which cross or are the same"),
    ],
)
def test_labels_that_do_not_fit_are_named(labels, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        encode_words(tokenizer(), ["a", "b"], **labels)


def test_a_text_is_not_a_list_of_words():
    with pytest.raises(ValueError, match=r"^words is 'a b'; expected a list of words, such as \['a', 'b'\]"):
        encode_words(tokenizer(), "a b")


def test_spans_that_cross_are_named():
    words = list("abcde")
    encode_words(tokenizer(), words, spans=[(0, 5, 0), (3, 5, 1), (0, 3, 2), (1, 2, 0), (4, 5, 0)])
    with pytest.raises(ValueError, match=r"spans has \(0, 3, 0\) and \(2, 4, 1\), which cross"):
        encode_words(tokenizer(), words, spans=[(2, 4, 1), (0, 3, 0)])


@pytest.mark.parametrize("head", tiny_heads.HEADS)
def test_a_batch_holds_each_sentence_on_the_side_of_the_tokenizer(head):
    rows = tiny_heads.encoded(head)
    for side in ("right", "left"):
        collate = WordCollator(tokenizer(side), pad_to_multiple_of=8)
        batch = collate([{**row, "text": "left out"} for row in rows])
        assert "text" not in batch
        assert batch["input_ids"].shape == (4, 16)
        for index, row in enumerate(rows):
            inside = batch["attention_mask"][index].bool()
            assert bool(inside[0]) == (side == "right" or len(row["input_ids"]) == 16)
            assert batch["input_ids"][index][inside].tolist() == row["input_ids"]
            assert batch["words"][index][inside].tolist() == row["words"]
            assert (batch["words"][index][~inside] == -1).all()
            labels = batch["labels"][index]
            if head == "span":
                assert labels[labels[:, 0] >= 0].tolist() == row["labels"]
            else:
                assert labels[inside].tolist() == row["labels"]
                assert (labels[~inside] == -100).all()


def test_sentences_without_spans():
    rows = [encode_words(tokenizer(), words, spans=[]) for words in (["a"], ["b", "c"])]
    assert WordCollator(tokenizer())(rows)["labels"].shape == (2, 0, 3)


@pytest.mark.parametrize("head", tiny_heads.HEADS)
@pytest.mark.parametrize("convert", [torch.tensor, np.array])
def test_labels_may_be_tensors_or_arrays_as_datasets_in_their_formats_hold(head, convert):
    rows = tiny_heads.encoded(head)
    if head == "span":  # more spans than pieces, after a sentence without spans
        rows[1]["labels"], rows[0]["labels"] = [[0, 1, 0]] * 20, []
    expected = WordCollator(tokenizer())(rows)["labels"]
    converted = [{**row, "labels": convert(row["labels"])} for row in rows]
    assert torch.equal(WordCollator(tokenizer())(converted)["labels"], expected)


def test_places_of_words_go_there_and_back():
    words = torch.tensor([[-1, 0, 0, 2, -1], [-1, -1, 0, 1, 1], [-1, -1, -1, -1, -1]])
    starts = first_pieces(words)
    places = WordPlaces.of(starts)
    assert places.lengths.tolist() == [2, 2, 0]
    assert places.first.tolist() == [[1, 3], [2, 3], [0, 0]]
    values = torch.arange(30.0).reshape(3, 5, 2)
    taken = places.gather(values)
    assert taken[:2].tolist() == [[[2, 3], [6, 7]], [[14, 15], [16, 17]]]
    assert taken[2].abs().sum() == 0
    back = places.scatter(taken, -1)
    assert torch.equal(back, values.masked_fill(~starts.unsqueeze(-1), -1))
