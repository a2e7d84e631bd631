"""Vectors of single words."""

import pytest
import torch

from strukt.nn import CharacterCNN, CharacterLSTM, WordEmbeddings
from strukt.nn.embeddings import PADDING, UNKNOWN

READERS = {"cnn": CharacterCNN, "lstm": CharacterLSTM}


@pytest.fixture(params=sorted(READERS))
def reader(request):
    torch.manual_seed(0)
    return READERS[request.param](30, 12)


def test_padding_of_a_word_changes_nothing(reader):
    words = torch.tensor([[3, 4, 5], [6, 7, 0], [8, 0, 0]])
    wide = torch.nn.functional.pad(words, (0, 4))
    torch.testing.assert_close(reader(words), reader(wide))
    for row, n in enumerate([3, 2, 1]):
        torch.testing.assert_close(reader(words)[row], reader(words[row : row + 1, :n])[0])


def test_the_order_of_characters_matters(reader):
    words = torch.tensor([[3, 4, 5], [5, 4, 3]])
    first, second = reader(words)
    assert not torch.allclose(first, second)


def test_a_word_without_characters_and_no_words(reader):
    assert reader(torch.zeros(2, 3, dtype=torch.long)).isfinite().all()
    assert reader(torch.zeros(0, 3, dtype=torch.long)).shape == (0, 12)


def test_one_word_without_an_axis_of_words_is_refused(reader):
    with pytest.raises(ValueError, match=r"characters has shape \(3,\); expected \(words, longest word\)"):
        reader(torch.tensor([3, 4, 5]))


@pytest.mark.parametrize(("kind", "size"), [(CharacterCNN, 13), (CharacterLSTM, 13)])
def test_sizes_that_cannot_be_shared_out_are_refused(kind, size):
    with pytest.raises(ValueError, match=r"size is 13.*; expected"):
        kind(30, size)


def embeddings(**options):
    torch.manual_seed(0)
    return WordEmbeddings(10, 4, CharacterCNN(30, 6), affixes=[7, 8], affix_size=3, **options)


INPUTS = {
    "words": torch.tensor([[2, 3, PADDING], [3, UNKNOWN, 2]]),
    "form": torch.tensor([[0, 1, 0], [1, 2, 0]]),
    "characters": torch.tensor([[4, 5], [6, 0], [7, 8]]),
    "affixes": torch.tensor([[1, 2], [3, 4], [5, 6]]),
}


def test_the_same_word_has_the_same_vector_everywhere():
    vectors = embeddings()(**INPUTS)
    assert vectors.shape == (2, 3, 4 + 6 + 2 * 3)
    torch.testing.assert_close(vectors[0, 0], vectors[1, 2])
    torch.testing.assert_close(vectors[0, 1], vectors[1, 0])
    assert not torch.allclose(vectors[0, 0], vectors[0, 1])


def test_word_dropout_takes_the_word_but_leaves_the_form_and_the_padding():
    model = embeddings(word_dropout=0.999999)
    trained, predicted = model(**INPUTS), model.eval()(**INPUTS)
    unknown = model.words.weight[UNKNOWN]
    assert torch.equal(trained[1, 0, :4], unknown)
    assert not torch.equal(predicted[1, 0, :4], unknown)
    torch.testing.assert_close(trained[..., 4:], predicted[..., 4:])
    assert not trained[0, 2, :4].any()


def test_characters_and_affixes_may_be_left_out():
    model = WordEmbeddings(10, 4)
    assert model.size == 4
    assert model(**INPUTS).shape == (2, 3, 4)


@pytest.mark.parametrize("share", [-0.1, 1.1, float("nan")])
def test_the_dropout_of_words_is_a_probability(share):
    with pytest.raises(ValueError, match=f"word_dropout is {share}; expected a probability, 0 to 1"):
        WordEmbeddings(9, 4, word_dropout=share)


def test_convolutions_need_a_width():
    with pytest.raises(ValueError, match="widths is empty; expected at least one odd width"):
        CharacterCNN(30, 12, widths=())


@pytest.mark.parametrize("width", [-1, 0, 1.5])
def test_a_width_is_a_whole_number_above_0(width):
    with pytest.raises(ValueError, match=rf"widths\[1\] is {width}; expected"):
        CharacterCNN(10, 4, widths=(1, width))


@pytest.mark.parametrize(
    ("options", "name"),
    [({"affixes": [3, 0]}, r"affixes\[1\]"), ({"affixes": [3], "affix_size": 0}, "affix_size")],
)
def test_sizes_of_affixes_are_above_0(options, name):
    with pytest.raises(ValueError, match=f"{name} is .*; expected at least 1"):
        WordEmbeddings(10, 4, **options)


def test_there_is_an_unknown_word():
    with pytest.raises(ValueError, match="words is 1; expected at least 2"):
        WordEmbeddings(1, 4)


def test_the_size_of_affixes_is_ignored_without_them():
    assert WordEmbeddings(10, 4, affix_size=0).size == 4
