"""Settings of PyTorch that a program may have chosen."""

import pytest
import torch


@pytest.fixture
def float64_by_default():
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)
