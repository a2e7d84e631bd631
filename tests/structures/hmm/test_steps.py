"""Steps of a chain, their columns and their transpose, against the transition matrix."""

import pytest
import torch
from tests.structures.hmm.test_forward_backward import KINDS, scores, split

from strukt.structures.hmm import reference
from strukt.structures.hmm.reference import Chains
from strukt.structures.hmm.steps import columns, steps


@pytest.mark.parametrize("kind", KINDS)
def test_columns_are_those_of_the_matrix(kind):
    _, _, matrices, band = split(kind, scores(kind))
    moving = steps(matrices, band)
    matrix = moving.advance(moving.message(torch.eye(7, dtype=torch.float64)))
    targets = torch.tensor([6, 0, 3, 3])
    assert torch.allclose(columns(moving, band, targets), matrix.mT[targets])


@pytest.mark.parametrize("kind", KINDS)
def test_steps_against_time_in_logs(kind):
    _, _, matrices, band = split(kind, scores(kind))
    moving = steps(matrices, band)
    matrix = moving.advance(moving.message(torch.eye(7, dtype=torch.float64)))
    later = torch.randn(3, 7, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    found = reference.retreat(later, Chains(*(None,) * 4, matrices, band).log_factors(), band is not None)
    assert torch.allclose(found.exp(), later.exp() @ matrix.mT)
