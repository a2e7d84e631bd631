"""Contrastive hashing: equal to the formulas over all pairs of spans, at the cost of sums over codes."""

from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tests.mappings.test_sparsemax_entmax import normal
from torch.utils._python_dispatch import TorchDispatchMode

from strukt.losses import contrastive_hashing
from strukt.losses.contrastive_hashing import VARIANTS

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
def test_no_spans_cost_nothing(variant):
    first = torch.zeros(0, 3, 2, requires_grad=True)
    loss = contrastive_hashing(first, torch.zeros(0, 3, 2), torch.zeros(0, dtype=torch.int64), variant)
    assert loss == 0
    assert torch.autograd.grad(loss, first)[0].shape == (0, 3, 2)


@EVERY
def test_single_precision(variant):
    first, second = marginals(500, 8), marginals(500, 8, 1)
    labels = torch.randint(20, (500,), generator=torch.Generator().manual_seed(0))
    found = contrastive_hashing(first.float(), second.float(), labels, variant)
    assert found.dtype == torch.float32
    torch.testing.assert_close(
        found.double(), contrastive_hashing(first, second, labels, variant), rtol=1e-5, atol=0
    )
    half = first[:4].half()
    assert contrastive_hashing(half, half, labels[:4], variant).dtype == torch.float32


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


ZEROS, LABELS, CODES = torch.zeros(2, 3, 2), torch.tensor([0, 1]), torch.tensor([0, 7])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"first": torch.zeros(2, 63, 2)}, r"first has shape \(2, 63, 2\).* \(1 to 62\)"),
        ({"first": torch.zeros(2, 0, 2)}, r"first has shape \(2, 0, 2\).* \(1 to 62\)"),
        ({"first": torch.zeros(2, 3)}, r"first has shape \(2, 3\); expected \(m, K, 2\)"),
        ({"first": torch.zeros(2, 3, 1)}, r"first has shape \(2, 3, 1\); expected \(m, K, 2\)"),
        ({"second": torch.zeros(2, 4, 2)}, r"second has shape \(2, 4, 2\); expected that of first"),
        ({"second": ZEROS.long()}, r"second has dtype torch.int64"),
        ({"labels": torch.zeros(2)}, r"labels is of type torch.float32"),
        ({"labels": torch.tensor([0])}, r"labels has shape \(1,\); expected \(2,\)"),
        ({"codes": (CODES, torch.tensor([0]))}, r"codes\[1\] has shape \(1,\); expected \(2,\)"),
        ({"codes": (CODES, torch.zeros(2))}, r"codes\[1\] is of type torch.float32"),
        ({"codes": (CODES, torch.tensor([0, 8]))}, r"codes\[1\] holds 0 to 8; expected codes of 3 bits, 0 to 7"),
        ({"codes": (CODES, torch.tensor([-1, 7]))}, r"codes\[1\] holds -1 to 7"),
        ({"codes": (CODES,)}, "codes holds 1 tensors; expected two"),
        ({"temperature": 0.0}, "temperature is 0.0; expected a positive number"),
        ({"temperature": torch.nan}, "temperature is nan; expected a positive number"),
        ({"variant": "min"}, "variant is 'min'; expected one of 'self', 'sup', 'hash', 'max'"),
    ],
)
def test_arguments_that_do_not_fit_are_refused(change, message):
    with pytest.raises(ValueError, match=message):
        contrastive_hashing(**{"first": ZEROS, "second": ZEROS, "labels": LABELS} | change)
