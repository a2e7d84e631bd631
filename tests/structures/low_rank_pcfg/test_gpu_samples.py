"""Trees of low-rank grammars that a GPU, or else Triton's interpreter, draws have their probabilities."""

import pytest
import torch
from tests.frequencies import assert_frequencies
from tests.kernels.engine.gpu.device import DEVICE, ON_GPU, SLOW, by_kernels, needed
from tests.kernels.test_backends import normal
from torch import Tensor

from strukt.distributions import LowRankPCFG
from strukt.kernels import detour
from strukt.structures.low_rank_pcfg import gpu

pytestmark = needed


def grammar(n: int, s: int, p: int, r: int, batch: int = 1) -> list[Tensor]:
    """Scores of spans, roots, left and right children, heads and words, of a grammar for each item."""
    shapes = [(n + 1, n + 1, s + p), (s,), (r, s + p), (r, s + p), (s, r), (n, p)]
    return [1.5 * normal(batch, *shape, seed=k) for k, shape in enumerate(shapes)]


def drawn(scores: list[Tensor], lengths: Tensor, count: int) -> Tensor:
    def samples() -> Tensor:
        torch.manual_seed(0)
        return gpu.sample(*(score.to(DEVICE) for score in scores), lengths.to(DEVICE), count)[0].cpu()

    return by_kernels(samples)


def of_item(scores: list[Tensor], item: int, n: int) -> LowRankPCFG:
    spans, *rules, words = (score[item] for score in scores)
    return LowRankPCFG(*rules, words[:n], spans=spans[: n + 1, : n + 1])


@SLOW
@pytest.mark.parametrize(("size", "count"), [((3, 2, 1, 2), 60), ((4, 2, 2, 3), 200)], ids=str)
def test_trees_have_their_probabilities(size, count):
    scores = grammar(*size)
    scores[1][0, 0] = -torch.inf
    events = drawn(scores, torch.tensor(size[:1]), 20_000 if ON_GPU else count)
    assert_frequencies(of_item(scores, 0, size[0]), events[0])


def test_items_of_all_lengths_and_in_log_space():
    """The fifth item underflows; items of one word or none have no tree."""
    scores, lengths = grammar(4, 2, 2, 3, batch=5), torch.tensor([4, 3, 1, 0, 4])
    scores[5][4, 1] -= 1e9
    for item, length in enumerate(lengths.tolist()):
        scores[5][item, length:] = torch.nan
    events = drawn(scores, lengths, 2)
    assert torch.equal(events, drawn(scores, lengths, 2))
    for item, length in enumerate(lengths.tolist()):
        if length < 2:
            assert (events[item] == -1).all()
        else:
            inner = events[item, :, : length + 1, : length + 1]
            assert (of_item(scores, item, length).log_prob(inner) > -30.0).all()
            assert (events[item] >= 0).sum() == 2 * (2 * length - 1)


def test_large_batches_go_to_the_cpu(monkeypatch):
    """Where the values of all labels do not fit."""
    calls = []
    on_cpu = detour.on_cpu
    monkeypatch.setattr(detour, "on_cpu", lambda *given: (calls.append(given), on_cpu(*given))[1])
    monkeypatch.setattr(gpu, "MOST_ON_GPU", 0)
    events = drawn(grammar(3, 2, 1, 2), torch.tensor([3]), 2)
    assert calls
    assert (events >= 0).sum() == 10
