"""Contrastive hashing: equal to the formulas over all pairs of spans, at the cost of sums over codes."""

import math
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tests.mappings.test_sparsemax_entmax import normal
from torch.utils._python_dispatch import TorchDispatchMode

from strukt.distributions import BitSpanTree
from strukt.losses import contrastive_hashing
from strukt.losses.contrastive_hashing import VARIANTS

LABELS = torch.tensor([0, 1])
EVERY = pytest.mark.parametrize("variant", VARIANTS)


def marginals(m: int, bits: int, seed: int = 0) -> torch.Tensor:
    """Of spans that are in the tree with some probability, too."""
    return normal(m, bits, 3, seed=seed).softmax(-1)[..., :2]


def best_codes(mu: torch.Tensor) -> list[list[int]]:
    """Equation 13: the bits of the code of each span."""
    return [[int(bit[1] > bit[0]) for bit in span] for span in mu]


def direct(variant: str, mu: torch.Tensor, code: list[list[int]], labels: torch.Tensor, temperature: float):
    """The losses of all spans of one view beside codes of the other, pair by pair as equations 14 to 19 stand."""
    m, bits, _ = mu.shape

    def s(i: int, j: int) -> torch.Tensor:
        return sum(mu[i, k, code[j][k]] for k in range(bits)) / bits / temperature

    def log_sum(i: int, chosen: list[int]) -> torch.Tensor:
        return torch.stack([s(i, j) for j in chosen]).logsumexp(0)

    losses = []
    for i in range(m):
        same = [j for j in range(m) if labels[j] == labels[i]]
        rest = [j for j in range(m) if labels[j] != labels[i]]
        if variant == "self":
            losses.append(log_sum(i, rest + same) - s(i, i))
        elif variant == "sup":
            losses.append(sum(log_sum(i, rest + same) - s(i, p) for p in same) / len(same))
        elif variant == "hash":
            losses.append(log_sum(i, [*rest, i]) - s(i, i))
        else:
            losses.append(log_sum(i, [*rest, i]) - log_sum(i, same))
    return torch.stack(losses)


def both(variant: str, first: torch.Tensor, second: torch.Tensor, labels: torch.Tensor, temperature: float):
    there, back = ((first, best_codes(second)), (second, best_codes(first)))
    return (direct(variant, *there, labels, temperature) + direct(variant, *back, labels, temperature)).mean()


@pytest.mark.thinned("bits", "m", "names")
@EVERY
@pytest.mark.parametrize("bits", [1, 2, 3, 4])
@pytest.mark.parametrize("m", [1, 2, 9])
@pytest.mark.parametrize("names", [1, 3, 100])
def test_the_loss_is_that_of_all_pairs(variant, bits, m, names):
    first, second = (marginals(m, bits, seed).requires_grad_() for seed in (0, 1))
    labels = torch.randint(-names, names, (m,), generator=torch.Generator().manual_seed(2))
    found = contrastive_hashing(first, second, labels, variant)
    expected = both(variant, first, second, labels, 0.1)
    torch.testing.assert_close(found, expected, rtol=1e-12, atol=1e-12)
    gradients = (torch.autograd.grad(value, (first, second)) for value in (found, expected))
    torch.testing.assert_close(*gradients, rtol=1e-10, atol=1e-12)


@EVERY
def test_codes_may_be_given(variant):
    first, second, labels = marginals(7, 3), marginals(7, 3, 1), torch.arange(7) % 3
    codes = torch.tensor([[0, 5, 7, 5, 1, 0, 3], [2, 2, 2, 0, 6, 7, 4]])
    bits = [[[code >> place & 1 for place in range(3)] for code in view] for view in codes.tolist()]
    found = contrastive_hashing(first, second, labels, variant, 0.2, tuple(codes))
    expected = direct(variant, first, bits[1], labels, 0.2) + direct(variant, second, bits[0], labels, 0.2)
    torch.testing.assert_close(found, expected.mean(), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(
    ("codes", "message"),
    [
        (torch.tensor([0]), r"codes\[1\] has shape \(1,\); expected \(2,\)"),
        (torch.zeros(2), r"codes\[1\] is of type torch.float32"),
        (torch.tensor([0, 8]), r"codes\[1\] holds 0 to 8; expected codes of 3 bits, 0 to 7"),
        (torch.tensor([-1, 7]), r"codes\[1\] holds -1 to 7"),
    ],
)
def test_codes_that_do_not_fit_are_refused(codes, message):
    zeros = torch.zeros(2, 3, 2)
    with pytest.raises(ValueError, match=message):
        contrastive_hashing(zeros, zeros, LABELS, codes=(torch.tensor([0, 7]), codes))


@given(
    st.lists(st.tuples(st.integers(0, 2), *[st.sampled_from([0.0, 0.25, 0.5])] * 8), min_size=1, max_size=6),
    st.sampled_from(sorted(VARIANTS)),
    st.sampled_from([0.01, 0.1, 1.0, 20.0]),
)
def test_ties_and_temperatures(rows, variant, temperature):
    labels = torch.tensor([label for label, *_ in rows])
    first, second = torch.tensor([row[1:] for row in rows]).double().reshape(-1, 2, 2, 2).unbind(1)
    found = contrastive_hashing(first, second, labels, variant, temperature)
    torch.testing.assert_close(found, both(variant, first, second, labels, temperature))


@EVERY
def test_temperatures_at_which_exponentials_overflow(variant):
    first, second, labels = marginals(12, 3), marginals(12, 3, 1), torch.arange(12) % 3
    first.requires_grad_()
    loss = contrastive_hashing(first, second, labels, variant, temperature=1e-5)
    torch.testing.assert_close(loss, both(variant, first, second, labels, 1e-5))
    (gradient,) = torch.autograd.grad(loss, first)
    assert gradient.isfinite().all()


@EVERY
def test_derivatives(variant):
    first, second = (marginals(7, 2, seed).requires_grad_() for seed in (0, 1))
    labels = torch.tensor([0, 1, 1, 2, 0, 1, 3])

    def loss(*views: torch.Tensor) -> torch.Tensor:
        return contrastive_hashing(*views, labels, variant, 0.5)

    assert torch.autograd.gradcheck(loss, (first, second))
    assert torch.autograd.gradgradcheck(loss, (first, second))


@EVERY
def test_the_order_of_spans_views_labels_and_bits_does_not_matter(variant):
    first, second = marginals(20, 3), marginals(20, 3, 1)
    labels = torch.arange(20) % 4
    loss = contrastive_hashing(first, second, labels, variant)
    order = torch.randperm(20, generator=torch.Generator().manual_seed(0))
    for other in (
        contrastive_hashing(first[order], second[order], labels[order], variant),
        contrastive_hashing(second, first, labels, variant),
        contrastive_hashing(first, second, 7 - 3 * labels, variant),
        contrastive_hashing(first.flip(1), second.flip(1), labels, variant),
        contrastive_hashing(
            first.flip(2), second.flip(2), labels, variant
        ),  # no ties: -1 and +1 change places
    ):
        torch.testing.assert_close(other, loss)


def test_all_variants_agree_where_all_labels_differ():
    first, second, labels = marginals(10, 3), marginals(10, 3, 1), torch.arange(10)
    losses = [contrastive_hashing(first, second, labels, variant) for variant in VARIANTS]
    torch.testing.assert_close(losses, [losses[0]] * len(losses))


def test_variants_of_a_single_label():
    """N is empty: `hash` has nothing to tell apart, `max` may stay with any span."""
    first, second, labels = marginals(10, 3), marginals(10, 3, 1), torch.zeros(10, dtype=torch.int64)
    loss = {variant: contrastive_hashing(first, second, labels, variant) for variant in VARIANTS}
    assert abs(loss["hash"]) < 1e-12
    torch.testing.assert_close(loss["max"], -loss["self"])


@EVERY
def test_one_span_has_nothing_to_be_told_apart_from(variant):
    first = marginals(1, 3).requires_grad_()
    loss = contrastive_hashing(first, marginals(1, 3, 1), torch.tensor([5]), variant)
    assert abs(loss) < 1e-12
    assert torch.autograd.grad(loss, first)[0].abs().max() < 1e-12


@EVERY
def test_no_spans_cost_nothing(variant):
    first = torch.zeros(0, 3, 2, requires_grad=True)
    loss = contrastive_hashing(first, torch.zeros(0, 3, 2), torch.zeros(0, dtype=torch.int64), variant)
    assert loss == 0
    assert torch.autograd.grad(loss, first)[0].shape == (0, 3, 2)


def test_ties_become_minus_one():
    undecided = torch.full((2, 1, 2), 0.5)
    other = torch.tensor([[[0.8, 0.2]], [[0.3, 0.7]]])
    labels = torch.tensor([0, 1])
    below = torch.tensor([[[0.5, 0.4]], [[0.5, 0.4]]])
    assert contrastive_hashing(other, undecided, labels, "self") == pytest.approx(
        float(
            direct("self", other, best_codes(below), labels, 0.1).mean()
            + direct("self", undecided, best_codes(other), labels, 0.1).mean()
        )
    )


@EVERY
def test_single_precision(variant):
    first, second = marginals(500, 8), marginals(500, 8, 1)
    labels = torch.randint(20, (500,), generator=torch.Generator().manual_seed(0))
    found = contrastive_hashing(first.float(), second.float(), labels, variant)
    assert found.dtype == torch.float32
    torch.testing.assert_close(
        found.double(), contrastive_hashing(first, second, labels, variant), rtol=1e-5, atol=0
    )


def test_marginals_of_trees():
    """Steps along the gradient of the scores give the spans of different labels different codes."""
    scores = normal(2, 5, 5, 3).requires_grad_()
    spans = torch.tensor([[0, 4], [0, 2], [2, 4], [0, 1], [1, 2], [2, 3], [3, 4]])
    labels = torch.tensor([0, 1, 2, 3, 3, 3, 3])
    optimiser = torch.optim.Adam([scores], 0.2)
    for _ in range(60):
        first, second = BitSpanTree(scores).bit_marginals[:, spans[:, 0], spans[:, 1]]
        loss = contrastive_hashing(first, second, labels)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    for tree in BitSpanTree(scores).mode:
        codes = tree[spans[:, 0], spans[:, 1]]
        meant = [{int(code) for code in codes[labels == label]} for label in range(4)]
        assert all(-1 not in each for each in meant)
        assert sum(map(len, meant)) == len(set.union(*meant))


class Largest(TorchDispatchMode):
    """Notes how many entries the largest tensor has that an operation gives."""

    def __init__(self) -> None:
        super().__init__()
        self.elements = 0

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        found = function(*args, **(kwargs or {}))
        results = found if isinstance(found, (tuple, list)) else (found,)
        sizes = [result.numel() for result in results if isinstance(result, torch.Tensor)]
        self.elements = max(self.elements, *sizes, 0)
        return found


@EVERY
@pytest.mark.parametrize(("m", "bits", "names"), [(600, 3, 5), (600, 3, 600), (50, 62, 7)])
def test_no_pair_of_spans_is_formed(variant, m, bits, names):
    first, second = (marginals(m, bits, seed).requires_grad_() for seed in (0, 1))
    labels = torch.arange(m) % names
    with Largest() as largest:
        contrastive_hashing(first, second, labels, variant).backward()
    codes = min(m, 2**bits)
    assert largest.elements <= m * max(codes, 2 * bits)


@EVERY
def test_float16_is_computed_in_single_precision(variant):
    first = marginals(4, 2).half()
    assert contrastive_hashing(first, first, torch.tensor([0, 1, 0, 1]), variant).dtype == torch.float32


@pytest.mark.parametrize(
    ("first", "second", "labels", "message"),
    [
        (
            torch.zeros(2, 63, 2),
            torch.zeros(2, 63, 2),
            LABELS,
            r"first has shape \(2, 63, 2\).* \(1 to 62\)",
        ),
        (torch.zeros(2, 3), torch.zeros(2, 3), LABELS, r"first has shape \(2, 3\); expected \(m, K, 2\)"),
        (
            torch.zeros(2, 3, 1),
            torch.zeros(2, 3, 1),
            LABELS,
            r"first has shape \(2, 3, 1\); expected \(m, K, 2\)",
        ),
        (torch.zeros(2, 0, 2), torch.zeros(2, 0, 2), LABELS, r"first has shape \(2, 0, 2\).* \(1 to 62\)"),
        (
            torch.zeros(2, 3, 2),
            torch.zeros(2, 4, 2),
            LABELS,
            r"second has shape \(2, 4, 2\); expected that of first",
        ),
        (torch.zeros(2, 3, 2), torch.zeros(2, 3, 2).long(), LABELS, r"second has dtype torch.int64"),
        (torch.zeros(2, 3, 2), torch.zeros(2, 3, 2), torch.zeros(2), r"labels is of type torch.float32"),
        (
            torch.zeros(2, 3, 2),
            torch.zeros(2, 3, 2),
            torch.tensor([0]),
            r"labels has shape \(1,\); expected \(2,\)",
        ),
    ],
)
def test_other_shapes_and_types_are_refused(first, second, labels, message):
    with pytest.raises(ValueError, match=message):
        contrastive_hashing(first, second, labels)


@pytest.mark.parametrize("temperature", [0.0, -1.0, math.nan])
def test_temperatures_are_positive(temperature):
    with pytest.raises(ValueError, match=r"temperature is .*; expected a positive number"):
        contrastive_hashing(torch.zeros(2, 3, 2), torch.zeros(2, 3, 2), LABELS, temperature=temperature)


def test_unknown_variants_are_refused():
    with pytest.raises(ValueError, match="variant is 'min'; expected one of 'self', 'sup', 'hash', 'max'"):
        contrastive_hashing(torch.zeros(2, 3, 2), torch.zeros(2, 3, 2), LABELS, variant="min")


def test_there_are_codes_of_two_views():
    zeros = torch.zeros(2, 3, 2)
    with pytest.raises(ValueError, match="codes holds 1 tensors; expected two"):
        contrastive_hashing(zeros, zeros, LABELS, codes=(torch.tensor([0, 7]),))
