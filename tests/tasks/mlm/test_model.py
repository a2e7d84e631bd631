"""The masked language model: what is hidden, what is learned, and what it says of words."""

import math

import pytest
import torch

from strukt.data import conllu
from strukt.data.vocabulary import MASK, UNKNOWN
from strukt.errors import DataError, SettingError
from strukt.tasks.common.ranges import require_valid
from strukt.tasks.mlm import Config
from strukt.tasks.mlm.model import MaskedLanguageModel

SENTENCES = [conllu.from_forms(words.split()) for words in ("a b c d", "b c d a", "c d a b", "d a b c")] * 3


def config(kind="pt", **options):
    found = Config(**options)
    found.encoder.kind, found.encoder.hidden, found.encoder.words = kind, 16, 16
    found.encoder.heads, found.encoder.layers, found.encoder.dropout = 2, 1, 0.0
    found.encoder.pt.rank = 4
    return found


@pytest.fixture(scope="module")
def model():
    torch.manual_seed(0)
    model = MaskedLanguageModel.from_corpus(config(), SENTENCES)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for _ in range(200):
        optimizer.zero_grad()
        model.loss(model.collate(SENTENCES)).backward()
        optimizer.step()
    return model.eval()


def test_words_that_follow_from_others_are_learned(model):
    scores = model.evaluate(SENTENCES)
    assert scores["perplexity"] < 2  # of four words
    assert scores["unknown"] == 0
    assert list(model.infill([conllu.from_forms(["a", "?", "c", "d"])], "?")) == [["a", "b", "c", "d"]]


def test_evaluation_hides_the_same_words_in_any_batches(model):
    before = model.evaluate(SENTENCES)
    torch.manual_seed(7)
    model.config.trainer.tokens = 4
    after = model.evaluate(SENTENCES)
    model.config.trainer.tokens = 2500
    assert after == pytest.approx(before, rel=1e-5)


@pytest.mark.parametrize("word_scores", ["tied", "direct"])
@pytest.mark.parametrize("kind", ["bilstm", "transformer", "pt"])
def test_perplexity_is_that_of_the_hidden_words_one_by_one(kind, word_scores):
    torch.manual_seed(0)
    options = config(kind, word_scores=word_scores)
    options.encoder.words = {"tied": 16, "direct": 32}[word_scores]
    model = MaskedLanguageModel.from_corpus(options, SENTENCES).eval()
    torch.nn.init.normal_(model.encoder.embeddings.words.weight)
    hidden = [model._drawn(sentence) for sentence in SENTENCES]
    total, count = 0.0, 0
    for sentence, row in zip(SENTENCES, hidden, strict=True):
        forms = [MASK if hide else form for form, hide in zip(sentence.forms, row, strict=True)]
        vectors = model.encoder(model.encoder.inputs([forms]), torch.tensor([len(forms)]))[0]
        scores = model.project(vectors) @ model.encoder.embeddings.words.weight.T + model.bias
        for place in range(len(forms)):
            if row[place]:
                total -= scores[place].log_softmax(0)[model.words.index(sentence.forms[place])].item()
                count += 1
    assert model.loss(model._hidden(SENTENCES, hidden)).item() == pytest.approx(total / count, rel=1e-4)


def test_vectors_of_words_that_score_directly_have_the_size_of_those_of_the_encoder():
    with pytest.raises(SettingError, match=r"--encoder\.words is 16; expected 32, twice --encoder\.hidden"):
        require_valid(config(word_scores="direct"))


def test_a_projection_of_its_own_scores_the_vocabulary():
    torch.manual_seed(0)
    model = MaskedLanguageModel.from_corpus(config(word_scores="projection"), SENTENCES).eval()
    assert model.project.weight.shape == (len(model.words), model.encoder.size)
    assert not hasattr(model, "bias")
    vectors = model.encoder(model.encoder.inputs([["a", MASK]]), torch.tensor([2]))[0]
    rows = zip(model.project.weight.tolist(), model.project.bias.tolist(), strict=True)
    expected = [
        [sum(w * x for w, x in zip(weight, vector, strict=True)) + bias for vector in vectors.tolist()]
        for weight, bias in rows
    ]
    found = model._log_probs(model._read([["a", MASK]]))[0]
    torch.testing.assert_close(found, torch.tensor(expected).T.log_softmax(-1))


def test_the_loss_may_be_a_mean_over_sentences_of_the_means_of_each():
    torch.manual_seed(0)
    model = MaskedLanguageModel.from_corpus(config(average="sentences"), SENTENCES).eval()
    torch.nn.init.normal_(model.project.weight)
    drawn = [[True, True, False, True], [False] * 4, [False, False, True, False]]
    found = model.loss(model._hidden(SENTENCES[:3], drawn)).item()
    model.config.average = "words"
    first, nothing, third = (
        model.loss(model._hidden([sentence], [row])).item()
        for sentence, row in zip(SENTENCES, drawn, strict=False)
    )
    assert nothing == 0
    assert found == pytest.approx((first + third) / 2, rel=1e-5)
    together = model.loss(model._hidden(SENTENCES[:3], drawn)).item()
    assert together == pytest.approx((3 * first + third) / 4, rel=1e-5)


def test_the_share_of_hidden_words_is_the_given_one():
    torch.manual_seed(0)
    model = MaskedLanguageModel.from_corpus(config(mask=0.3), SENTENCES)
    drawn = [hide for _ in range(100) for sentence in SENTENCES for hide in model._drawn(sentence)]
    assert abs(sum(drawn) / len(drawn) - 0.3) < 4 * math.sqrt(0.3 * 0.7 / len(drawn))


def test_unknown_words_are_not_hidden():
    model = MaskedLanguageModel.from_corpus(config(mask=0.99), SENTENCES)
    sentence = conllu.from_forms(["a", UNKNOWN, "new", "b"] * 20)
    drawn = model._drawn(sentence)
    assert not any(hide for hide, form in zip(drawn, sentence.forms, strict=True) if form in (UNKNOWN, "new"))
    assert sum(drawn) > 30
    assert model.evaluate([sentence])["unknown"] == 50
    with pytest.raises(DataError, match="no known word was hidden"):
        model.evaluate([conllu.from_forms(["new", UNKNOWN])])
    [noted] = model.predict([conllu.from_forms(["a", "new"])])
    assert noted.column("misc")[1] == "p=0.000"


def test_words_that_look_like_special_symbols_are_not_hidden():
    odd = conllu.from_forms(["<mask>", "<pad>", "<UNK>", "a"])
    model = MaskedLanguageModel.from_corpus(config(mask=0.99), [odd] * 3)
    model.encoder.word_of = str.lower
    assert not any(any(model._drawn(odd)[:3]) for _ in range(20))


def test_only_gaps_are_filled(model):
    [words] = model.infill([conllu.from_forms([MASK, "_", "c", "d"])], "_")
    assert words[0] == MASK
    assert words[1] != "_"


def test_upper_case_is_another_word():
    model = MaskedLanguageModel.from_corpus(config(), [conllu.from_forms(["The", "the"])])
    assert {"The", "the"} <= set(model.words.symbols)


def test_long_texts_are_cut():
    long = conllu.from_forms(list("abcdefg"))
    pieces = MaskedLanguageModel.trainable(config(longest=3), [long])
    assert [piece.forms for piece in pieces] == [["a", "b", "c"], ["d", "e", "f"], ["g"]]


def test_the_probability_of_a_word_is_given_all_others(model):
    sentence = SENTENCES[0]
    [noted] = model.predict([sentence])
    found = [float(misc.removeprefix("p=")) for misc in noted.column("misc")]
    for place, form in enumerate(sentence.forms):
        forms = [MASK if at == place else word for at, word in enumerate(sentence.forms)]
        log_probs = model._log_probs(model._read([forms]))[0, place]
        assert found[place] == pytest.approx(log_probs.exp()[model.words.index(form)].item(), abs=1e-4)
    [picture] = model.diagrams([sentence])
    assert picture.values[0] == pytest.approx([-math.log2(p) for p in found], abs=0.01)


def test_unknown_words_have_no_surprisal_and_unlikely_ones_much():
    model, sentence = MaskedLanguageModel.from_corpus(config(), SENTENCES), conllu.from_forms(["a", "zebra"])
    with torch.no_grad():
        model.biases[model.words.index("a")] = -500.0
    [noted] = model.predict([sentence])
    [picture] = model.diagrams([sentence])
    assert noted.column("misc") == ["p=0.000", "p=0.000"]
    assert picture.values[0][0] > 150
    assert picture.numbers()[0][1] == "0.00"


@pytest.mark.parametrize("word_scores", ["tied", "direct", "projection"])
def test_biases_begin_with_the_frequencies_of_words(word_scores):
    sentences = [*SENTENCES, conllu.from_forms(["a", "b"])]
    new = MaskedLanguageModel.from_corpus(config(word_scores=word_scores), sentences)
    bias = new.project.bias if word_scores == "projection" else new.bias
    counts = {form: bias[new.words.index(form)].exp().item() for form in "abcd"}
    assert counts == pytest.approx({"a": 14, "b": 14, "c": 13, "d": 13})
    assert bias[new.words.index(MASK)] == bias[new.words.index(UNKNOWN)] == 0


def test_special_symbols_are_never_filled_in(model):
    torch.nn.init.constant_(model.bias.data[:2], 1e4)
    [words] = model.infill([conllu.from_forms(["_", "b"])], "_")
    model.bias.data[:2] = 0
    assert words[0] in {"a", "b", "c", "d"}
