"""The tasks sort and count: what is learned, how it is measured, written and drawn."""

import copy
import functools
import io

import networkx
import pytest
import torch
from tests.tasks import learning

from strukt.data import conllu, text
from strukt.data.brackets import read as read_brackets
from strukt.data.corpora import synthetic
from strukt.errors import DataError, SettingError
from strukt.nn.encoders import mask_of
from strukt.tasks import count, sort
from strukt.tasks.common import attention_pictures
from strukt.tasks.common.config import OptimizerConfig, TrainerConfig
from strukt.tasks.count.model import ChunkCounter
from strukt.tasks.sort.model import Sorter

KINDS = ["none", "dot-product", "additive", "variational", "mean-field", "mean-field, published"]
PUBLISHED = {
    "input_feeding": True, "output_context": False, "scores": "perceptron", "damping": 0.0, "tol": 1e-4,
}  # fmt: skip
LARGEST = {"sort": 4, "count": 1}
MODELS = {"sort": (Sorter, sort.Config), "count": (ChunkCounter, count.Config)}
TASKS = [(task, kind) for task in MODELS for kind in KINDS]


def sentence(words):
    return conllu.from_forms(words.split())


def corpus(task, number=60, seed=0):
    drawn = synthetic.sequences(number, shortest=1, longest=6, largest=LARGEST[task], seed=seed)
    return [conllu.from_forms(list(map(str, row))) for row in drawn]


def config(task, kind="mean-field", **options):
    kind, _, published = kind.partition(", ")
    options |= PUBLISHED if published else {}
    return MODELS[task][1](
        attention=kind,
        size=12,
        optimizer=OptimizerConfig(averaging=0),
        trainer=TrainerConfig(tokens=40),
        **options,
    )


@functools.cache
def trained_once(task, kind):
    return learning.learned(MODELS[task][0], config(task, kind), corpus(task), steps=60, rate=2e-2)


def trained(task, kind="mean-field"):
    return copy.deepcopy(trained_once(task, kind)[0])


@pytest.fixture(params=TASKS, ids="-".join)
def model(request):
    return trained(*request.param)


def numbers(model):
    return corpus(model.task, 20, seed=1)


@pytest.mark.parametrize(
    ("task", "kind"),
    [
        pytest.param(task, kind, marks=pytest.mark.slow if (task == "sort") == ("published" in kind) else ())
        for task, kind in TASKS
    ],
)
def test_it_learns(task, kind):
    model, losses = trained_once(task, kind)
    assert losses[-1] < losses[0] / 3
    scores = model.evaluate(corpus(task))
    assert model.quality(scores) > -2
    assert scores["accuracy"] > 60


def test_sweeps_end_at_the_tolerance_and_are_damped_as_asked():
    options = {"iterations": 9, "damping": 0.25, "tol": 0.125}
    attention = Sorter.from_corpus(config("sort", **options), corpus("sort")).network.network.attention
    assert {name: getattr(attention, name) for name in options} == options
    assert Sorter.from_corpus(config("sort"), corpus("sort")).network.network.attention.tol is None


@pytest.mark.parametrize("encoder", ["lstm", "bilstm", "rnn"])
def test_encoders_read_one_way_or_both(encoder):
    network = Sorter.from_corpus(config("sort", encoder=encoder), corpus("sort")).network.network
    assert network.encoder.size == {"lstm": 12, "bilstm": 24, "rnn": 12}[encoder]


def test_plain_networks_without_attention_begin_at_the_last_state():
    options = {"encoder": "rnn", "decoder": "rnn", "start": "last"}
    model = Sorter.from_corpus(config("sort", "none", **options), corpus("sort"))
    assert model.network.network.beginning is None
    kinds = {type(layer) for layer in model.modules()}
    assert torch.nn.RNN in kinds
    assert torch.nn.LSTM not in kinds
    model.loss(model.collate(corpus("sort")[:3])).backward()


@pytest.mark.parametrize("task", MODELS)
def test_random_contexts_add_their_divergence_to_the_loss(task):
    kind, _ = MODELS[task]
    sentences, losses = corpus(task), []
    for weight in (0.0, 0.5, 1.0):
        torch.manual_seed(0)
        model = kind.from_corpus(config(task, "variational", kl_weight=weight), sentences).eval()
        batch = model.collate(sentences[:4])
        losses.append(model.loss(batch).item())
    memory = model.read(batch)
    if task == "sort":
        inside = mask_of(batch.lengths, batch.inputs["words"].shape[1])
        divergence = model.network.decoded(memory, batch.targets["answer"].clamp(min=0)).divergence
        expected = divergence[inside].mean()
    else:
        expected = model.network.decoded(memory).divergence.mean()
    assert losses[2] - losses[0] == pytest.approx(expected.item(), rel=1e-4)
    assert losses[1] - losses[0] == pytest.approx(expected.item() / 2, rel=1e-4)


def test_sorting_is_measured_by_sentence_and_by_word():
    model, sentences = trained("sort"), corpus("sort", 30, seed=2)
    losses, words, exact, right = [], 0, 0, 0
    for given in sentences:
        wanted = sorted(map(int, given.forms))
        x, y = (torch.tensor([model.symbols.indices(map(str, row))]) for row in (given.forms, wanted))
        log_probs = model.network(x, torch.tensor([len(given)]), y)
        losses.append(-sum(log_probs[0, step, symbol] for step, symbol in enumerate(y[0])).item())
        (found,) = model.predict([given])
        answer = [int(note.removeprefix("sorted=")) for note in found.column("misc")]
        hits = sum(a == b for a, b in zip(answer, wanted, strict=True))
        words, right, exact = words + len(given), right + hits, exact + (hits == len(given))
    scores = model.measure(sentences).scores
    assert scores == {
        "nll": pytest.approx(sum(losses) / 30, rel=1e-4),
        "nll_word": pytest.approx(sum(losses) / words, rel=1e-4),
        "exact": pytest.approx(100 * exact / 30),
        "accuracy": pytest.approx(100 * right / words),
    }


def test_counting_is_measured_by_squares_of_errors_and_by_length():
    model, sentences = trained("count"), corpus("count", 30, seed=2)
    errors, hits, short = [], 0, []
    for given in sentences:
        wanted = "".join(given.forms).split("0")
        wanted = sum(bool(ones) for ones in wanted)
        value = model.network(
            torch.tensor([model.symbols.indices(given.forms)]), torch.tensor([len(given)])
        ).item()
        errors.append((value - wanted) ** 2)
        hits += round(value) == wanted
        short += [errors[-1]] if len(given) <= 5 else []
    measured = model.measure(sentences)
    assert measured.scores == {
        "mse": pytest.approx(sum(errors) / 30, rel=1e-3),
        "accuracy": pytest.approx(100 * hits / 30),
    }
    table = measured.details["length"]
    assert list(table) == ["1-5", "6-10"]
    assert table["1-5"]["mse"] == pytest.approx(sum(short) / len(short), rel=1e-3)
    assert table["1-5"]["gold"] + table["6-10"]["gold"] == 30
    (found,) = model.predict([sentence("1 0 1")])
    note, *others = found.column("misc")
    assert float(note.removeprefix("count=")) == pytest.approx(
        model.network(torch.tensor([[1, 0, 1]]), torch.tensor([3])).item(), abs=0.006
    )
    assert others == ["_", "_"]


def test_probabilities_of_outputs_are_noted():
    model = trained("sort")
    (found,) = model.predict([sentence("3 1 2")], probabilities=True)
    x = torch.tensor([model.symbols.indices("312")])
    greedy = model.network.greedy(model.network.read(x, torch.tensor([3])), 3)
    notes = [note.split("|")[1] for note in found.column("misc")]
    assert [float(note.removeprefix("p=")) for note in notes] == pytest.approx(
        greedy.log_probs.exp()[0].tolist(), abs=1e-4
    )


def test_a_picture_shows_attention_or_the_answer(model):
    given = numbers(model)[0]
    (picture,) = model.diagrams([given])
    (found,) = model.predict([given])
    noted = [note.split("=")[1] for note in found.column("misc") if note != "_"]
    if model.config.attention == "none":
        assert picture.values == [[float(note) for note in noted]]
        return
    assert list(picture.rows) == noted
    assert picture.columns == given.forms
    memory = model.read(model.collate([given]))
    (prediction,) = model.predictions(memory)
    torch.testing.assert_close(torch.tensor(picture.values), model.decoded(memory, prediction).weights[0])


def test_a_picture_with_probabilities_has_them_in_its_names():
    (picture,) = trained("sort").diagrams([sentence("3 1 2")], probabilities=True)
    assert all(name.endswith(")") and 0 <= float(name.split("(")[1][:-1]) <= 1 for name in picture.rows)


@pytest.mark.parametrize("kind", ["mean-field", "mean-field, published"])
@pytest.mark.parametrize("task", MODELS)
def test_pictures_of_a_step_show_what_mean_field_did(task, kind):
    model, given = trained(task, kind), sentence("1 0 1 1")
    step = 3 if task == "sort" else 1
    pictures = model.step_pictures(given, step)
    (whole,) = model.diagrams([given])
    sweeps = torch.tensor(pictures["sweeps"].values)
    assert len(sweeps) == model.config.iterations + 1 or model.config.tol
    torch.testing.assert_close(sweeps[-1], torch.tensor(whole.values[step - 1]))
    pairwise = torch.tensor(pictures["interactions"].values)
    torch.testing.assert_close(pairwise, pairwise.T)
    assert not pairwise.diagonal().any()
    # The last sweep but one led to the last one by these interactions.
    memory = model.read(model.collate([given]))
    (prediction,) = model.predictions(memory)
    query = model.decoded(memory, prediction).queries[:, step - 1 : step]
    scores = model.network.network.attention.unary(memory.keys, query)[0]
    new, old = scores + pairwise @ sweeps[-2], sweeps[-2].logit()
    kept = model.config.damping
    torch.testing.assert_close(sweeps[-1], ((1 - kept) * new + kept * old).sigmoid())
    assert pictures["tree"].forms == given.forms
    graph = pictures["graph"]
    arcs = {tuple(sorted((word, head - 1))) for word, head in enumerate(pictures["tree"].heads) if head}
    assert {edge[:2] for edge in graph.edges() if edge.in_tree} == arcs
    assert len(arcs) == len(given) - 1
    with pytest.raises(SettingError, match=r"the step is 5; expected one from 1 to [14]"):
        model.step_pictures(given, 5)
    assert trained(task, "additive").step_pictures(given, 1) == {}


@pytest.mark.parametrize("spanning", ["minimum", "maximum", "absolute"])
@pytest.mark.parametrize("n", [1, 2, 7])
def test_the_tree_is_a_spanning_tree_below_the_largest_weight(n, spanning):
    generator = torch.Generator().manual_seed(n)
    pairwise, weights = torch.randn(n, n, generator=generator), torch.rand(n, generator=generator)
    pairwise = (pairwise + pairwise.T).fill_diagonal_(0) - 1
    names = [f"w{word}" for word in range(n)]
    tree = attention_pictures.interaction_tree(names, pairwise, weights, spanning)
    if spanning == "minimum":
        assert attention_pictures.interaction_tree(names, pairwise, weights) == tree
    arcs = [(word, head - 1) for word, head in enumerate(tree.heads) if head]
    assert tree.heads[weights.argmax()] == 0
    assert len(arcs) == n - 1
    full = networkx.complete_graph(n)
    for i, j in full.edges:
        weight = pairwise[i, j].item()
        full[i][j]["weight"] = {"minimum": -weight, "maximum": weight, "absolute": abs(weight)}[spanning]
    best = networkx.maximum_spanning_tree(full)
    assert {frozenset(arc) for arc in arcs} == {frozenset(edge) for edge in best.edges}
    assert [float(tree.relations[word]) for word, _ in arcs] == [
        pytest.approx(pairwise[arc].item(), abs=0.006) for arc in arcs
    ]


@pytest.mark.parametrize(
    ("task", "line", "message"),
    [
        ("sort", "3 x", "'x' is not a whole number of up to 18 digits"),
        ("sort", "3 -1", "'-1' is not a whole number"),
        ("sort", "1.5", "'1.5' is not a whole number"),
        ("sort", "²", "'²' is not a whole number"),
        ("sort", "9" * 5000, "is not a whole number"),
        ("count", "0 1 2", "'2' is not a number from 0 to 1"),
    ],
)
def test_what_is_no_number_is_named_with_its_line(task, line, message):
    kind, _ = MODELS[task]
    sentences = list(text.read(io.BytesIO(f"0 1\n{line}\n".encode())))
    with pytest.raises(DataError, match=message) as caught:
        kind.trainable(config(task), sentences)
    assert caught.value.line == 2
    model = trained(task)
    for judge in (
        model.evaluate,
        lambda given: list(model.predict(given)),
        lambda given: model.collate(given),
    ):
        with pytest.raises(DataError, match=message):
            judge(sentences)


def test_numbers_that_were_not_learned_are_named():
    (given,) = text.read(io.BytesIO(b"1 77\n"))
    with pytest.raises(DataError, match="the model does not know the number 77; give one of its training"):
        trained("sort").require_annotated(given)


def test_trees_have_no_place_for_answers():
    (given,) = read_brackets(io.BytesIO(b"(S (CD 1) (CD 0))\n"))
    for task in MODELS:
        with pytest.raises(DataError, match="no"):
            next(trained(task).predict([given]))


def test_the_answers_follow_from_the_words():
    assert synthetic.chunks([]) == 0
    model = trained("count")
    for given in corpus("count", 50, seed=3):
        ones = "".join(given.forms).split("0")
        assert model.collate([given]).targets["answer"].item() == sum(map(bool, ones))
    model = trained("sort")
    batch = model.collate([sentence("4 0 3 0"), sentence("2 1")])
    assert batch.targets["answer"].tolist() == [[0, 0, 3, 4], [1, 2, -1, -1]]
    assert mask_of(batch.lengths, 4).sum() == 6


def test_numbers_with_zeros_in_front_are_the_same_numbers():
    model = Sorter.from_corpus(config("sort"), [sentence("007 10 9")])
    assert model.symbols.symbols == ("7", "9", "10")
