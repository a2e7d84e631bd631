"""Trees of a grammar that are drawn on a GPU, or else in Triton's interpreter, have their probabilities."""

import pytest
import torch
from tests.frequencies import assert_frequencies
from tests.kernels.engine.gpu.device import DEVICE, ON_GPU, SLOW, by_kernels, needed
from tests.structures.pcfg.test_gpu import grammar, padded

from strukt.distributions import PCFG
from strukt.structures.pcfg import gpu

pytestmark = needed


def drawn(root, rules, emission, spans, lengths, count):
    """Trees ``(batch, count, n + 1, n + 1)`` and log-partitions."""

    def samples():
        torch.manual_seed(0)
        given = spans, root, rules, emission, lengths
        events, log_partition = gpu.sample(*(each.to(DEVICE) for each in given), count)
        return events.cpu(), log_partition.cpu()

    return by_kernels(samples)


def normalised(root, rules, emission, spans, lengths, item):
    """The distribution of one item."""
    n, group = lengths[item], item * len(root) // len(emission)
    each = root[group], rules[group], emission[item, :n]
    return PCFG(*(score.double() for score in each), spans=spans[item, : n + 1, : n + 1].double())


@SLOW
@pytest.mark.parametrize(
    ("n", "s", "p", "dtype", "count"),
    [(3, 2, 2, torch.float64, 40), (4, 2, 1, torch.float32, 60), (5, 2, 2, torch.float64, 60)],
)
def test_trees_have_their_probabilities(n, s, p, dtype, count):
    root, rules, emission, spans, lengths = grammar(1, n, s, p, True, 1.5, dtype, forbidden=0.1, seed=1)
    root, rules = root[None], rules[None]
    events, _ = drawn(root, rules, emission, spans, lengths, 20_000 if ON_GPU else count)
    assert_frequencies(normalised(root, rules, emission, spans, lengths, 0), events[0])


@pytest.mark.parametrize(
    ("shared", "scale"),
    [(False, 1.0), pytest.param(True, 300.0, marks=SLOW), pytest.param(False, 1e5, marks=SLOW)],
)
def test_items_of_all_lengths(shared, scale):
    """Trees that are possible, and none of items without words, without trees, or of one word."""
    root, rules, emission, spans, lengths = grammar(4, 3, 2, 2, shared, scale, torch.float64, forbidden=0.1)
    if shared:
        root, rules = root[None], rules[None]
    emission[1, 0] = -torch.inf
    given = root, rules, *padded(emission, spans, lengths), lengths
    events, log_partition = drawn(*given, 2)
    again, _ = drawn(*given, 2)
    assert torch.equal(events, again)
    possible = (lengths > 1) & (log_partition > -torch.inf)
    assert possible.any()
    for item, length in enumerate(lengths):
        if not possible[item]:
            assert (events[item] == -1).all()
            continue
        here = normalised(root, rules, emission, spans, lengths, item)
        assert torch.allclose(log_partition[item], here.log_partition, 1e-12)
        inner = events[item, :, : length + 1, : length + 1]
        assert (here.log_prob(inner) > -20.0).all()
        assert (events[item] >= 0).sum() == len(events[item]) * (2 * length - 1)
