"""Natural language inference: alignments of all kinds learn, predict, draw, and hold the memory."""

import io
import json

import pytest
import torch
from tests import tiny_corpora
from tests.tasks import learning

from strukt.cli.main import main
from strukt.data import conllu
from strukt.data.classes import pairs
from strukt.data.conllu import tree_pairs
from strukt.errors import DataError, SettingError
from strukt.nn.structured_attention import KINDS
from strukt.tasks import classify, mlm
from strukt.tasks.common import ranges
from strukt.tasks.nli import Config
from strukt.tasks.nli.model import EntailmentModel
from strukt.train import saved_model

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
    return learning.learned(EntailmentModel, config(kind), PAIRS, 40, rate=1e-2)


@pytest.fixture(scope="module")
def model():
    return learned("matching")[0]


@pytest.mark.parametrize(
    "kind",
    [pytest.param(kind, marks=pytest.mark.slow if kind == "lp-sequence" else ()) for kind in KINDS],
)
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


def test_pairs_without_a_class_and_corpora_of_one_class_are_refused(model):
    [bare] = pairs.read(io.BytesIO(b"a film\ta fine film\t-\n"))
    message = "the sentence has no class; write it after the hypothesis and a TAB"
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
    with pytest.raises(SettingError, match=r"--encoder\.kind none reads each word without its context"):
        ranges.require_valid(options)


def tree_config(**latent):
    found = config()
    found.model, found.encoder.kind = "latent-tree", "bilstm"
    found.latent.hidden, found.latent.arc_size = 16, 8
    for name, value in latent.items():
        setattr(found.latent, name, value)
    return found


@pytest.mark.parametrize("estimator", ["marginals", "spigot"])  # tests/tasks/classify tries the others
def test_latent_trees_learn_a_tiny_corpus(estimator):
    model, losses = learning.learned(
        EntailmentModel, tree_config(estimator=estimator, reader="gcn"), PAIRS, 60, 2e-2
    )
    assert losses[-1] < 0.5 * losses[0]
    scores = model.evaluate(PAIRS)
    assert scores["accuracy"] == 100.0
    assert "links" not in scores
    assert scores.get("trees") == {"marginals": None, "spigot": 1.0}[estimator]


def test_trees_that_are_always_the_same():
    model, losses = learning.learned(EntailmentModel, tree_config(tree="left-to-right"), PAIRS, 40, 2e-2)
    assert losses[-1] < 0.5 * losses[0]
    assert model.evaluate(PAIRS) == {"accuracy": 100.0}
    with pytest.raises(
        SettingError, match="no sparse distribution over structures; models trained with --model latent-tree"
    ):
        model.structures(PAIRS[0])


def test_given_trees_are_read():
    def sentence(heads, comment=""):
        rows = [f"{i}\tdogs" + "\t_" * 4 + f"\t{head}" + "\t_" * 3 for i, head in enumerate(heads, 1)]
        return "\n".join([*([comment] if comment else []), *rows]) + "\n\n"

    content = "".join(
        sentence(first, f"# label = {label}") + sentence(second)
        for label, first, second in (
            ("entailment", [0, 1, 2], [0, 1]),
            ("neutral", [0, 1, 1], [0, 1]),
            ("contradiction", [0, 1, 2], [2, 0]),
        )
    )
    given = list(tree_pairs.read(io.BytesIO(content.encode())))
    for tree, accuracy in (("given", 100.0), ("flat", 100 / 3)):
        model, _ = learning.learned(EntailmentModel, tree_config(tree=tree), given, 60, 2e-2)
        assert model.evaluate(given)["accuracy"] == pytest.approx(accuracy)
    message = (
        "--latent.tree given reads the trees of CoNLL-U files, in which a premise and its hypothesis follow"
    )
    with pytest.raises(DataError, match=message):
        EntailmentModel.trainable(tree_config(tree="given"), PAIRS)
    model = EntailmentModel.from_corpus(tree_config(tree="given"), given)
    for refused in (model.require_annotated, lambda pair: list(model.predict([pair]))):
        with pytest.raises(DataError, match=message):
            refused(PAIRS[0])


def test_the_gradient_of_samples_is_that_of_the_bound_on_the_mean():
    """The mean over many batches against the sum over all pairs of trees."""
    torch.manual_seed(0)
    short = list(pairs.read(io.BytesIO(b"Dogs bark\tDogs run\tneutral\nWe run\tWe walk\tentailment\n")))
    model = EntailmentModel.from_corpus(tree_config(estimator="sample", count=2), short).train()
    weight = model.tree_reader.scorer.score.weight
    batch = model.collate(short)

    def bound():
        trees = model.distribution_of(batch)
        vectors = model.encoder(batch.inputs, batch.lengths)
        events = trees.enumerate_support()
        log_p = trees.log_prob(events)
        of_root = [
            model.tree_reader.network(vectors, trees.to_parts(event), batch.lengths).root for event in events
        ]
        total = 0.0
        for row in range(2):
            label = batch.targets["label"][row, 0]
            for p, u in zip(log_p, of_root, strict=True):
                for q, v in zip(log_p, of_root, strict=True):
                    a, b = u[row], v[row + 2]
                    scores = model.compare_trees.network(torch.cat([a, b, (a - b).abs(), a * b]))
                    total = total - (p[row] + q[row + 2]).exp() * scores.log_softmax(-1)[label] / 2
        return total

    (exact,) = torch.autograd.grad(bound(), weight)
    copies = model.collate(short * 10)
    found = torch.stack([torch.autograd.grad(model.loss(copies), weight)[0] for _ in range(40)])
    error = found.std(0) / len(found) ** 0.5
    assert ((found.mean(0) - exact).abs() <= 5 * error + 1e-6).all()
    assert exact.abs().max() > error.max()


@pytest.fixture(scope="module")
def by_trees():
    return learning.learned(EntailmentModel, tree_config(), PAIRS, 60, 2e-2)[0]


def test_pictures_by_trees(by_trees):
    [picture] = by_trees.diagrams(PAIRS[:1])
    assert picture.columns == ["contradiction", "entailment", "neutral"]
    found = by_trees.structures(PAIRS[0])
    for few, forms in zip(found, [PAIRS[0].premise, PAIRS[0].hypothesis], strict=True):
        assert all(picture.forms == forms for picture in few.pictures)
        assert all(picture.heads.count(0) == 1 for picture in few.pictures)
    heaviest = {
        pair: min(
            by_trees.distribution([part]).sparsemap(20).weights.max().item() for part in by_trees.parts(pair)
        )
        for pair in PAIRS
    }
    found = [heaviest[pair] for pair in by_trees.ambiguous(PAIRS, 6)]
    assert found == pytest.approx(sorted(heaviest.values()), abs=1e-5)


def test_a_model_that_was_saved_before_its_scores_had_a_choice_divides_them(model, tmp_path):
    saved_model.save(model, tmp_path / "model")
    path = tmp_path / "model" / "config.json"
    saved = json.loads(path.read_text())
    assert saved["options"].pop("scaled_scores") is True
    path.write_text(json.dumps(saved))
    again = saved_model.load(str(tmp_path / "model"))
    assert again.config.scaled_scores
    assert list(map(str, again.predict(PAIRS, True))) == list(map(str, model.predict(PAIRS, True)))


def test_from_the_command_line(model, tmp_path, capsys):
    folder, text = str(tmp_path / "model"), tmp_path / "raw.txt"
    saved_model.save(model, tmp_path / "model")
    text.write_text("A man sleeps.\tSomebody sleeps.\n")
    assert main(["predict", folder, str(text)]) == 0
    premise, hypothesis, label = capsys.readouterr().out.rstrip().split("\t")
    assert (premise, hypothesis) == ("A man sleeps.", "Somebody sleeps.")
    assert label in ("contradiction", "entailment", "neutral")
    assert main(["show", folder, "A man sleeps.", "Somebody sleeps."]) == 0
    title, _, columns, *rows = capsys.readouterr().out.splitlines()
    assert title.startswith(label)
    assert columns.split() == ["Somebody", "sleeps", "."]
    assert [row.split()[0] for row in rows] == ["A", "man", "sleeps", "."]
    assert main(["show", folder, "A man sleeps."]) == 2
    assert "the model compares two sentences; give each in quotes" in capsys.readouterr().err
