"""The Probabilistic Transformer is the model of Wu and Tu (2023), equation by equation."""

from __future__ import annotations

import pytest
import torch
from tests.fidelity.dense_probabilistic_transformer import Model, mean_field

from strukt.nn import ProbabilisticTransformer, Updates
from strukt.tasks.common.encoder.build import build_encoder, count_vocabularies
from strukt.tasks.common.encoder.config import EncoderConfig, MeanFieldConfig

D, H, R = 4, 2, 3


def made(**options):
    torch.manual_seed(0)
    return ProbabilisticTransformer(D, H, options.pop("iterations", 2), R, **options).double()


def tables(layer, decomposition):
    """T of equations 13 and 14, ``(f, h, d, d)``, from the parameters."""
    if decomposition == "full":
        return layer.ternary.table.permute(1, 2, 0, 3)
    u = layer.ternary.left
    v = u if layer.ternary.right is None else layer.ternary.right
    if decomposition == "uv":
        return torch.einsum("afcl,bfcl->fcab", u, v)
    return torch.einsum("afl,bfl,fcl->fcab", u.squeeze(2), v.squeeze(2), layer.ternary.weights)


def require_same(layer, model, n=6):
    """Alone and in a batch, the layer gives what the equations give."""
    s = torch.randn(n, D, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    batch = torch.full((2, n + 1, D), torch.nan, dtype=torch.float64)
    batch[0, :n], batch[1] = s, 0.3
    with torch.no_grad():
        expected, out = mean_field(model, s), layer(batch, torch.tensor([n, n + 1]))
    torch.testing.assert_close(out.scores[0, :n], expected["scores"])
    torch.testing.assert_close(out.labels[0, :n], expected["labels"])
    torch.testing.assert_close(out.heads[0, :, :n, :n], expected["heads"])
    for name in ("root_heads", "features"):
        if expected[name] is not None:
            torch.testing.assert_close(getattr(out, name)[0, :, :n], expected[name])
    if layer.dependency_labels:
        torch.testing.assert_close(out.dependency_labels[0, :, :n], expected["dependency_labels"])
    if expected["root"] is not None:
        torch.testing.assert_close(out.root[0], expected["root"])
        torch.testing.assert_close(out.root_scores[0], expected["root_scores"])


@pytest.mark.thinned("distance", "options")
@pytest.mark.parametrize("distance", [0, 1, 3])
@pytest.mark.parametrize("options", [{}, {"root_labels": 3}, {"symmetric": True}, {"features": 2}])
def test_scores_of_distances_beside_one_table(options, distance):
    """Decomposition `biased`, of which each sentence is read twice: with all heads, and for labels alone."""
    layer = made(decomposition="biased", distance=distance, iterations=3, **options)
    model = Model(tables(layer, "uv"), distance, 3, distances=layer.ternary.biases / D)
    model.equation = 20 if "symmetric" in options else 16
    model.root = None if layer.root is None else layer.root.table
    if layer.features is not None:
        model.features, model.choice = layer.features.table, "single-split"
    for n in (1, 6):
        require_same(layer, model, n)
        s = torch.randn(2, n, D, dtype=torch.float64)
        expected = torch.stack([mean_field(model, each)["scores"] for each in s])
        torch.testing.assert_close(layer.label_scores(s), expected)


@pytest.mark.parametrize(
    ("labels", "channels", "distance", "decomposition", "rank", "expected"),
    [
        (384, 16, 3, "uv", 64, 6_291_456),
        (128, 12, 3, "uv", 128, 3_145_728),
        (128, 18, 3, "full", 1, 2_359_296),
        (512, 10, 3, "uv", 64, 5_242_880),
        (256, 18, 3, "uvw", 64, 271_360),
        (64, 4, 8, "uv", 16, 147_456),
    ],
)
def test_numbers_of_ternary_scores(labels, channels, distance, decomposition, rank, expected):
    """The settings of each column of Table 2."""
    layer = ProbabilisticTransformer(
        labels, channels, 1, rank, distance=distance, decomposition=decomposition
    )
    assert sum(parameter.numel() for parameter in layer.parameters()) == expected


@pytest.mark.parametrize("decomposition", ["full", "uv", "uvw"])
def test_deviations_of_new_ternary_scores(decomposition):
    """Factors start with deviation 1/sqrt(r), full tables and those of the root with 1."""
    torch.manual_seed(0)
    layer = ProbabilisticTransformer(40, 20, 1, 16, decomposition=decomposition, root_labels=9)
    for parameter in layer.ternary.parameters():
        assert parameter.std().item() == pytest.approx(1 if decomposition == "full" else 0.25, rel=0.05)
    assert layer.root.table.std().item() == pytest.approx(1, rel=0.05)


@pytest.mark.parametrize("choice", ["all-dep", "dep-split", "single-split"])
@pytest.mark.parametrize("root_labels", [0, 3])
def test_root_and_global_features(choice, root_labels):
    """Section 2.3.5, and equations 34 to 53."""
    layer = made(features=3, feature_choice=choice, root_labels=root_labels, iterations=3)
    root = None if layer.root is None else layer.root.table
    model = Model(tables(layer, "uv"), 3, 3, root=root, features=layer.features.table, choice=choice)
    require_same(layer, model)
    require_same(layer, model, n=1)


def test_deviation_of_new_global_features():
    """1/sqrt(d), as in the published code."""
    torch.manual_seed(0)
    layer = ProbabilisticTransformer(64, 4, 1, 2, features=50, feature_choice="dep-split")
    assert layer.features.table.std().item() == pytest.approx(1 / 8, rel=0.05)


@pytest.mark.parametrize("order", ["asynchronous", "synchronous"])
@pytest.mark.parametrize(("label_weight", "head_weight"), [(1.0, None), (0.4, None), (2.0, 0.3)])
def test_message_weights(order, label_weight, head_weight):
    """Equations 7, which has no weight, 11 and 12; lambda_H is 1/d by default."""
    layer = made(updates=Updates(order=order, label_weight=label_weight, head_weight=head_weight))
    model = Model(tables(layer, "uv"), 3, 2, lambda_z=label_weight, lambda_h=head_weight)
    model.asynchronous = order == "asynchronous"
    require_same(layer, model)


def test_label_scores_are_a_table():
    """Equation 1: S[w, a] is all that is read of a word, from a table that starts alike for all words."""
    torch.manual_seed(0)
    config = EncoderConfig(
        kind="pt", hidden=2, heads=H, layers=1, words=4, characters="none", affixes=0, minimum_count=1
    )
    config.pt = MeanFieldConfig(label_scores="table", rank=R)
    words = [chr(97 + i) for i in range(26)]
    encoder = build_encoder(config, count_vocabularies(config, words), None).eval()
    table = encoder.embeddings.words.weight
    ternary = 2 * 8 * H * 4 * R
    assert sum(parameter.numel() for parameter in encoder.parameters()) == table.numel() + ternary
    bound = (6 / (28 + 4)) ** 0.5  # Xavier, uniform
    assert table[1:].abs().max().item() == pytest.approx(bound, rel=0.1)
    assert table[1:].std().item() == pytest.approx(bound / 3**0.5, rel=0.15)
    scores = encoder.mean_field(encoder.inputs([["b", "a"]]), torch.tensor([2])).scores[0]
    rows = table[encoder.vocabularies["words"].indices(["b", "a"])].double()
    ternary = encoder.context.mean_field.ternary
    t = torch.einsum("afcl,bfcl->fcab", ternary.left, ternary.right).double()
    torch.testing.assert_close(
        scores.double(), mean_field(Model(t, 3, 1), rows)["scores"], rtol=1e-4, atol=1e-5
    )


@pytest.mark.parametrize("decomposition", ["full", "uv", "uvw"])
@pytest.mark.parametrize(("messages", "equation"), [("both", 16), ("doubled", 20)])
def test_two_symmetric_models(decomposition, messages, equation):
    """Equation 16 with a symmetric T, and equation 20, which is another model: Q_h is normalised by rows."""
    layer = made(symmetric=True, symmetric_messages=messages, decomposition=decomposition)
    t = tables(layer, decomposition)
    if decomposition == "full":
        t = (t + t.mT) / 2
    torch.testing.assert_close(t, t.mT)
    require_same(layer, Model(t, 3, 2, equation=equation))
    with pytest.raises(AssertionError, match="Mismatched"):
        require_same(layer, Model(t, 3, 2, equation=36 - equation))


@pytest.mark.parametrize("order", ["asynchronous", "synchronous"])
@pytest.mark.parametrize("root_labels", [0, 3])
def test_steps_and_damping(order, root_labels):
    """B.1 and B.2: the first iteration, too, mixes with the start: softmax(S), uniform heads, messages S and 0."""
    sizes = {"label_step": 0.6, "head_step": 0.7, "label_damping": 0.2, "head_damping": 0.4}
    for names in (("label_step", "head_step"), ("label_damping", "head_damping"), sizes):
        given = {name: sizes[name] for name in names}
        layer = made(root_labels=root_labels, updates=Updates(order=order, **given), iterations=1)
        root = None if layer.root is None else layer.root.table
        model = Model(tables(layer, "uv"), 3, 1, root=root, asynchronous=order == "asynchronous")
        model.alpha_z, model.alpha_h = given.get("label_step", 1.0), given.get("head_step", 1.0)
        model.beta_z, model.beta_h = given.get("label_damping", 0.0), given.get("head_damping", 0.0)
        require_same(layer, model)
        layer.iterations = model.iterations = 3
        require_same(layer, model)


@pytest.mark.parametrize("order", ["asynchronous", "synchronous"])
@pytest.mark.parametrize("decomposition", ["full", "uv", "uvw"])
def test_labels_of_dependencies(decomposition, order):
    """Section 6: a label beside each head, with a T^(c) for each value; updated after heads, before Z."""
    updates = Updates(order=order)
    layer = made(
        dependency_labels=3, decomposition=decomposition, root_labels=2, iterations=3, updates=updates
    )
    model = Model(tables(layer, decomposition), 3, 3, root=layer.root.table, relations=3)
    model.asynchronous = order == "asynchronous"
    require_same(layer, model)
    require_same(layer, model, n=1)
