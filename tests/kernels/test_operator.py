"""Operators of PyTorch: a notebook may define them again."""

import torch

from strukt.kernels.operator import body_of, define


def test_operators_of_one_name_keep_their_own_functions():
    schema = "(Tensor scores) -> Tensor"
    first = define("test_again", schema, lambda scores: scores + 1.0)
    second = define("test_again", schema, lambda scores: scores + 2.0)

    scores = torch.zeros(1)
    assert first != second
    assert (first(scores).item(), second(scores).item()) == (1.0, 2.0)
    assert body_of(first) is not body_of(second)
