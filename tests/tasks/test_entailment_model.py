"""Natural language inference: alignments of all kinds learn, predict, draw, and hold the memory."""

import io
import json

import pytest
import torch
from tests import tiny_corpora
from tests.tasks import learning

from strukt.cli.main import main
from strukt.data import conllu, pairs
from strukt.data.batching import batches
from strukt.errors import DataError, SettingError
from strukt.nn.structured_attention import KINDS
from strukt.tasks import classify, mlm, ranges
from strukt.tasks.entailment_model import EntailmentModel
from strukt.tasks.nli import Config
from strukt.train import bundle

LINES = (
    "A man sleeps.\tSomebody sleeps.\tentailment\n"
    "A man sleeps.\tSomebody runs.\tcontradiction\n"
    "A man sleeps.\tA tall man sleeps.\tneutral\n"
    "Two old women don't run.\tSomebody runs.\tcontradiction\n"
    "Two old women don't run.\tThey don't run\tentailment\n"
    "Two old women don't run.\tTwo women sleep at home.\tneutral\n"
)
PAIRS = list(pairs.read(io.BytesIO(LINES.encode())))


def config(attention="softmax", kind="none", iterations=0):
    found = tiny_corpora.small(Config(attention=attention, iterations=iterations, size=24))
    found.encoder.kind, found.encoder.dropout, found.encoder.word_dropout = kind, 0.0, 0.0
    found.encoder.affixes = 0
    return found


def learned(kind):
    return learning.learned(EntailmentModel, config(kind), PAIRS, 25, rate=1e-2)


@pytest.fixture(scope="module")
def model():
    return learned("matching")[0]


def test_by_default_words_are_read_alone_and_without_their_spelling():
    encoder = Config().encoder
    assert (encoder.kind, encoder.characters, encoder.affixes) == ("none", "none", 0)


@pytest.mark.parametrize("kind", KINDS)
def test_a_tiny_corpus_is_learned_by_heart(kind):
    model, losses = learned(kind)
    assert losses[-1] < 0.1 * losses[0]
    measured = model.measure(PAIRS)
    assert measured.scores["accuracy"] == 100.0
    assert {label: row["gold"] for label, row in measured.details["class"].items()} == {
        "contradiction": 2,
        "entailment": 2,
        "neutral": 2,
    }


def test_predicting_replaces_the_class_and_notes_its_probability(model):
    bare = [pair.annotated(label="unknown") for pair in PAIRS]
    assert "".join(map(str, model.predict(bare))) == LINES
    for line, pair in zip(model.predict(PAIRS, probabilities=True), PAIRS, strict=True):
        given, note = str(line).rsplit("\tp=", 1)
        assert given == str(pair).rstrip()
        assert 0.5 < float(note) <= 1


@pytest.mark.parametrize("kind", ["none", "bilstm"])
def test_premise_and_hypothesis_are_each_read_alone(kind):
    model = EntailmentModel.from_corpus(config("matching", kind), PAIRS).eval()
    batch = model.collate(PAIRS)
    vectors = model.encoder(batch.inputs, batch.lengths)
    for row, pair in enumerate(PAIRS):
        for place, words in ((row, pair.premise), (len(PAIRS) + row, pair.hypothesis)):
            alone = model.encoder(model.encoder.inputs([words]), torch.tensor([len(words)]))[0]
            torch.testing.assert_close(vectors[place, : len(words)], alone, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_a_pair_alone_is_as_in_a_batch(kind):
    model = EntailmentModel.from_corpus(config(kind), PAIRS).eval()
    with torch.inference_mode():
        together = model.predict_batch(model.collate(PAIRS, with_targets=False))
        for pair, found in zip(PAIRS, together, strict=True):
            [alone] = model.predict_batch(model.collate([pair], with_targets=False))
            assert alone.probabilities == pytest.approx(found.probabilities, abs=1e-5)
            torch.testing.assert_close(
                torch.tensor(alone.weights), torch.tensor(found.weights), atol=1e-5, rtol=0
            )


def test_pictures_have_the_alignment_of_the_words(model):
    for pair, picture in zip(PAIRS, model.diagrams(PAIRS), strict=True):
        assert (picture.rows, picture.columns) == (pair.premise, pair.hypothesis)
        assert picture.title.startswith(pair.label)
        aligned = torch.tensor(picture.values)
        shorter = 1 if len(pair.premise) <= len(pair.hypothesis) else 0
        torch.testing.assert_close(aligned.sum(shorter), torch.ones(aligned.shape[1 - shorter]))
        assert aligned.sum(1 - shorter).max() < 1 + 1e-5


def test_links_are_the_weights_above_zero_for_each_word(model):
    pictures = list(model.diagrams(PAIRS))
    links = sum(value > 0 for picture in pictures for row in picture.values for value in row)
    words = sum(map(len, PAIRS))
    assert model.measure(PAIRS).scores["links"] == pytest.approx(links / words)
    dense = EntailmentModel.from_corpus(config("softmax"), PAIRS)
    cells = sum(len(pair.premise) * len(pair.hypothesis) for pair in PAIRS)
    assert dense.measure(PAIRS).scores["links"] == pytest.approx(cells / words)


def test_channels_are_those_of_both_sentences():
    options = config(kind="pt")
    options.encoder.heads = 2
    model = EntailmentModel.from_corpus(options, PAIRS)
    pictures = model.channels(PAIRS[0])
    assert [picture.forms for picture in pictures] == [PAIRS[0].premise] * 2 + [PAIRS[0].hypothesis] * 2


def test_saved_and_loaded_it_says_the_same(tmp_path):
    model = EntailmentModel.from_corpus(config("crf", iterations=7), PAIRS)
    torch.nn.init.constant_(model.compare.attention.bonus, 1.5)
    bundle.save(model, tmp_path / "model")
    again = bundle.load(str(tmp_path / "model"))
    assert (again.compare.attention.kind, again.compare.attention.iterations) == ("crf", 7)
    first, second = (list(map(str, found.predict(PAIRS, probabilities=True))) for found in (model, again))
    assert first == second


def test_half_precision_learns_as_float32():
    model = EntailmentModel.from_corpus(config("lp-matching"), PAIRS)
    batch = model.collate(PAIRS)
    single = model.loss(batch)
    with torch.autocast("cpu", torch.bfloat16):
        half = model.loss(batch)
    half.backward()
    assert half.item() == pytest.approx(single.item(), rel=0.05)
    assert all(
        parameter.grad.isfinite().all() for parameter in model.parameters() if parameter.grad is not None
    )


def test_a_batch_is_bounded_whatever_the_lengths_are():
    """The alignment of a batch has at most as many cells as tokens times the longest pair."""
    lines = [
        f"{'a ' * n}\t{'b ' * m}\n" for n, m in [(60, 1), (1, 60), (30, 31), (2, 2), (3, 1), (40, 20)] * 4
    ]
    found = list(pairs.read(io.BytesIO("".join(lines).encode())))
    for indices in batches([len(pair) for pair in found], 130):
        chosen = [found[index] for index in indices]
        n, m = (
            max(map(len, side)) for side in zip(*((p.premise, p.hypothesis) for p in chosen), strict=True)
        )
        assert len(chosen) * max(n, m) <= 130
        assert len(chosen) * n * m <= 130 * max(map(len, chosen))


def test_pairs_without_a_class_and_corpora_of_one_class_are_refused(model):
    [bare] = pairs.read(io.BytesIO(b"a film\ta fine film\t-\n"))
    message = "the sentence has no class; write it behind the hypothesis and a TAB"
    with pytest.raises(DataError, match=message):
        EntailmentModel.from_corpus(config(), [*PAIRS, bare])
    with pytest.raises(DataError, match=message):
        model.require_annotated(bare)
    with pytest.raises(DataError, match="at least two classes, found entailment"):
        EntailmentModel.from_corpus(config(), PAIRS[:1])
    with pytest.raises(DataError, match="the model needs pairs of sentences"):
        list(model.predict([conllu.from_forms(["Dogs", "bark"])]))


@pytest.mark.parametrize("task", [classify, mlm])
def test_other_tasks_need_an_encoder_that_reads_sentences(task):
    options = task.Config()
    options.encoder.kind = "none"
    with pytest.raises(SettingError, match=r"--encoder\.kind none shows each word itself alone"):
        ranges.require_valid(options)


def test_from_the_command_line(tmp_path, capsys):
    corpus, output = tmp_path / "train.tsv", str(tmp_path / "model")
    corpus.write_text(LINES * 4)
    assert main(["check", "nli", str(corpus)]) == 0
    assert "class  entailment 8, contradiction 8, neutral 8" in capsys.readouterr().out
    options = ["--attention=matching", "--size=16", "--encoder.words=12", "--encoder.dropout=0"]
    trainer = ["--trainer.epochs=15", "--trainer.tokens=60", "--trainer.threads=1", "--trainer.precision=32"]
    optimizer = ["--optimizer.learning_rate=0.02", "--optimizer.averaging=0.9"]
    corpora = ["--train", str(corpus), "--dev", str(corpus), "-o", output]
    assert main(["train", "nli", *corpora, *options, *trainer, *optimizer]) == 0
    capsys.readouterr()
    assert main(["evaluate", output, str(corpus), "--json"]) == 0
    scores = json.loads(capsys.readouterr().out)
    assert scores["accuracy"] > 80
    assert scores["class"]["neutral"]["gold"] == 8
    text = tmp_path / "raw.txt"
    text.write_text("A man sleeps.\tSomebody sleeps.\n")
    assert main(["predict", output, str(text)]) == 0
    premise, hypothesis, label = capsys.readouterr().out.rstrip().split("\t")
    assert (premise, hypothesis) == ("A man sleeps.", "Somebody sleeps.")
    assert label in ("contradiction", "entailment", "neutral")
    assert main(["show", output, "A man sleeps.", "Somebody sleeps."]) == 0
    title, _, columns, *rows = capsys.readouterr().out.splitlines()
    assert title.startswith(label)
    assert columns.split() == ["Somebody", "sleeps", "."]
    assert [row.split()[0] for row in rows] == ["A", "man", "sleeps", "."]
    assert main(["show", output, "A man sleeps."]) == 2
    assert "the model compares two sentences; give each in quotes" in capsys.readouterr().err
