"""Graph convolutions over trees against loops over nodes, and at the edges."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.func import functional_call

from strukt.distributions import NonProjectiveTree
from strukt.nn import TreeGCN
from strukt.nn.encoders import mask_of

SIZE, HIDDEN = 3, 4


def made(layers=1, seed=0, **options):
    torch.manual_seed(seed)
    model = TreeGCN(SIZE, HIDDEN, layers, **options).double()
    torch.nn.init.normal_(model.root)
    return model


def by_loops(model, vectors, arcs):
    """The formula of a layer for one sentence, node by node; node 0 is the root."""
    n = len(vectors)
    nodes = [model.root, *vectors]
    for layer in model.layers:
        w_self, w_up, w_down = layer.weight.chunk(3, 1)
        above = []
        for m in range(n + 1):
            total = w_self @ nodes[m] + layer.bias
            if m:
                for h in range(n + 1):
                    total = total + arcs[m - 1, h] * (w_up @ nodes[h])
            for k in range(1, n + 1):
                total = total + arcs[k - 1, m] * (w_down @ nodes[k])
            above.append(total.relu())
        nodes = above
    return torch.stack(nodes)[1:]


def batch_of(lengths, hard=False, seed=0, filler=torch.nan):
    """Vectors, arcs (marginals of trees, or the best ones) and lengths, with the filler in the padding."""
    torch.manual_seed(seed)
    n = max(lengths, default=0)
    lengths = torch.tensor(lengths, dtype=torch.long)
    distribution = NonProjectiveTree(torch.randn(len(lengths), n, n + 1).double(), lengths)
    arcs = distribution.to_parts(distribution.mode) if hard else distribution.marginals
    inside, nodes = mask_of(lengths, n), mask_of(lengths + 1, n + 1)
    vectors = torch.randn(len(lengths), n, SIZE, dtype=torch.float64)
    return (
        vectors.masked_fill(~inside.unsqueeze(-1), filler),
        arcs.masked_fill(~(inside.unsqueeze(-1) & nodes.unsqueeze(-2)), filler),
        lengths,
    )


@given(
    st.lists(st.integers(0, 5), min_size=1, max_size=3),
    st.booleans(),
    st.integers(1, 3),
    st.integers(0, 100),
)
@settings(max_examples=40)
def test_every_layer_is_the_formula(sizes, hard, layers, seed):
    model = made(layers, seed)
    vectors, arcs, lengths = batch_of(sizes, hard, seed)
    found = model(vectors, arcs, lengths)
    assert found.shape == (len(sizes), max(sizes), HIDDEN)
    for item, n in enumerate(sizes):
        sentence, heads = vectors[item : item + 1, :n], arcs[item : item + 1, :n, : n + 1]
        if n:
            torch.testing.assert_close(found[item, :n], by_loops(model, sentence[0], heads[0]))
        torch.testing.assert_close(found[item, :n], model(sentence, heads, lengths[item : item + 1])[0])
        assert not found[item, n:].any()


def test_derivatives_of_first_and_second_order():
    model = made(layers=2)
    vectors, arcs, lengths = batch_of([3, 0, 2], filler=0.5)
    names = [name for name, _ in model.named_parameters()]

    def outputs(vectors, arcs, *parameters):
        return functional_call(model, dict(zip(names, parameters, strict=True)), (vectors, arcs, lengths))

    leaves = [tensor.detach().clone().requires_grad_() for tensor in (vectors, arcs, *model.parameters())]
    assert torch.autograd.gradcheck(outputs, leaves)
    assert torch.autograd.gradgradcheck(outputs, leaves, fast_mode=True)


@pytest.mark.parametrize("filler", [torch.nan, 7.0])
def test_what_stands_in_the_padding_changes_nothing_forwards_or_backwards(filler):
    model, results = made(layers=2), []
    for value in (0.0, filler):
        vectors, arcs, lengths = batch_of([4, 0, 2], filler=value)
        leaves = [vectors.requires_grad_(), arcs.requires_grad_(), *model.parameters()]
        found = model(vectors, arcs, lengths)
        results.append([found, *torch.autograd.grad(found.square().sum(), leaves)])
    for expected, found in zip(*results, strict=True):
        torch.testing.assert_close(found, expected)
    of_vectors, of_arcs = results[1][1:3]
    for item, n in enumerate([4, 0, 2]):
        assert not of_vectors[item, n:].any()
        assert not of_arcs[item, n:].any()
        assert not of_arcs[item, :, n + 1 :].any()


def test_what_is_projected_once_is_read_with_several_trees():
    vectors, arcs, lengths = batch_of([4, 0, 2])
    items = torch.tensor([0, 0, 1, 2, 2])
    other = arcs.index_select(0, items) * torch.rand(5, 1, 1).double()
    for model in (made(), made(layers=3)):
        found = model.read(model.project(vectors, lengths)[items], other, lengths[items])
        torch.testing.assert_close(found, model(vectors[items], other, lengths[items]))


def test_dropout_is_between_layers_and_for_training_only():
    inputs = batch_of([4, 2])
    one = made(dropout=0.5)
    assert torch.equal(one(*inputs), one.eval()(*inputs))
    two = made(layers=2, dropout=0.5)
    assert not torch.equal(two(*inputs), two(*inputs))
    two.eval()
    assert torch.equal(two(*inputs), two(*inputs))


def test_empty_sentences_and_empty_batches():
    model = made(layers=2)
    assert model(*batch_of([0, 0])).shape == (2, 0, HIDDEN)
    nothing = (
        torch.zeros(0, 3, SIZE).double(),
        torch.zeros(0, 3, 4).double(),
        torch.zeros(0, dtype=torch.long),
    )
    assert model(*nothing).shape == (0, 3, HIDDEN)


def test_settings_and_shapes_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match=r"p is .*; expected a probability in \[0, 1\)"):
        TreeGCN(SIZE, HIDDEN, dropout=1.0)
    vectors, arcs, lengths = torch.zeros(1, 2, SIZE).double(), torch.zeros(1, 2, 3), torch.tensor([2])
    with pytest.raises(ValueError, match=r"vectors has shape \(1, 2, 2\); expected \(batch, n, 3\)"):
        made()(vectors[..., :2], arcs, lengths)
    with pytest.raises(ValueError, match=r"arcs has shape \(1, 2, 2\); expected .* here \(1, 2, 3\)"):
        made()(vectors, arcs[..., :2], lengths)
    with pytest.raises(ValueError, match=r"projected has shape \(1, 2, 3\); expected \(batch, n \+ 1, 12\)"):
        made().read(vectors, arcs, lengths)
