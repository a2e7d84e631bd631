"""The TreeLSTM against its equations, node by node, and at the edges."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.func import functional_call

from strukt.distributions import NonProjectiveTree
from strukt.nn import ChildSumTreeLSTM
from strukt.nn.encoders import mask_of

SIZE, HIDDEN = 3, 2


def made(seed=0):
    torch.manual_seed(seed)
    model = ChildSumTreeLSTM(SIZE, HIDDEN).double()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_()
    return model


def parts(heads, n=None):
    """0/1 parts `(1, n, n + 1)` of a tree."""
    arcs = torch.zeros(1, n or len(heads), (n or len(heads)) + 1, dtype=torch.float64)
    for word, head in enumerate(heads):
        arcs[0, word, head] = 1
    return arcs


@st.composite
def trees(draw, longest=6):
    """Heads: each word has a head earlier in some order; any number of words hang on the root."""
    order = draw(st.permutations(range(1, draw(st.integers(0, longest)) + 1)))
    heads = [0] * len(order)
    for place, word in enumerate(order):
        heads[word - 1] = draw(st.sampled_from([0, *order[:place]]))
    return heads


def by_recursion(model, vectors, heads, values):
    """Equations 2 to 8 of Tai et al. (2015) for one tree: the states of its words, and of its root."""
    w_f, w_i, w_o, w_u = model.inputs.weight.chunk(4)
    b_f, b_i, b_o, b_u = model.inputs.bias.chunk(4)
    u_f = model.forget.weight
    u_i, u_o, u_u = model.gates.weight.chunk(3)
    found = {}

    def read(node):
        x = vectors[node - 1] if node else model.root
        dependents = [word for word, head in enumerate(heads, 1) if head == node]
        states = {k: [values[k - 1] * state for state in read(k)] for k in dependents}
        total = sum((h for h, _ in states.values()), torch.zeros(HIDDEN, dtype=x.dtype))
        i = torch.sigmoid(w_i @ x + u_i @ total + b_i)
        o = torch.sigmoid(w_o @ x + u_o @ total + b_o)
        u = torch.tanh(w_u @ x + u_u @ total + b_u)
        c = i * u
        for h_k, c_k in states.values():
            c = c + torch.sigmoid(w_f @ x + u_f @ h_k + b_f) * c_k
        found[node] = o * torch.tanh(c)
        return found[node], c

    read(0)
    return torch.stack([found[node] for node in range(len(heads) + 1)])


def batch_of(all_heads, seed=0, filler=torch.nan):
    """Vectors, arcs and lengths of a batch of trees, with the filler in the padding."""
    torch.manual_seed(seed)
    n = max(map(len, all_heads), default=0)
    lengths = torch.tensor([len(heads) for heads in all_heads], dtype=torch.long)
    inside = mask_of(lengths, n)
    nodes = mask_of(lengths + 1, n + 1)
    arcs = torch.cat([parts(heads, n) for heads in all_heads])
    vectors = torch.randn(len(all_heads), n, SIZE, dtype=torch.float64)
    return (
        vectors.masked_fill(~inside.unsqueeze(-1), filler),
        arcs.masked_fill(~(inside.unsqueeze(-1) & nodes.unsqueeze(-2)), filler),
        lengths,
    )


@given(st.lists(trees(), min_size=1, max_size=4), st.integers(0, 100))
def test_batches_of_trees_are_read_as_by_the_equations(all_heads, seed):
    model = made(seed)
    vectors, arcs, lengths = batch_of(all_heads, seed)
    words, root = model(vectors, arcs, lengths)
    for item, heads in enumerate(all_heads):
        n = len(heads)
        expected = by_recursion(model, vectors[item], heads, torch.ones(n))
        torch.testing.assert_close(root[item], expected[0])
        torch.testing.assert_close(words[item, :n], expected[1:])
        assert not words[item, n:].any()
        alone = model(
            vectors[item : item + 1, :n], arcs[item : item + 1, :n, : n + 1], lengths[item : item + 1]
        )
        torch.testing.assert_close(alone.root[0], root[item])
        torch.testing.assert_close(alone.words[0], words[item, :n])


@given(trees(), st.integers(0, 100))
@settings(max_examples=30)
def test_gradients_are_those_of_the_equations_with_states_multiplied_by_arcs(heads, seed):
    model, n = made(seed), len(heads)
    vectors, arcs, lengths = batch_of([heads, [0] * (n + 2)], seed)
    vectors.requires_grad_()
    arcs.requires_grad_()
    weights = torch.randn(n + 1, HIDDEN, dtype=torch.float64)
    words, root = model(vectors, arcs, lengths)
    loss = (weights[0] * root[0]).sum() + (weights[1:] * words[0, :n]).sum()
    values = torch.ones(n, dtype=torch.float64, requires_grad=True)
    expected_loss = (weights * by_recursion(model, vectors[0], heads, values)).sum()
    leaves = [vectors, *model.parameters()]
    found = torch.autograd.grad(loss, [*leaves, arcs], retain_graph=True)
    expected = torch.autograd.grad(
        expected_loss, [*leaves, values], allow_unused=True, materialize_grads=True
    )
    torch.testing.assert_close(found[:-1], expected[:-1])
    of_arcs = parts(heads, n + 2)[0]
    of_arcs[:n][of_arcs[:n] == 1] = expected[-1]
    torch.testing.assert_close(found[-1][0], of_arcs)
    assert not found[-1][1].any()  # the other item


def test_a_value_other_than_one_scales_what_a_dependent_says():
    model = made()
    vectors, arcs, lengths = batch_of([[2, 0, 2]])
    values = torch.tensor([0.3, -1.5, 0.8], dtype=torch.float64)
    found = model(vectors, arcs * values.unsqueeze(-1), lengths)
    expected = by_recursion(model, vectors[0], [2, 0, 2], values)
    torch.testing.assert_close(found.root[0], expected[0])
    torch.testing.assert_close(found.words[0], expected[1:])


def test_derivatives_of_second_order():
    model = made()
    vectors, arcs, lengths = batch_of([[2, 0, 2], [], [0]], filler=0.5)
    names = [name for name, _ in model.named_parameters()]
    used = arcs == 1
    values = arcs[used]

    def states(vectors, values, *parameters):
        found = functional_call(
            model,
            dict(zip(names, parameters, strict=True)),
            (vectors, arcs.masked_scatter(used, values), lengths),
        )
        return tuple(found)

    given_tensors = [
        tensor.detach().clone().requires_grad_() for tensor in (vectors, values, *model.parameters())
    ]
    assert torch.autograd.gradgradcheck(states, given_tensors, fast_mode=True)


@pytest.mark.parametrize("filler", [torch.nan, 7.0])
def test_what_stands_in_the_padding_changes_nothing_forwards_or_backwards(filler):
    model, results = made(), []
    for value in (0.0, filler):
        vectors, arcs, lengths = batch_of([[2, 0, 2, 3], [0], [], [0, 1]], filler=value)
        leaves = [vectors.requires_grad_(), arcs.requires_grad_(), *model.parameters()]
        words, root = model(vectors, arcs, lengths)
        results.append([words, root, *torch.autograd.grad(words.square().sum() + root.sum(), leaves)])
    for expected, found in zip(*results, strict=True):
        torch.testing.assert_close(found, expected)
    of_vectors, of_arcs = results[1][2:4]
    assert not of_vectors[1, 1:].any()
    assert not of_arcs[1, 1:].any()
    assert not of_arcs[1, :, 2:].any()


def test_trees_without_words_are_their_roots():
    model = made()
    alone = by_recursion(model, torch.zeros(0, SIZE), [], [])[0]
    words, root = model(*batch_of([[], []]))
    assert words.shape == (2, 0, HIDDEN)
    torch.testing.assert_close(root, alone.expand(2, -1))
    empty = torch.zeros(0, 4, SIZE).double(), torch.zeros(0, 4, 5), torch.zeros(0, dtype=torch.long)
    words, root = model(*empty)
    assert words.shape == (0, 4, HIDDEN)
    assert root.shape == (0, HIDDEN)


@pytest.mark.parametrize("heads", [list(range(300)), [0] * 300, [*range(2, 301), 0]])
def test_deep_and_broad_trees(heads):
    model = made().float()
    vectors = torch.randn(1, 300, SIZE, requires_grad=True)
    root = model(vectors, parts(heads), torch.tensor([300])).root
    root.sum().backward()
    assert root.isfinite().all()
    assert (vectors.grad[0, heads.index(0)] != 0).all()


def test_cycles_are_refused():
    model, vectors = made(), torch.randn(2, 3, SIZE).double()
    for heads, word in (([0, 3, 2], 2), ([1, 0, 0], 1), ([2, 3, 1], 1), ([0, 1, 3], 3)):
        arcs = torch.cat([parts([0, 1, 2]), parts(heads)])
        text = rf"batch item 1 are not a tree: word {word} does not reach .* heads \[{heads[0]}, {heads[1]}"
        with pytest.raises(ValueError, match=text):
            model(vectors, arcs, torch.tensor([3, 3]))
    model(vectors, arcs, torch.tensor([3, 2]))  # the cycle is in the padding


def test_what_is_projected_once_is_read_with_several_trees():
    model, vectors, lengths = made(), torch.randn(2, 3, SIZE).double(), torch.tensor([3, 2])
    vectors[1, 2] = torch.nan
    items = torch.tensor([0, 0, 1])
    arcs = torch.cat([parts([0, 1, 2]), parts([2, 0, 2]), parts([2, 0], 3)])
    found = model.read(model.project(vectors, lengths)[items], arcs, lengths[items])
    expected = model(vectors[items], arcs, lengths[items])
    torch.testing.assert_close(found.root, expected.root)
    torch.testing.assert_close(found.words, expected.words)
    found.root.sum().backward()
    assert model.inputs.weight.grad.isfinite().all()


def test_soft_arcs_and_words_without_heads_are_refused():
    model, vectors = made(), torch.randn(2, 3, SIZE).double()
    lengths = torch.tensor([3, 2])
    trees = NonProjectiveTree(torch.zeros(2, 3, 4), lengths)
    with pytest.raises(
        ValueError, match=r"3 heads .* word 1 of batch item 0, among .*one head for each.*use TreeGCN"
    ):
        model(vectors, trees.marginals, lengths)
    with pytest.raises(ValueError, match="0 heads of non-zero value for word 2 of batch item 1"):
        model(
            vectors, torch.cat([parts([0, 1, 2]), parts([0, 3, 1])]), lengths
        )  # its head is beyond the length


def test_shapes_that_do_not_fit_are_refused():
    model, lengths = made(), torch.tensor([2])
    vectors, arcs = torch.zeros(1, 2, SIZE), torch.zeros(1, 2, 3)
    with pytest.raises(ValueError, match=r"vectors has shape \(1, 2, 4\); expected \(batch, n, 3\)"):
        model(torch.zeros(1, 2, 4), arcs, lengths)
    with pytest.raises(ValueError, match=r"vectors has shape \(2, 3\); expected \(batch, n, 3\)"):
        model(vectors[0], arcs, lengths)
    with pytest.raises(ValueError, match=r"arcs has shape \(1, 2, 2\); expected .* here \(1, 2, 3\)"):
        model(vectors, arcs[..., :2], lengths)
    with pytest.raises(ValueError, match=r"projected has shape \(1, 2, 3\); expected \(batch, n \+ 1, 8\)"):
        model.read(vectors, arcs, torch.tensor([2]))


def test_the_forget_gates_start_open_and_matrices_orthogonal():
    model = ChildSumTreeLSTM(4, 4)
    assert model.inputs.bias.tolist() == [1] * 4 + [0] * 12
    for layer in (model.inputs, model.forget, model.gates):
        for gate in layer.weight.detach().split(4):
            torch.testing.assert_close(gate @ gate.T, torch.eye(4))


def test_bfloat16_around_it_gives_nearly_the_same():
    model = made().float()
    vectors, arcs, lengths = (tensor.float() for tensor in batch_of([[2, 0, 2, 3], [0]]))
    expected = model(vectors, arcs, lengths.long())
    with torch.autocast("cpu", torch.bfloat16):
        found = model(vectors, arcs, lengths.long())
    torch.testing.assert_close(found.root.float(), expected.root, atol=0.03, rtol=0)
    torch.testing.assert_close(found.words.float(), expected.words, atol=0.03, rtol=0)
