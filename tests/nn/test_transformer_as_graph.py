"""The Probabilistic Transformer is mean field of a factor graph, which the graph's own solver finds, too."""

from __future__ import annotations

import itertools
from typing import NamedTuple

import pytest
import torch
from tests.nn import dense_mean_field

from strukt import FactorGraph
from strukt.factor_graph import factors
from strukt.factor_graph.variables import Variables
from strukt.nn import ProbabilisticTransformer, Updates

LABELS, HEAD_WEIGHT, LABEL_WEIGHT = 4, 0.5, 0.8


def made(iterations=3, **options):
    torch.manual_seed(0)
    model = ProbabilisticTransformer(LABELS, 2, iterations, 3, **options).double()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(0.7)
    return model


class Model(NamedTuple):
    """The graph of a model and its variables: those of heads are the other words, the root, and features."""

    graph: FactorGraph
    labels: Variables
    heads: Variables
    choices: Variables | None
    root: Variables | None

    @property
    def beside_labels(self):
        """The variables that tell labels."""
        return [part for part in (self.heads, self.choices) if part is not None]

    @property
    def arrays(self):
        return [part for part in (self.labels, self.heads, self.choices, self.root) if part is not None]


def graph_of(model, n):
    """Labels of words, heads in each channel, features if they are chosen apart from these, the root's label."""
    tables, h = dense_mean_field.pair_tables(model, n).detach(), model.channels
    of_distances = dense_mean_field.head_scores(model, n).detach()
    features = 0 if model.features is None else model.features.count
    among, apart = (features, 0) if model.among_heads else (0, features)
    graph = FactorGraph()
    labels = graph.variables(n, LABELS)
    heads = graph.variables(h, n, n - 1 + (model.root is not None) + among)
    choices = graph.variables(model.features.channels, n, features) if apart else None
    root = graph.variables(model.root.labels) if model.root is not None else None
    for group in (*labels, *heads.reshape(-1, heads.shape[-1])):
        graph.add(factors.Xor(group))
    for i, c in itertools.product(range(n), range(h)):
        scores = torch.zeros(LABELS, heads.shape[-1], dtype=torch.float64)
        for place, j in enumerate(j for j in range(n) if j != i):
            table = torch.zeros(LABELS, LABELS, heads.shape[-1], dtype=torch.float64)
            table[:, :, place] = tables[i, j, c]
            graph.add(factors.Dense([labels[i], labels[j], heads[c, i]], table))
            scores[:, place] = of_distances[c, i, j]
        if root is not None:
            table = torch.zeros(LABELS, model.root.labels, heads.shape[-1], dtype=torch.float64)
            table[:, :, n - 1] = model.root.table[c].detach()
            graph.add(factors.Dense([labels[i], root, heads[c, i]], table))
        if among:
            scores[:, -features:] = model.features.table[c].detach().T
        if scores.any():
            graph.add(factors.Dense([labels[i], heads[c, i]], scores))
    if choices is not None:
        for i, c in itertools.product(range(n), range(choices.shape[0])):
            graph.add(factors.Xor(choices[c, i]))
            scores = model.features.table[c].detach().T.contiguous()
            graph.add(factors.Dense([labels[i], choices[c, i]], scores))
    if root is not None:
        graph.add(factors.Xor(root))
    return Model(graph, labels, heads, choices, root)


def settings_of(graph: Model, of_labels: float, of_heads: float, shared_choice: bool = False):
    """A setting of labels, the root among them, and one of heads, in the shapes of all variables."""
    given = [torch.full(part.shape, of_labels, dtype=torch.float64) for part in graph.arrays]
    for number, part in enumerate(graph.arrays):
        if any(part is other for other in graph.beside_labels):
            given[number].fill_(of_heads)
        if part is graph.choices and shared_choice:
            given[number].fill_(1.0)
    return given


def require_same(model, n=4):
    updates, graph = model.updates, graph_of(model, n)
    scores = torch.randn(n, LABELS, dtype=torch.float64)
    given_ = (scores, *(torch.zeros(part.shape, dtype=torch.float64) for part in graph.arrays[1:]))
    labels = [part.flatten() for part in (graph.labels, graph.root) if part is not None]
    schedule = "parallel"
    if updates.order == "asynchronous":
        schedule = [[part.flatten() for part in graph.beside_labels], labels]
    expected = dict(
        zip(
            ("labels", "heads", *(("choices",) if graph.choices is not None else ()), "root"),
            graph.graph.mean_field(
                given_, schedule=schedule, iterations=model.iterations, tol=None,
                weights=settings_of(graph, LABEL_WEIGHT, HEAD_WEIGHT, model.shared_choice),
                step_size=settings_of(graph, updates.label_step, updates.head_step),
                damping=settings_of(graph, updates.label_damping, updates.head_damping),
            ).marginals,
            strict=False,
        )
    )  # fmt: skip
    found = model(scores.unsqueeze(0))
    torch.testing.assert_close(found.labels[0], expected["labels"])
    others = ~torch.eye(n, dtype=torch.bool)
    torch.testing.assert_close(
        found.heads[0][:, others].reshape(model.channels, n, n - 1), expected["heads"][..., : n - 1]
    )
    if model.root is not None:
        torch.testing.assert_close(found.root_heads[0], expected["heads"][..., n - 1])
        torch.testing.assert_close(found.root[0], expected["root"])
    if model.features is not None:
        apart = (
            expected["choices"]
            if "choices" in expected
            else expected["heads"][..., -found.features.shape[-1] :]
        )
        torch.testing.assert_close(found.features[0], apart)


def updates_of(order, *settings):
    return Updates(order, LABEL_WEIGHT, HEAD_WEIGHT, *settings, weighted_start=True)


@pytest.mark.parametrize("order", ["asynchronous", "synchronous"])
@pytest.mark.parametrize("damping", [(0.0, 0.0), (0.3, 0.1)])
@pytest.mark.parametrize("steps", [(1.0, 1.0), (0.6, 0.9)])
def test_the_course_is_that_of_the_graph(order, damping, steps):
    require_same(made(root_labels=2, distance=1, updates=updates_of(order, *steps, *damping)))


@pytest.mark.thinned("order", "choice")
@pytest.mark.parametrize("order", ["asynchronous", "synchronous"])
@pytest.mark.parametrize("choice", ["all-dep", "dep-split", "single-split"])
@pytest.mark.parametrize(
    ("decomposition", "distance", "root_labels"),
    [("full", 2, 0), ("uv", None, 3), ("uvw", 1, 0), ("weighted", 2, 2), ("biased", 1, 2)],
)
def test_every_decomposition_and_choice_is_a_graph(order, choice, decomposition, distance, root_labels):
    options = {"distance": distance, "decomposition": decomposition, "root_labels": root_labels}
    require_same(made(features=2, feature_choice=choice, updates=updates_of(order), **options))
