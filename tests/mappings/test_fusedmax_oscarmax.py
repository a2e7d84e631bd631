"""Fusedmax and oscarmax: optimal, with derivatives of groups that move together."""

import math

import numpy as np
import pytest
import torch
from tests.mappings.optimum import moves_never_help, never_better
from tests.mappings.test_sparsemax_entmax import normal, pytestmark, to_simplex  # noqa: F401 -- marks this file, too
from torch.autograd import gradcheck, gradgradcheck

from strukt.kernels import fusedmax_oscarmax
from strukt.mappings import fusedmax, oscarmax, sparsemax


def variation(weight: float):
    return lambda p: 0.5 * float((p**2).sum()) + weight * float(np.abs(np.diff(p)).sum())


def pairwise(weight: float):
    def penalty(p: np.ndarray) -> float:
        pairs = np.maximum(p[:, None], p[None, :])
        return 0.5 * float((p**2).sum()) + weight * float(np.triu(pairs, 1).sum())

    return penalty


KINDS = pytest.mark.parametrize(
    ("mapping", "penalty"), [(fusedmax, variation), (oscarmax, pairwise)], ids=["fusedmax", "oscarmax"]
)


@pytest.mark.thinned("weight", "d")
@KINDS
@pytest.mark.parametrize("weight", [0.0, 0.02, 0.1, 0.5, 3.0])
@pytest.mark.parametrize("d", [1, 2, 3, 6, 11])
def test_the_mapping_is_optimal(mapping, penalty, weight, d):
    x = normal(4, d)
    for row, p in zip(x.numpy(), mapping(x, weight).numpy(), strict=True):
        assert abs(p.sum() - 1) < 1e-14
        assert never_better(p, row, penalty(weight), to_simplex)
        order = np.arange(d) if mapping is fusedmax else np.argsort(-row)
        assert moves_never_help(p, row, penalty(weight), order)


@KINDS
def test_derivatives(mapping, penalty):
    x = normal(4, 7, seed=2).requires_grad_()
    weight = torch.tensor([0.02, 0.06, 0.1, 0.2], dtype=torch.float64).unsqueeze(-1).requires_grad_()
    found = mapping(x, weight)
    assert (found[:, 1:] == found[:, :-1])[found[:, 1:] > 0].any() or mapping is oscarmax
    assert gradcheck(mapping, (x, weight))
    assert gradgradcheck(mapping, (x, weight))
    assert gradcheck(mapping, (x, weight), check_forward_ad=True, check_backward_ad=False)


def test_masked_scores_part_their_neighbours():
    x = normal(1, 7).requires_grad_()
    mask = torch.tensor([True, True, True, False, True, True, False])
    prox = fusedmax_oscarmax.variation(
        x.masked_fill(~mask, -math.inf), torch.tensor([0.2], dtype=torch.float64)
    )
    for part in (slice(0, 3), slice(4, 6)):
        alone = fusedmax_oscarmax.variation(x[:, part], torch.tensor([0.2], dtype=torch.float64))[0]
        assert torch.allclose(prox[0, part] - prox[0, part].max(), alone, atol=1e-15)
    found = fusedmax(x, 0.2, mask=mask)
    assert (found[0, ~mask] == 0).all()
    (grad,) = torch.autograd.grad(found.square().sum(), x)
    assert grad.isfinite().all()
    assert (grad[0, ~mask] == 0).all()


def test_masked_scores_do_not_count_for_oscarmax():
    x = normal(2, 6).requires_grad_()
    mask = torch.tensor([[True, False, True, True, False, True], [False] * 6])
    found = oscarmax(x, 0.1, mask=mask)
    assert torch.allclose(found[0][mask[0]], oscarmax(x[0][mask[0]], 0.1), atol=1e-15)
    assert torch.equal(found[1], torch.zeros(6, dtype=torch.float64))
    (grad,) = torch.autograd.grad(found.square().sum(), x)
    assert grad.isfinite().all()
    assert (grad[~mask] == 0).all()


@KINDS
def test_axes_weights_and_types(mapping, penalty):
    x = normal(2, 3, 5)
    weights = torch.tensor([0.05, 0.1, 0.4], dtype=torch.float64).reshape(3, 1)
    found = mapping(x, weights)
    for row in range(3):
        assert torch.equal(found[:, row], mapping(x[:, row], weights[row].item()))
    assert torch.equal(mapping(x, 0.1, dim=0), mapping(x.movedim(0, -1), 0.1).movedim(-1, 0))
    assert torch.allclose(mapping(x.float(), 0.1), mapping(x, 0.1).float(), atol=1e-6)
    assert mapping(x.bfloat16(), 0.1).dtype == torch.bfloat16
    assert mapping(torch.zeros(2, 0), 0.1).shape == (2, 0)
    for weight in (-1.0, math.inf):
        with pytest.raises(ValueError, match=rf"weight is {weight}; expected 0 or more, and finite"):
            mapping(x, weight)


@KINDS
@pytest.mark.parametrize("shift", [0.0, 10000.0])
@pytest.mark.parametrize("weight", [0.001, 0.1, 10.0])
def test_a_shift_of_all_scores_changes_nothing_in_float32(mapping, penalty, shift, weight):
    x = (normal(20, 50) + shift).float()
    expected = mapping(x.double(), weight)
    assert torch.allclose(mapping(x, weight).double(), expected, rtol=0, atol=3e-7)
    assert torch.allclose(mapping(x.double() - shift, weight), expected, rtol=0, atol=1e-11)


@pytest.mark.parametrize("mapping", [fusedmax, oscarmax])
def test_without_a_penalty_equal_scores_are_not_fused(mapping):
    """Their derivative was that of a group, 0 between two scores, though the mapping is that of sparsemax."""
    scores = torch.tensor([[0.0, 0.0, -torch.inf], [0.4, 0.4, 0.1]], dtype=torch.float64)
    direction = normal(2, 3)

    def slope(mapped):
        leaf = scores.clone().requires_grad_()
        return torch.autograd.grad((mapped(leaf) * direction).sum(), leaf)[0]

    weights = torch.tensor([[0.0], [0.3]], dtype=torch.float64)
    torch.testing.assert_close(slope(lambda x: mapping(x, 0.0)), slope(sparsemax))
    both = slope(lambda x: mapping(x, weights))
    torch.testing.assert_close(both[0], slope(sparsemax)[0])
    torch.testing.assert_close(both[1], slope(lambda x: mapping(x, 0.3))[1])
