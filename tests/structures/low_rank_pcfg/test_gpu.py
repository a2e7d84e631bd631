"""Low-rank grammars by the passes for GPUs say what the kernels for CPUs say."""

import pytest
import torch
from tests.kernels.engine.gpu.device import DEVICE, by_kernels, needed
from tests.kernels.test_backends import normal, single, steep, unchanged
from tests.structures.low_rank_pcfg.test_backends import ITEMS, lengths, sparse
from torch import Tensor

from strukt.distributions import LowRankPCFG
from strukt.structures.low_rank_pcfg import gpu, gpu_inside
from strukt.structures.low_rank_pcfg.gpu_chart import Chart

pytestmark = needed

SIZES = [(1, 2, 1, 2), (2, 2, 3, 2), (3, 1, 2, 3), (6, 4, 3, 2), (6, 3, 4, 9)]
"""Words, nonterminals, preterminals and ranks: more ranks than nonterminals, and fewer."""


def huge(scores: Tensor) -> Tensor:
    return 1e9 * scores


def found(device: str, size: tuple[int, ...], change, shared: bool, spans: bool) -> dict[str, Tensor]:
    """Log-partition and marginals, and the gradients of the first with items weighted; NaN in the padding."""
    n, s, p, r = size
    groups = () if shared else (5,)
    shapes = [(*groups, s), (*groups, r, s + p), (*groups, r, s + p), (*groups, s, r), (5, n, p)]
    shapes += [(5, n + 1, n + 1, s + p)] if spans else []
    scores = [change(normal(*shape, seed=k)) for k, shape in enumerate(shapes)]
    for item, length in enumerate(lengths(n).tolist()):
        scores[4][item, length:] = torch.nan
    leaves = [score.to(device).requires_grad_() for score in scores]
    trees = LowRankPCFG(*leaves[:5], lengths(n), *leaves[5:], validate_args=False)
    value = trees.log_partition
    weighted = (value * ITEMS.to(value))[value.isfinite()].sum()
    gradients = torch.autograd.grad(weighted, leaves, materialize_grads=True)
    answers = {"log_partition": value, "marginals": trees.marginals}
    answers |= {f"gradient {k}": gradient for k, gradient in enumerate(gradients)}
    return {name: answer.detach().cpu() for name, answer in answers.items()}


@pytest.mark.parametrize("spans", [False, True])
@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_items_of_all_lengths(size, shared, spans):
    agree(size, unchanged, shared, spans, 1e-10)


@pytest.mark.parametrize("spans", [False, True])
@pytest.mark.parametrize(
    ("change", "tolerance"), [(single, 1e-5), (sparse, 1e-10), (steep, 1e-10), (huge, 1e-10)]
)
def test_scores_of_any_kind(change, tolerance, spans):
    agree((6, 4, 3, 5), change, False, spans, tolerance)


def agree(size, change, shared, spans, tolerance):
    mine, right = by_kernels(found, DEVICE, size, change, shared, spans), found("cpu", size, change, shared, spans)
    for name, value in right.items():
        assert torch.allclose(mine[name], value, tolerance, tolerance, equal_nan=True), name


def test_only_items_that_underflow_are_computed_in_log_space(monkeypatch):
    taken = []
    write = gpu.log_space.write_log_partitions
    monkeypatch.setattr(
        gpu.log_space, "write_log_partitions", lambda *given: (taken.append(given[-1].tolist()), write(*given))
    )
    scores = [normal(*shape, seed=k) for k, shape in enumerate([(2,), (3, 4), (3, 4), (2, 3), (4, 4, 2)])]
    scores[4][1] -= 1e9
    scores[4][2] = -torch.inf

    def log_partition(device: str) -> Tensor:
        each = (score.to(device) for score in scores)
        return LowRankPCFG(*each, [4, 4, 4, 1], validate_args=False).log_partition.cpu()

    assert torch.allclose(by_kernels(log_partition, DEVICE), log_partition("cpu"), 1e-12)
    assert taken[0] == [1, 2]


def test_gradients_of_gradients():
    scores = [normal(*shape, seed=k) for k, shape in enumerate([(2,), (2, 3), (2, 3), (2, 2), (1, 3, 1)])]

    def second(device: str) -> list[Tensor]:
        leaves = [score.to(device).requires_grad_() for score in scores]
        value = LowRankPCFG(*leaves, validate_args=False).log_partition.sum()
        first = torch.autograd.grad(value, leaves, create_graph=True)
        norm = sum(grad.square().sum() for grad in first)
        return [grad.cpu() for grad in torch.autograd.grad(norm, leaves)]

    for mine, right in zip(by_kernels(second, DEVICE), second("cpu"), strict=True):
        assert torch.allclose(mine, right, 1e-10, 1e-10)


@pytest.mark.parametrize("shared", [True, False])
def test_all_tensors_are_made_on_the_device_of_the_scores(shared):
    """Tensors without memory stand for those on a GPU: mixed with tensors on the CPU, they raise an error."""
    n, s, p, r = 4, 3, 2, 2
    groups = 1 if shared else 5
    shapes = (5, n + 1, n + 1, s + p), (groups, s), (groups, r, s + p), (groups, r, s + p), (groups, s, r)
    scores = [torch.empty(*shape, device="meta") for shape in (*shapes, (5, n, p))]
    work = gpu._inputs(tuple(scores), torch.empty(5, dtype=torch.int64, device="meta"))
    for spans in (work.spans, None):
        work.spans = spans
        chart = Chart(work.words.new_zeros(Chart.shape(5, n, r)), n, r)
        gpu_inside.inside_pass(work, chart)
        found = gpu.Outside(work, chart, work.words.new_ones(5), None)
        assert found.words.is_meta
        assert all(grad.is_meta for grad in work.weights.as_gradients(found.into, tuple(scores[1:5])))
