"""The k best trees of grammars on a GPU, or else in Triton's interpreter, are those of the CPU."""

import pytest
import torch
from tests.kernels.engine.gpu.device import DEVICE, SLOW, by_kernels, needed
from tests.structures.pcfg.test_gpu import grammar, padded

from strukt.distributions import PCFG
from strukt.structures.pcfg import cpu, gpu

pytestmark = needed


@pytest.mark.parametrize(
    ("n", "s", "p", "shared", "k", "dtype"),
    [
        (3, 2, 1, False, 5, torch.float64),
        *(
            pytest.param(*case, marks=SLOW)
            for case in [
                (1, 2, 1, True, 2, torch.float64),
                (2, 1, 3, True, 12, torch.float32),
                (4, 2, 2, True, 8, torch.float64),
                (5, 3, 1, False, 1, torch.float64),
                (3, 1, 1, False, 4, torch.float64),
            ]
        ),
    ],
)
def test_equal_those_of_the_cpu(n, s, p, shared, k, dtype):
    """The distinct trees of the highest scores, also if there are fewer than k."""
    root, rules, emission, spans, lengths = grammar(3, n, s, p, shared, 1.0, dtype, forbidden=0.05)
    if shared:
        root, rules = root[None], rules[None]
    words, whole = padded(emission, spans, lengths)
    given = (each.to(DEVICE) for each in (whole, root, rules, words, lengths))
    events, scores = (each.cpu() for each in by_kernels(gpu.kbest, *given, k))
    scores_64 = [each.double() for each in (spans, root, rules, emission)]
    _, right = cpu.kbest(*scores_64, lengths, k)
    assert torch.allclose(scores.double(), right, 1e-6 if dtype is torch.float32 else 1e-12)
    for item, length in enumerate(lengths):
        group = item * len(root) // len(emission)
        found = events[item][scores[item] > -torch.inf]
        assert len(found.flatten(1).unique(dim=0)) == len(found)
        assert (events[item][scores[item] == -torch.inf] == -1).all()
        if length > 1 and len(found):
            each = scores_64[1][group], scores_64[2][group], scores_64[3][item, :length]
            here = PCFG(*each, spans=scores_64[0][item, : length + 1, : length + 1])
            assert torch.allclose(here.score(found[:, : length + 1, : length + 1]), right[item, : len(found)])


def test_ties_are_all_found():
    """Every rule has the score 0: the trees of three words with one nonterminal and two preterminals."""
    zeros = torch.zeros(1, 4, 4, 3), torch.zeros(1, 1), torch.zeros(1, 1, 3, 3), torch.zeros(1, 3, 2)
    given = (each.to(DEVICE) for each in (*zeros, torch.tensor([3])))
    events, scores = (each.cpu() for each in by_kernels(gpu.kbest, *given, 18))
    assert (scores == torch.tensor([0.0] * 16 + [-torch.inf] * 2)).all()
    assert len(events[0, :16].flatten(1).unique(dim=0)) == 16
