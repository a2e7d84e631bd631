"""Every variant of the Probabilistic Transformer against its equations written out, and at the edges."""

from __future__ import annotations

import itertools

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from safetensors.torch import load_file, save_file
from tests.nn import dense_mean_field

from strukt.nn import ProbabilisticTransformer, Updates

LABELS = 4

DECOMPOSITIONS = ["full", "uv", "uvw", "weighted", "biased"]


def made(seed=0, iterations=2, **options):
    torch.manual_seed(seed)
    model = ProbabilisticTransformer(LABELS, 2, iterations, 3, **options).double()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(0.7)
    return model


def require_same(model, n=5, seed=0):
    """One sentence alone and in a batch with longer ones gives what the equations say."""
    scores = torch.randn(n, LABELS, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    message, labels, heads, choices, root = dense_mean_field.encode(model, scores)
    batch = torch.full((2, n + 2, LABELS), torch.nan, dtype=torch.float64)
    batch[0, :n], batch[1] = scores, 0.5
    found = model(batch, torch.tensor([n, n + 2]))
    torch.testing.assert_close(found.scores[0, :n], message)
    torch.testing.assert_close(found.labels[0, :n], labels)
    torch.testing.assert_close(found.heads[0, :, :n, :n], heads[..., :n])
    torch.testing.assert_close(model.label_scores(batch, torch.tensor([n, n + 2])), found.scores)
    assert not found.heads[0, :, n:].any()
    assert not found.labels[0, n:].any()
    if model.root is not None:
        torch.testing.assert_close(found.root[0], root)
        torch.testing.assert_close(found.root_heads[0, :, :n], heads[..., n])
    if model.features is not None:
        chosen = heads[..., -model.features.count :] if choices is None else choices
        torch.testing.assert_close(found.features[0, :, :n], chosen)


@pytest.mark.parametrize("distance", [None, 0, 1, 3])
@pytest.mark.parametrize("decomposition", DECOMPOSITIONS)
def test_decompositions_and_distances(decomposition, distance):
    for shared in (False, True):
        require_same(made(decomposition=decomposition, distance=distance, shared=shared), n=6)


@given(st.data())
def test_all_variants_together(data):
    def one_of(*values):
        return data.draw(st.sampled_from(values))

    updates = Updates(
        order=one_of("asynchronous", "synchronous"),
        label_weight=one_of(1.0, 0.7),
        head_weight=one_of(None, 0.5),
        label_step=one_of(1.0, 0.6),
        head_step=one_of(1.0, 0.3),
        label_damping=one_of(0.0, 0.4),
        head_damping=one_of(0.0, 0.2),
        normaliser=one_of("softmax", "relu"),
        weighted_start=one_of(False, True),
    )
    root_labels = one_of(0, 3)
    model = made(
        data.draw(st.integers(0, 99)),
        iterations=one_of(1, 3),
        decomposition=one_of(*DECOMPOSITIONS),
        distance=one_of(None, 1, 2),
        shared=one_of(False, True),
        symmetric=one_of(False, True),
        symmetric_messages=one_of("doubled", "both"),
        causal=one_of(False, True) if not root_labels else False,
        tells_heads=one_of(True, False),
        root_labels=root_labels,
        features=one_of(0, 2),
        feature_choice=one_of("all-dep", "dep-split", "single-split"),
        updates=updates,
    )
    require_same(model, n=data.draw(st.integers(1, 5)))


@pytest.mark.parametrize("root_labels", [0, 2])
def test_nothing_at_all(root_labels):
    model = made(root_labels=root_labels)
    for shape in ((0, 3), (2, 0), (0, 0)):
        found = model(torch.zeros(*shape, LABELS, dtype=torch.float64))
        assert found.labels.shape == (*shape, LABELS)
        assert found.heads.shape == (shape[0], 2, shape[1], shape[1])
    found = model(torch.full((1, 3, LABELS), torch.nan, dtype=torch.float64), torch.tensor([0]))
    assert not any(part.any() for part in (found.scores, found.labels, found.heads))


@pytest.mark.thinned("options", "decomposition", "causal")
@pytest.mark.parametrize("options", [{}, {"features": 2}, {"features": 2, "feature_choice": "all-dep"}])
@pytest.mark.parametrize("decomposition", DECOMPOSITIONS)
@pytest.mark.parametrize("causal", [True, False])
def test_only_causal_models_see_nothing_to_the_right(options, decomposition, causal):
    model = made(causal=causal, decomposition=decomposition, iterations=3, **options)
    scores, others = torch.randn(2, 1, 6, LABELS, dtype=torch.float64)
    changed = torch.cat([scores[:, :4], others[:, 4:]], 1)
    before, after = model(scores), model(changed)
    assert torch.allclose(before.scores[:, :4], after.scores[:, :4]) == causal
    assert torch.allclose(before.heads[:, :, :4, :4], after.heads[:, :, :4, :4]) == causal
    assert not torch.allclose(before.scores[:, 5], after.scores[:, 5])


@pytest.mark.parametrize("decomposition", DECOMPOSITIONS)
def test_a_backward_pass_may_stand_within_autocast(decomposition):
    model = made(decomposition=decomposition).float()
    scores = torch.randn(2, 6, LABELS, requires_grad=True)
    with torch.autocast("cpu", torch.bfloat16):
        (inside,) = torch.autograd.grad(model.label_scores(scores).square().sum(), scores)
    (expected,) = torch.autograd.grad(model.label_scores(scores).square().sum(), scores)
    assert torch.allclose(inside, expected, atol=0.1 * expected.abs().max().item())


@pytest.mark.parametrize("decomposition", DECOMPOSITIONS)
def test_symmetric_models_can_be_saved(decomposition, tmp_path):
    """Files of tensors want each to have one name."""
    model, other = (made(seed, symmetric=True, decomposition=decomposition) for seed in (0, 1))
    save_file(model.state_dict(), tmp_path / "weights.safetensors")
    other.load_state_dict(load_file(tmp_path / "weights.safetensors"))
    scores = torch.randn(1, 3, LABELS, dtype=torch.float64)
    torch.testing.assert_close(other(scores).scores, model(scores).scores)


@pytest.mark.parametrize("decomposition", ["uv", "full"])
def test_the_symmetric_model_is_attention_with_tied_projections(decomposition):
    model = made(symmetric=True, distance=None, decomposition=decomposition, iterations=1)
    queries, values, scale = model.tied_attention()
    scores = torch.randn(3, 5, LABELS, dtype=torch.float64)
    labels = scores.softmax(-1)
    q, v = (torch.einsum("bnd,hdr->bhnr", labels, factor) for factor in (queries, values))
    others = ~torch.eye(5, dtype=torch.bool)
    attention = torch.nn.functional.scaled_dot_product_attention
    attended = attention(q, v, v, attn_mask=others, scale=scale.item())
    output = 2 * torch.einsum("bhnr,hdr->bnd", attended, queries)
    torch.testing.assert_close(model(scores).scores, scores + output)
    tables = model.ternary.tables()
    torch.testing.assert_close(tables, tables.mT)


@pytest.mark.parametrize("decomposition", DECOMPOSITIONS)
def test_the_penalty_is_that_of_the_tables(decomposition):
    for distance, shared, symmetric in itertools.product((None, 2), (False, True), (False, True)):
        options = {"distance": distance, "shared": shared, "symmetric": symmetric}
        model = made(decomposition=decomposition, **options)
        torch.testing.assert_close(model.penalty(), model.ternary.tables().square().sum())


@pytest.mark.parametrize("decomposition", DECOMPOSITIONS)
def test_gradients(decomposition):
    options = {"root_labels": 2, "features": 2, "feature_choice": "all-dep"}
    model = made(decomposition=decomposition, distance=1, iterations=1, **options)
    names, values = zip(*model.named_parameters(), strict=True)
    scores = torch.randn(1, 4, LABELS, dtype=torch.float64, requires_grad=True)

    def outputs(scores, *parameters):
        given_ = dict(zip(names, parameters, strict=True))
        found = torch.func.functional_call(model, given_, (scores, torch.tensor([3])))
        return found.scores, found.heads, found.root

    assert torch.autograd.gradcheck(outputs, (scores, *values), fast_mode=True)
    assert torch.autograd.gradgradcheck(outputs, (scores, *values), fast_mode=True)


def test_dropout_is_for_training_only():
    model = made(dropout=0.5)
    scores = torch.randn(2, 5, LABELS, dtype=torch.float64)
    assert not torch.equal(model(scores).scores, model(scores).scores)
    model.eval()
    assert torch.equal(model(scores).scores, model(scores).scores)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"labels": 0}, "labels is 0; expected at least 1"),
        ({"rank": 0}, "rank is 0"),
        ({"root_labels": -1}, "root_labels is -1; expected at least 0"),
        ({"features": -2}, "features is -2; expected at least 0"),
        (
            {"causal": True, "root_labels": 2},
            "root_labels is 2 in a causal model; expected 0",
        ),
        ({"distance": -1}, "distance is -1; expected at least 0, or None"),
        ({"distance": 1.5}, r"distance is 1\.5; expected at least 0, or None"),
        ({"root_labels": 1.5}, r"root_labels is 1\.5; expected at least 0, a whole number"),
        ({"symmetric_messages": "one"}, "symmetric_messages is 'one'; expected doubled or both"),
        ({"decomposition": "svd"}, "decomposition is 'svd'; expected full, uv"),
        ({"feature_choice": "none"}, "feature_choice is 'none'; expected all-dep"),
    ],
)
def test_options_that_cannot_be(options, message):
    with pytest.raises(ValueError, match=message):
        ProbabilisticTransformer(**({"labels": 3} | options))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"label_step": 0.0}, "label_step is 0.0; expected a number above 0"),
        ({"head_damping": 1.0}, "head_damping is 1.0; expected a number from 0 to below 1"),
        ({"head_weight": 0.0}, "head_weight is 0.0; expected more than 0"),
        ({"order": "random"}, "order is 'random'; expected asynchronous"),
        ({"normaliser": "max"}, "normaliser is 'max'; expected softmax"),
    ],
)
def test_updates_that_cannot_be(options, message):
    with pytest.raises(ValueError, match=message):
        Updates(**options)


def test_scores_of_another_size():
    with pytest.raises(ValueError, match=r"scores has shape \(2, 3\); expected \(batch, n, 4\)"):
        made()(torch.zeros(2, 3))


@pytest.mark.parametrize("decomposition", DECOMPOSITIONS)
def test_under_autocast_mean_field_is_that_of_float32(decomposition):
    torch.manual_seed(0)
    model = ProbabilisticTransformer(6, 2, 2, 3, decomposition=decomposition, root_labels=3, features=2)
    scores, lengths = torch.randn(2, 7, 6), torch.tensor([7, 3])
    expected = model(scores, lengths)
    with torch.autocast("cpu", torch.bfloat16):
        found = model(scores, lengths)
        rounded = model(scores.bfloat16(), lengths)
    torch.testing.assert_close(found.heads, expected.heads)
    assert rounded.scores.dtype == torch.float32
    found.scores.square().sum().backward()
    assert all(parameter.grad.dtype == torch.float32 for parameter in model.ternary.parameters())
