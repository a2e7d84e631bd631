"""Trees with codes of bits: equal to trees labelled with all codes, and cheap where codes could not be listed."""

import pytest
import torch
from tests.scores import normal

from strukt.distributions import BitSpanTree, SpanTree
from strukt.errors import InfeasibleError
from strukt.testing import brute_force


@pytest.mark.parametrize("member", ["log_partition", "bit_marginals", "entropy"])
def test_derivatives_in_several_bits(member):
    def value(positive: torch.Tensor, negative: torch.Tensor) -> torch.Tensor:
        found = getattr(BitSpanTree(positive, torch.tensor(2), negative=negative), member)
        return found() if callable(found) else found

    leaves = normal(4, 4, 3).requires_grad_(), normal(4, 4, 3, seed=1).requires_grad_()
    assert torch.autograd.gradcheck(value, leaves)
    assert torch.autograd.gradgradcheck(value, leaves, fast_mode=True)


def test_cross_entropy_of_trees_that_lack_a_bit_is_infinite():
    plus, minus = torch.randn(2, 4, 4, 2, dtype=torch.float64)
    trees = BitSpanTree(plus, negative=minus)
    for part in (plus.clone(), minus.clone()):
        part[0, 2, 0] = -torch.inf
        others = BitSpanTree(part, negative=part, validate_args=False)
        assert others.log_partition > -torch.inf
        assert trees.cross_entropy(others) == torch.inf


def test_a_word_with_forty_bits():
    """2^40 codes of one span, none of which is listed."""
    bits = normal(2, 2, 40)
    word = BitSpanTree(bits)
    assert torch.allclose(word.log_partition, torch.nn.functional.softplus(bits[0, 1]).sum())
    assert word.mode[0, 1] == sum(1 << bit for bit in range(40) if bits[0, 1, bit] > 0)
    scores, events = word.topk(50)
    assert (scores.diff() <= 0).all()
    assert len(set(events[:, 0, 1].tolist())) == 50
    assert torch.allclose(scores, word.score(events))


def test_equal_values_of_a_bit_become_minus_one():
    mode = BitSpanTree(torch.zeros(4, 4, 3)).mode
    assert set(mode[mode >= 0].tolist()) == {0}


def test_long_sentences_in_single_precision():
    bits = torch.randn(1, 121, 121, 8, generator=torch.Generator().manual_seed(0))
    found, exact = BitSpanTree(bits), BitSpanTree(bits.double())
    assert torch.allclose(found.log_partition.double(), exact.log_partition, rtol=1e-6)
    assert torch.allclose(found.marginals.double(), exact.marginals, atol=1e-5)


def test_an_item_with_nothing_left_is_named():
    bits = normal(2, 4, 4, 2)
    negative = torch.zeros_like(bits)
    bits[1, 0, 3] = negative[1, 0, 3] = -torch.inf  # the whole sentence has no code
    trees = BitSpanTree(bits.requires_grad_(), negative=negative)
    assert trees.log_partition[1] == -torch.inf
    (gradient,) = torch.autograd.grad(trees.log_partition.sum(), bits)
    assert (gradient[1] == 0).all()
    assert torch.allclose(gradient[0], BitSpanTree(bits[0]).marginals)
    with pytest.raises(InfeasibleError, match="item 1"):
        _ = trees.mode
    assert (trees.topk(2)[1][1] == -1).all()
    assert (trees.max_marginals[1] == -torch.inf).all()


@pytest.mark.parametrize("shape", [(4, 3, 2), (0, 0, 2), (4, 4, 0), (4, 4, 63)])
def test_other_shapes_are_refused(shape):
    with pytest.raises(ValueError, match=r"bits has shape .* expected batch \+ \(n \+ 1, n \+ 1, k\)"):
        BitSpanTree(torch.zeros(shape))


def test_other_scores_of_the_value_minus_one_are_refused():
    with pytest.raises(
        ValueError, match=r"negative has shape \(4, 4, 1\); expected that of bits, \(4, 4, 2\)"
    ):
        BitSpanTree(torch.zeros(4, 4, 2), negative=torch.zeros(4, 4, 1))


def test_parts_do_not_tell_a_tree():
    with pytest.raises(NotImplementedError, match="bits are all -1"):
        BitSpanTree(torch.zeros(4, 4, 2)).from_parts(torch.zeros(4, 4, 2))


def forbidding(shape: tuple[int, ...], seed: int) -> torch.Tensor:
    scores = normal(*shape, seed=seed)
    return scores.masked_fill(scores > 1.0, -torch.inf)


@pytest.mark.parametrize(("words", "bits"), [(3, 1), (3, 2), (2, 3)])
def test_forbidden_values_in_ragged_sentences(words, bits):
    """Bits, one label for each code, and all trees one by one say the same."""
    shape = (words, words + 1, words + 1, bits)
    positive, negative = forbidding(shape, 0), forbidding(shape, 1)
    values = torch.arange(2**bits).unsqueeze(-1) >> torch.arange(bits) & 1 == 1
    scores = torch.where(values, positive.unsqueeze(-2), negative.unsqueeze(-2)).sum(-1)
    lengths = torch.arange(words, 0, -1)
    codes = BitSpanTree(positive, lengths, negative=negative)
    labels = SpanTree(scores, lengths, labelled=True)
    others = normal(*shape, seed=7)
    of_codes = (others.unsqueeze(-2) * values).sum(-1)
    surprise = codes.cross_entropy(BitSpanTree(others, lengths))
    assert torch.allclose(surprise, labels.cross_entropy(SpanTree(of_codes, lengths, labelled=True)))
    for item, length in enumerate(lengths.tolist()):
        table = brute_force.span_tree(length, scores[item], labelled=True)
        best, events = table.topk(7)
        for trees in (codes, labels):
            assert torch.allclose(trees.log_partition[item], table.log_partition)
            assert torch.allclose(trees.entropy()[item], table.entropy())
            assert torch.equal(trees.mode[item], events[0])
            assert torch.allclose(trees.topk(7)[0][item], best)
            assert torch.allclose(trees.log_prob(trees.mode)[item], table.log_prob(events[0]))
        assert torch.allclose(labels.marginals[item], table.marginals)
        used = (table.permitted.events >= 0).unsqueeze(-1)
        positives = values[table.permitted.events.clamp(min=0)]
        each = torch.stack([used & ~positives, used & positives], -1)
        assert torch.allclose(codes.bit_marginals[item], table.expected(each.double()))
