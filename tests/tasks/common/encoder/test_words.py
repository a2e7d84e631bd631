"""From forms to tensors, and to vectors."""

import pytest
import torch

from strukt.tasks.common.encoder.build import build_encoder, count_vocabularies
from strukt.tasks.common.encoder.config import EncoderConfig
from strukt.tasks.common.encoder.words import LONGEST_FORM, FromWords, normalised

FORMS = ["The", "cat", "sees", "the", "Cat", "7up", "the"]


def config(**options):
    sizes = {"layers": 1, "hidden": 8, "heads": 2, "words": 6, "character_size": 6, "affixes": 3}
    return EncoderConfig(**{**sizes, "minimum_count": 1, **options})


def encoder(**options):
    torch.manual_seed(0)
    return build(config(**options))


def build(options):
    built = build_encoder(options, count_vocabularies(options, FORMS), None)
    return built.eval()


def encode(model, sentences):
    with torch.no_grad():
        return model(model.inputs(sentences), torch.tensor([len(forms) for forms in sentences]))


@pytest.mark.thinned("kind", "characters")
@pytest.mark.parametrize("kind", ["bilstm", "lstm", "convolution", "transformer", "pt", "none"])
@pytest.mark.parametrize("characters", ["cnn", "lstm", "none"])
def test_a_batch_gives_what_its_items_give(kind, characters):
    model = encoder(kind=kind, characters=characters)
    sentences = [["The", "cat"], ["sees"], [], ["unheard", "of", "words", "x" * 99]]
    together = encode(model, sentences)
    for row, forms in enumerate(sentences):
        torch.testing.assert_close(
            together[row, : len(forms)], encode(model, [forms])[0], rtol=1e-4, atol=1e-5
        )


def test_case_and_digits_are_told_by_characters_only():
    model = encoder()
    inputs = model.inputs([["cat", "Cat", "7up", "8up"]])
    assert inputs["words"][0] == inputs["words"][1]
    assert inputs["words"][2] == inputs["words"][3]
    assert not torch.equal(inputs["characters"][0], inputs["characters"][1])


def test_each_form_is_looked_up_once():
    inputs = encoder().inputs([["the", "cat", "the"], ["the"]])
    assert inputs["form"].tolist() == [[0, 1, 0], [0, 0, 0]]
    assert len(inputs["words"]) == len(inputs["characters"]) == len(inputs["affixes"]) == 2


@pytest.mark.parametrize("options", [{}, {"characters": "none", "affixes": 0}, {"characters": "lstm"}], ids=str)
def test_forms_may_be_looked_up_before_they_are_read(options):
    model = encoder(**options).eval()
    inputs, lengths = model.inputs([["the", "cat", "the"], ["sat"]]), torch.tensor([3, 1])
    before = model.with_vectors(inputs)
    assert before["form_vectors"].shape == (3, model.embeddings.size)
    assert torch.equal(model(before, lengths), model(inputs, lengths))
    assert model.with_vectors(before) is before


def test_affixes_are_the_first_and_last_letters():
    model = encoder()
    names = [model.vocabularies[kind].symbols for kind in model.kinds]
    found = model.inputs([["sees"]])["affixes"][0].tolist()
    assert [symbols[index] for symbols, index in zip(names, found, strict=True)] == [
        "s",
        "se",
        "see",
        "s",
        "es",
        "ees",
    ]


def test_affixes_may_be_left_out():
    assert encoder(affixes=0).kinds == []


def test_rare_words_have_no_vector_of_their_own():
    words = count_vocabularies(config(minimum_count=2), FORMS)["words"]
    assert words.symbols == ("<pad>", "<unk>", "the", "cat")


def test_the_middle_of_a_very_long_word_is_left_out():
    model = encoder()
    assert model.inputs([["a" * 5000]])["characters"].shape == (1, LONGEST_FORM)


def test_no_sentences_at_all():
    assert encode(encoder(), []).shape[0] == 0


def test_normalised_forms():
    assert [normalised(form) for form in ("Paris", "1984", "٣")] == ["paris", "0000", "0"]


def test_a_pretrained_model_must_be_named():
    with pytest.raises(ValueError, match=r"encoder.pretrained is empty; give the folder or hub name"):
        build(config(kind="pretrained"))


def test_new_weights_are_a_function_of_the_seed():
    first, second = encoder(), encoder()
    assert isinstance(first, FromWords)
    assert all(torch.equal(a, b) for a, b in zip(first.parameters(), second.parameters(), strict=True))
