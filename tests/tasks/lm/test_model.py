"""The task lm: what is learned, how it is measured, and what else it can be asked."""

import copy
import functools
import io
import math

import pytest
import torch
from tests import tiny_corpora
from tests.tasks import learning

from strukt.automata import containing
from strukt.data import brackets, conllu
from strukt.data.vocabulary import END
from strukt.errors import DataError, SettingError
from strukt.nn import CompoundPCFG
from strukt.nn.feature_maps import FEATURE_MAPS, feature_map
from strukt.tasks.common.config import OptimizerConfig, TrainerConfig
from strukt.tasks.lm.config import GRAMMARS, Config
from strukt.tasks.lm.model import LanguageModel

WITH_STATES = ["lowrank-hmm", "hmm", "rnn", "lstm", "mfa", "ngram"]
"""Of long texts they remember all, or as much at any place."""

READING_ON = [*WITH_STATES, "pt", "transformer"]
KINDS = [*READING_ON, "pcfg", "lowrank-pcfg", "compound"]
SIZES = {
    "states": 16,
    "nonterminals": 6,
    "preterminals": 8,
    "rank": 6,
    "size": 16,
    "order": 3,
    "context": 8,
    "heads": 2,
}
SENTENCES = tiny_corpora.trees(40)


def config(model, **options):
    if model == "compound":
        model, options = "lowrank-pcfg", {"latent": 3} | options
    return Config(
        model=model,
        optimizer=OptimizerConfig(averaging=0),
        trainer=TrainerConfig(epochs=1, tokens=80),
        **SIZES | options,
    )


def trained(kind, **options):
    return copy.deepcopy(trained_once(kind, **options))


@functools.cache
def trained_once(kind, **options):
    if kind == "ngram":
        sentences = LanguageModel.trainable(config(kind, **options), SENTENCES)
        model = LanguageModel.from_corpus(config(kind, **options), sentences)
        model.calibrate(sentences)
        return model.eval()
    steps, rate = (150, 5e-3) if kind == "compound" else (60, 2e-2)
    return learning.learned(LanguageModel, config(kind, **options), SENTENCES, steps, rate)[0]


@pytest.fixture(
    scope="module",
    params=[pytest.param(kind, marks=pytest.mark.slow if kind == "compound" else ()) for kind in KINDS],
)
def model(request):
    return trained(request.param)


def test_it_learns(model):
    words = {form for sentence in SENTENCES for form in sentence.forms}
    assert model.evaluate(SENTENCES)["perplexity"] < len(words) / 2


@pytest.mark.parametrize("kind", READING_ON)
def test_perplexity_is_that_of_words_and_ends(kind):
    model = trained(kind)
    text, total, count = model.text(), 0.0, 0
    for sentence in SENTENCES:
        numbers = torch.tensor([model.words.indices([*sentence.forms, END])])
        total += text.word_log_probs(numbers, torch.tensor([numbers.shape[1]])).sum().item()
        count += numbers.shape[1]
    scores = model.evaluate(SENTENCES)
    assert scores["perplexity"] == pytest.approx(math.exp(-total / count), rel=1e-4)
    assert scores["bits"] == pytest.approx(-total / count / math.log(2), rel=1e-4)
    assert scores["unknown"] == 0
    assert model.quality({"perplexity": 3.0}) > model.quality({"perplexity": 4.0})


def test_unknown_words_are_counted(model):
    strange = conllu.from_forms(["the", "gnu"])
    assert model.evaluate([strange])["unknown"] == pytest.approx(100 / 3)


def bound(source, numbers):
    """The log-probability of a sentence under a grammar, or a bound of it."""
    if isinstance(source, CompoundPCFG):
        trees, divergence = source(numbers)
        return (trees.log_partition - divergence).item()
    return source(numbers).log_partition.item()


@pytest.mark.parametrize(
    "kind", ["pcfg", "lowrank-pcfg", pytest.param("compound", marks=pytest.mark.slow)]
)
def test_perplexity_of_a_grammar_is_that_of_whole_sentences(kind):
    model = trained(kind)
    alone = conllu.from_forms(["the"])
    total = sum(
        bound(model.source, torch.tensor([model.words.indices(sentence.forms)])) for sentence in SENTENCES
    )
    count = sum(len(sentence) + 1 for sentence in SENTENCES)
    expected = pytest.approx(math.exp(-total / count), rel=1e-4)
    assert model.evaluate([*SENTENCES, alone])["perplexity"] == expected
    with pytest.warns(UserWarning, match="1 of 41 sentences have a single word"):
        assert len(LanguageModel.trainable(model.config, [*SENTENCES, alone])) == 40


@pytest.mark.parametrize("kind", WITH_STATES)
def test_a_stream_is_learned_and_measured_in_pieces(kind):
    options = config(kind, text="stream")
    pieces = LanguageModel.trainable(options, SENTENCES)
    words = [form for sentence in SENTENCES for form in [*sentence.forms, END]]
    assert [form for piece in pieces for form in piece.forms] == words
    assert {len(piece) for piece in pieces[:-1]} == {8}
    model = trained(kind, text="stream")
    model.config.trainer.tokens = 8  # one stream at a time, so that there is but one beginning
    numbers = torch.tensor([model.words.indices(words)])
    whole = model.text().stream(numbers, torch.tensor([len(words)]))[0].item()
    assert model.evaluate(SENTENCES)["perplexity"] == pytest.approx(math.exp(-whole / len(words)), rel=1e-3)


@pytest.mark.parametrize("kind", WITH_STATES)
def test_several_streams_begin_several_times(kind):
    model = trained(kind, text="stream")
    model.config.trainer.tokens = 24
    words = model.words.indices(form for sentence in SENTENCES for form in [*sentence.forms, END])
    parts = torch.tensor(words).tensor_split(3)
    assert len({len(part) for part in parts}) == 2
    total = sum(model.text().stream(part[None], torch.tensor([len(part)]))[0].item() for part in parts)
    expected = pytest.approx(math.exp(-total / len(words)), rel=1e-3)
    assert model.evaluate(SENTENCES)["perplexity"] == expected


def test_sentences_are_made_up_of_its_words(model):
    torch.manual_seed(1)
    made = model.generate(50, 12)
    assert len(made) == 50
    assert all(len(words) <= 12 and END not in words for words in made)
    assert {word for words in made for word in words} <= set(model.words.symbols)
    assert sum(len(words) < 12 for words in made) > 10


@pytest.mark.parametrize(("kind", "text"), [("ngram", []), ("pcfg", [conllu.from_forms(["one"])])])
def test_there_is_no_perplexity_of_nothing(kind, text):
    """A grammar leaves sentences of one word out."""
    with pytest.raises(DataError, match="nothing to measure"):
        trained(kind).measure(text)


@pytest.mark.parametrize(("count", "longest"), [(-1, 3), (2, -1)])
def test_sentences_and_their_words_are_at_least_none(model, count, longest):
    with pytest.raises(ValueError, match=f"^count is {count} and longest is {longest}; expected 0 or more"):
        model.generate(count, longest)


@pytest.mark.parametrize("kind", ["hmm", "pcfg", "lowrank-pcfg"])
def test_sentences_with_a_constraint_are_made_up(kind):
    model = LanguageModel.from_corpus(config(kind), SENTENCES)
    [cat] = model.words.indices(["cat"])
    made = model.generate(3, 5, containing([[cat]], len(model.words)))
    assert [("cat" in words, len(words) <= 5, END in words) for words in made] == [(True, True, False)] * 3
    assert model.generate(0, 5, containing([[cat]], len(model.words))) == []


def test_pictures_of_a_word_show_how_mean_field_looked_back():
    model, sentence = trained("mfa"), max(SENTENCES, key=len)
    step, attention = 6, model.source.attention
    pictures = model.step_pictures(sentence, step)
    sweeps = torch.tensor(pictures["sweeps"].values)
    assert pictures["sweeps"].columns == ["·", *sentence.forms[: step - 2]]
    assert len(sweeps) == attention.iterations + 1
    numbers = torch.tensor([model.words.indices(sentence.forms)])
    state = model.source.beginning(1)
    outputs, *_ = model.source.recurrent(torch.cat([state.word[:, None], numbers], 1), state)
    inside = model.source._before(step, outputs[:, :step])
    expected = attention.weights(outputs[:, :step], outputs[:, :step], inside)[0, step - 1, : step - 1]
    torch.testing.assert_close(sweeps[-1], expected.detach())
    assert pictures["tree"].forms == pictures["sweeps"].columns
    for wrong in (1, len(sentence) + 2):
        with pytest.raises(SettingError, match=f"the step is {wrong}; expected a word from 2 to"):
            model.step_pictures(sentence, wrong)
    assert trained("lstm").step_pictures(sentence, 2) == {}


@pytest.mark.slow
def test_the_published_network_looks_back_from_the_state_before():
    published = {"input_feeding": True, "scores": "perceptron", "tol": 0.01, "damping": 0.1}
    model, sentence = trained("mfa", **published), max(SENTENCES, key=len)
    attention = model.source.attention
    assert (attention.tol, attention.damping) == (0.01, 0.1)
    pictures = model.step_pictures(sentence, 4)
    assert pictures["sweeps"].columns == ["·", *sentence.forms[:3]]
    words = torch.tensor([len(model.words), *model.words.indices(sentence.forms[:3])])
    query, keys, _ = model.source.look_back(words[None])
    expected = attention(query, keys).weights[0, 0]
    torch.testing.assert_close(torch.tensor(pictures["sweeps"].values[-1]), expected.detach())


@pytest.mark.parametrize("kind", ["hmm", "lstm"])
def test_who_takes_predictions_one_by_one_computes_as_before(kind):
    model = trained(kind)
    model.train()
    for given in (model.predict(SENTENCES[:3]), model.diagrams(SENTENCES[:3])):
        next(iter(given))
        assert torch.is_grad_enabled()
        assert not torch.is_inference_mode_enabled()
        assert model.training


@pytest.mark.parametrize("kind", READING_ON)
def test_the_probability_of_each_word_is_noted(kind):
    model = trained(kind)
    (annotated,) = model.predict(SENTENCES[:1])
    numbers = torch.tensor([model.words.indices([*SENTENCES[0].forms, END])])
    expected = model.text().word_log_probs(numbers, torch.tensor([numbers.shape[1]])).exp()[0, :-1]
    notes = [float(misc.removeprefix("p=")) for misc in annotated.column("misc")]
    assert notes == pytest.approx(expected.tolist(), rel=1e-3)


@pytest.mark.parametrize("kind", ["lowrank-hmm", "hmm"])
def test_missing_words_are_filled_in(kind):
    model = trained(kind)
    given = [["the", "_", "sees", "a", "dog"], ["a", "cat"], ["_", "_"]]
    filled = list(model.infill(map(conllu.from_forms, given), "_"))
    for words, found in zip(given, filled, strict=True):
        assert len(found) == len(words)
        assert all(new == old for old, new in zip(words, found, strict=True) if old != "_")
        assert "_" not in found
        assert END not in found
    nouns_and_adjectives = {*tiny_corpora.NOUNS, *tiny_corpora.ADJECTIVES}
    assert filled[0][1] in nouns_and_adjectives


@pytest.mark.parametrize("kind", ["pcfg", pytest.param("compound", marks=pytest.mark.slow)])
def test_a_grammar_gives_trees_to_brackets_and_nothing_else(kind):
    model = trained(kind)
    (given,) = brackets.read(io.BytesIO(b"(S (NP (DT the) (NN cat)) (VP (VBZ sees) (NP (DT a) (NN dog))))\n"))
    (found,) = model.predict([given])
    assert found.forms == given.forms
    assert {label[:2] for _, _, label in found.tree.constituents} == {"NT"}
    assert set(model.evaluate([given])) == {"perplexity", "bits", "unknown", "f1"}
    with pytest.raises(DataError, match="only brackets have a place for trees"):
        next(model.predict(SENTENCES[:1]))


def test_trees_of_a_grammar_stand_beside_those_that_know_nothing():
    text = b"(S (NP (-NONE- *) (DT the) (NN cat)) (VP (VBZ sees) (NP (DT a) (NN dog))))\n"
    model = trained("pcfg")
    measured, again = (model.measure(brackets.read(io.BytesIO(text))) for _ in range(2))
    table = measured.details["trees"]
    assert table["grammar"] == {"f1": measured.scores["f1"]}
    assert table["left-branching"] == {"f1": pytest.approx(100 / 3)}
    assert table["right-branching"] == {"f1": pytest.approx(200 / 3)}
    assert again.details == measured.details, "what is drawn is always the same"


def test_probabilities_of_words_need_a_place():
    (given,) = brackets.read(io.BytesIO(b"(S (DT the) (NN cat))\n"))
    with pytest.raises(DataError, match="a tree has no place for notes"):
        next(trained("ngram").predict([given]))


@pytest.mark.parametrize("kind", ["lstm", "ngram", "pcfg"])
def test_models_without_states_cannot_fill_in(kind):
    with pytest.raises(SettingError, match="--infill needs a model with hidden states"):
        next(trained(kind).infill([conllu.from_forms(["the", "_"])], "_"))


def test_a_picture_shows_states_or_bits_or_a_tree(model):
    (picture,) = model.diagrams(SENTENCES[:1])
    if model.config.model in GRAMMARS:
        assert picture.forms == SENTENCES[0].forms
        assert len(picture.brackets) == len(SENTENCES[0]) - 1
        return
    assert list(picture.columns) == [*SENTENCES[0].forms, END]
    if model.config.model in ("hmm", "lowrank-hmm"):
        assert 2 <= len(picture.rows) <= 12
        assert all(0 <= value <= 1 for row in picture.values for value in row)
    else:
        assert list(picture.rows) == ["bits"]


def test_rare_words_are_one_unknown_word():
    model = LanguageModel.from_corpus(config("hmm", minimum_count=30), SENTENCES)
    assert len(model.words) < 8
    assert model.words.index("wet") == model.words.index("gnu")


@pytest.mark.parametrize("features", FEATURE_MAPS)
def test_transitions_have_the_feature_map_of_the_option(features):
    model = LanguageModel.from_corpus(config("lowrank-hmm", features=features), SENTENCES)
    found, expected = model.source.features, feature_map(features, 16, 6)
    assert type(found) is type(expected)
    assert len(list(found.parameters())) == len(list(expected.parameters()))


@pytest.mark.parametrize("text", ["sentences", "stream"])
def test_words_of_a_cluster_come_from_a_block_of_states(text):
    options = {"blocks": 4, "vectors": "tied", "state_dropout": 0.5, "temperature": 0.5, "text": text}
    model = trained("hmm", **options)
    assert model.evaluate(SENTENCES)["perplexity"] < 10
    blocks = dict(zip(model.words.symbols, model.source.blocks.tolist(), strict=True))
    assert set(blocks.values()) == {0, 1, 2, 3}
    assert len({blocks[word] for word in ("the", "a")}) == 1
    again = LanguageModel(model.config, model.vocabularies)
    again.load_state_dict(model.state_dict())
    assert again.eval().evaluate(SENTENCES) == model.evaluate(SENTENCES)
    assert next(iter(model.diagrams(SENTENCES[:1]))).rows


def test_clusters_may_come_from_a_file(tmp_path):
    path = tmp_path / "paths"
    path.write_text("0\tthe\t9\n0\ta\t8\n1\tdog\t7\n")
    model = LanguageModel.from_corpus(config("hmm", blocks=2, clusters=str(path)), SENTENCES)
    inside = {word for word, block in zip(model.words.symbols, model.source.blocks, strict=True) if not block}
    assert inside == {"the", "a"}


@pytest.mark.parametrize(
    ("blocks", "lines", "message"),
    [
        (16, "", "but .*paths has 0 clusters"),
        (2, "0\tthe\t9\n1\ta\t8\n10\tdog\t7\n", "--blocks is 2, but .*paths has 3 clusters"),
        (2, "0\tgnu\t9\n1\ta\t8\n", "has 2 clusters, and the corpus has words of 1 of them"),
    ],
)
def test_clusters_of_a_file_are_as_many_as_blocks(blocks, lines, message, tmp_path):
    path = tmp_path / "paths"
    path.write_text(lines)
    with pytest.raises(SettingError, match=message):
        LanguageModel.from_corpus(config("hmm", blocks=blocks, clusters=str(path)), SENTENCES)


@pytest.mark.parametrize(
    ("blocks", "message"), [(60, "expected at most the 18 words"), (18, "but clusters is 18; expected 1 to 17")]
)
def test_there_are_words_for_all_blocks(blocks, message):
    with pytest.raises(SettingError, match=f"--blocks is {blocks}.*{message}"):
        LanguageModel.from_corpus(config("hmm", blocks=blocks, states=180), SENTENCES)


@pytest.mark.thinned("kind", "text")
@pytest.mark.parametrize("kind", ["hmm", "rnn", "lstm", "mfa", "pt", "transformer"])
@pytest.mark.parametrize("text", ["sentences", "stream"])
def test_models_begin_with_the_frequencies_of_words(kind, text):
    options = config(kind, text=text)
    model = LanguageModel.from_corpus(options, LanguageModel.trainable(options, SENTENCES))
    counts = torch.ones(len(model.words))
    for sentence in SENTENCES:
        for form in [*sentence.forms, END]:
            counts[model.words.index(form)] += 1
    torch.testing.assert_close(model.source.bias.softmax(0), counts / counts.sum())
