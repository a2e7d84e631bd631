"""Training steps of the Probabilistic Transformer in those of a Transformer."""

import pytest
import torch
from benchmarks.contest import Contestant

from benchmarks import mean_field


def test_the_published_form_is_what_torch_computes() -> None:
    inputs = mean_field.case(2, 9, 2).inputs()
    results = (
        mean_field.step(Contestant("", compute), inputs)
        for compute in (mean_field.uv, mean_field.torch_scores)
    )
    for ours, other in zip(*results, strict=True):
        torch.testing.assert_close(ours, other, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("name", mean_field.DECOMPOSITIONS)
def test_every_decomposition_reads_its_own_inputs(name: str) -> None:
    inputs = mean_field.case(1, 5, 1).inputs()
    leaves = [each.requires_grad_() for each in inputs]
    scores = mean_field.DECOMPOSITIONS[name](*leaves)
    grads = torch.autograd.grad(scores.square().sum(), leaves, allow_unused=True)
    used = {"`uv`": (0, 1, 2), "`uvw`": (0, 3, 4, 7), "`weighted`": (0, 5, 6, 7), "`biased`": (0, 5, 6, 8)}
    assert [place for place, grad in enumerate(grads) if grad is not None and grad.any()] == list(used[name])


def test_a_row_holds_the_ratios() -> None:
    text = mean_field.report((mean_field.case(1, 5, 1),), turns=1, slice_=0.001)
    cells = text.splitlines()[-1].strip("|").split("|")
    assert cells[0].strip() == "1x5x1"
    assert all(float(cell) > 0 for cell in cells[1:])
    assert len(cells) == 1 + len(mean_field.DECOMPOSITIONS)
