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


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: CharacterCNN(30, 13), "size is 13.*; expected"),
        (lambda: CharacterLSTM(30, 13), "size is 13.*; expected"),
        (lambda: CharacterCNN(30, 12, widths=()), "widths is empty; expected at least one odd width"),
        (lambda: CharacterCNN(10, 4, widths=(1, -1)), r"widths\[1\] is -1; expected"),
        (lambda: CharacterCNN(10, 4, widths=(1, 1.5)), r"widths\[1\] is 1\.5; expected"),
        (lambda: WordEmbeddings(1, 4), "words is 1; expected at least 2"),
        (lambda: WordEmbeddings(9, 4, word_dropout=1.1), "word_dropout is 1.1; expected a probability, 0 to 1"),
        (lambda: WordEmbeddings(9, 4, word_dropout=torch.nan), "word_dropout is nan; expected a probability"),
    ],
)
def test_settings_that_do_not_fit_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_the_size_of_affixes_is_ignored_without_them():
    assert WordEmbeddings(10, 4, affix_size=0).size == 4
