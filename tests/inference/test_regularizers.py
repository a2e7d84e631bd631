"""Regularisers of mean field: the probabilities they return maximise expected score plus entropy."""

import pytest
import torch
from tests.mappings.test_sparsemax_entmax import normal

from strukt.inference.regularizers import REGULARIZERS


def objective(name: str, scores: torch.Tensor, p: torch.Tensor, grouped: bool) -> torch.Tensor:
    values = p if grouped else torch.stack([p, 1 - p], -1)
    terms = REGULARIZERS[name].entropy(values)
    return (p * scores).sum(-1) + (terms if grouped else terms.sum(-1)).sum(-1)


@pytest.mark.parametrize("grouped", [True, False])
@pytest.mark.parametrize("name", REGULARIZERS)
def test_no_other_probabilities_are_better(name, grouped):
    scores = 2 * normal(5, 4)
    best = REGULARIZERS[name].best(scores, grouped)
    others = 3 * normal(1000, 5, 4, seed=1)
    others = others.softmax(-1) if grouped else others.sigmoid()
    if grouped:
        assert torch.allclose(best.sum(-1), torch.ones(5, dtype=torch.float64))
    nearby = torch.lerp(best, others, 0.01)
    for other in (others, nearby):
        assert (objective(name, scores, other, grouped) < objective(name, scores, best, grouped)).all()


@pytest.mark.parametrize("name", REGULARIZERS)
def test_certain_values_have_no_entropy(name):
    p = torch.tensor([0.0, 1.0], requires_grad=True)
    entropy = REGULARIZERS[name].entropy(p)
    assert (entropy == 0).all()
    (slope,) = torch.autograd.grad(entropy.sum(), p)
    assert slope.isfinite().all()
