"""Segmentations: counts by formula, chains as special cases, events, what is required, sizes and scales."""

import math

import pytest
import torch
from torch import Tensor
from torch.distributions import kl_divergence

from strukt.distributions import LinearChain, SemiMarkov


def normal(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


@pytest.fixture(params=["reference", "cpu"])
def backend(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("STRUKT_BACKEND", request.param)
    return request.param


# How many there are.


@pytest.mark.parametrize(("n", "k", "c"), [(5, 2, 3), (7, 3, 3), (12, 4, 3), (11, 2, 1), (9, 9, 2), (5, 8, 3)])
def test_labels_multiply_the_weight_of_each_segment(backend, n, k, c):
    """The recurrence a(n) = c (a(n - 1) + ... + a(n - k))."""
    counts = [1]
    for _ in range(n):
        counts.append(c * sum(counts[-k:]))
    segmentation = SemiMarkov(torch.zeros(n, k, c, dtype=torch.float64))
    assert segmentation.log_count.exp().round() == counts[-1]


# Against chains.


def test_segments_of_one_position_are_the_tags_of_a_chain(backend):
    unary, transition, lengths = normal(4, 9, 5), normal(5, 5, seed=1), torch.tensor([9, 1, 0, 6])
    segmentation = SemiMarkov(unary.unsqueeze(-2), transition, lengths)
    chain = LinearChain(unary, transition, lengths)
    assert torch.allclose(segmentation.log_partition, chain.log_partition)
    assert torch.allclose(segmentation.marginals.squeeze(-2), chain.marginals)
    assert torch.allclose(segmentation.transition_marginals, chain.transition_marginals.sum(-3))
    assert torch.allclose(segmentation.max_marginals.squeeze(-2), chain.max_marginals)
    assert torch.equal(segmentation.mode, chain.mode)
    assert torch.equal(segmentation.topk(4)[1], chain.topk(4)[1])
    assert torch.allclose(segmentation.entropy(), chain.entropy())


def test_transitions_of_each_position_are_those_of_a_chain(backend):
    """``[t]`` leads from position t to t + 1."""
    unary, transition, lengths = normal(4, 9, 5), normal(4, 8, 5, 5, seed=1), torch.tensor([9, 1, 0, 6])
    segmentation = SemiMarkov(unary.unsqueeze(-2), transition, lengths)
    chain = LinearChain(unary, transition, lengths)
    for name in ("log_partition", "max_score", "transition_marginals"):
        assert torch.allclose(getattr(segmentation, name), getattr(chain, name))
    assert torch.allclose(segmentation.marginals.squeeze(-2), chain.marginals)
    assert torch.allclose(segmentation.max_marginals.squeeze(-2), chain.max_marginals)
    assert torch.equal(segmentation.topk(4)[1], chain.topk(4)[1])
    assert torch.allclose(segmentation.entropy(), chain.entropy())
    assert torch.allclose(segmentation.log_prob(chain.mode), chain.log_prob(chain.mode))


def as_chain(segments: Tensor, transition: Tensor) -> LinearChain:
    """The same distribution over tags (label, duration, how many positions of the segment are past)."""
    n, k, c = segments.shape
    tags = [(label, d, past) for label in range(c) for d in range(k) for past in range(d + 1)]
    unary = torch.full((n, len(tags)), -torch.inf, dtype=segments.dtype)
    steps = torch.full((*transition.shape[:-2], len(tags), len(tags)), -torch.inf, dtype=segments.dtype)
    for i, (label, d, past) in enumerate(tags):
        unary[:, i] = segments[:, d, label] if past == 0 else 0.0
        unary[0, i] = unary[0, i] if past == 0 else -torch.inf
        unary[-1, i] = unary[-1, i] if past == d else -torch.inf
        for j, (following, e, later) in enumerate(tags):
            if (following, e, later) == (label, d, past + 1):
                steps[..., i, j] = 0.0
            elif past == d and later == 0:
                steps[..., i, j] = transition[..., label, following]
    return LinearChain(unary, steps)


@pytest.mark.parametrize("shape", [(3, 3), (39, 3, 3)], ids=["shared", "per position"])
@pytest.mark.parametrize("scale", [0.1, 3.0, 100.0])
def test_long_segmentations_are_a_chain_over_many_more_tags(backend, scale, shape):
    segments, transition = scale * normal(40, 4, 3), scale * normal(*shape, seed=1)
    segmentation, chain = SemiMarkov(segments, transition), as_chain(segments, transition)
    assert torch.allclose(segmentation.log_partition, chain.log_partition)
    assert torch.allclose(segmentation.max_score, chain.max_score)
    assert torch.allclose(segmentation.entropy(), chain.entropy(), atol=1e-6)
    assert torch.allclose(segmentation.topk(5)[0], chain.topk(5)[0])


# Transitions.


def test_transition_marginals_are_the_gradient_in_the_transition(backend):
    transition = normal(3, 3, 3, seed=1).requires_grad_()
    segmentation = SemiMarkov(normal(3, 8, 4, 3), transition, torch.tensor([8, 1, 5]))
    (gradient,) = torch.autograd.grad(segmentation.log_partition.sum(), transition)
    assert torch.allclose(segmentation.transition_marginals, gradient)
    pairs = segmentation.marginals.flatten(1).sum(-1) - 1
    assert torch.allclose(segmentation.transition_marginals.flatten(1).sum(-1), pairs)


def test_a_shared_transition_has_marginals_for_each_item(backend):
    shared = normal(3, 3, seed=1)
    together = SemiMarkov(normal(2, 6, 3, 3), shared).transition_marginals
    alone = SemiMarkov(normal(2, 6, 3, 3)[1], shared).transition_marginals
    assert together.shape == (2, 3, 3)
    assert torch.allclose(together[1], alone)


@pytest.mark.parametrize("scale", [1.0, 300.0])
def test_one_number_scores_all_pairs_alike(backend, scale):
    segments = scale * normal(2, 7, 3, 4)
    number = torch.tensor([[-0.7 * scale]], dtype=torch.float64, requires_grad=True)
    one, every = SemiMarkov(segments, number), SemiMarkov(segments, number.expand(4, 4))
    none, zeros = SemiMarkov(segments), SemiMarkov(segments, torch.zeros(4, 4))
    for short, full in ((one, every), (none, zeros)):
        assert torch.allclose(short.log_partition, full.log_partition)
        assert torch.allclose(short.marginals, full.marginals)
        assert torch.allclose(short.transition_marginals, full.transition_marginals)
        assert torch.allclose(short.max_marginals, full.max_marginals)
        assert torch.equal(short.mode, full.mode)
        assert torch.equal(short.topk(5)[1], full.topk(5)[1])
    (gradient,) = torch.autograd.grad(one.log_partition.sum(), number)
    assert torch.allclose(gradient.squeeze(), one.marginals.sum() - 2)
    assert torch.allclose(kl_divergence(none, one), kl_divergence(zeros, every))
    assert torch.allclose(kl_divergence(every, none), kl_divergence(one, zeros))


def test_one_matrix_at_each_position_is_a_shared_one(backend):
    segments, lengths = normal(3, 7, 3, 4), torch.tensor([7, 4, 1])
    for shared in (normal(4, 4, seed=1), normal(1, 1, seed=1)):
        one, each = (
            SemiMarkov(segments, shared, lengths),
            SemiMarkov(segments, shared.expand(1, 6, -1, -1), lengths),
        )
        for name in ("log_partition", "marginals", "max_marginals", "max_score"):
            assert torch.allclose(getattr(one, name), getattr(each, name))
        assert each.transition_marginals.shape == (3, 6, 4, 4)
        assert torch.allclose(one.transition_marginals, each.transition_marginals.sum(-3))
        assert torch.equal(one.topk(5)[1], each.topk(5)[1])
        assert torch.allclose(one.score(one.mode), each.score(each.mode))
        torch.manual_seed(0)
        drawn = one.sample((20,))
        torch.manual_seed(0)
        assert torch.equal(drawn, each.sample((20,)))
        nothing = torch.zeros(3, dtype=torch.float64)
        assert torch.allclose(kl_divergence(one, each), nothing)
        assert torch.allclose(kl_divergence(each, one), nothing)


def test_items_may_share_the_transitions_of_their_positions(backend):
    segments, transition = normal(3, 5, 2, 2), normal(1, 4, 2, 2, seed=1)
    together = SemiMarkov(segments, transition.requires_grad_())
    (gradient,) = torch.autograd.grad(together.log_partition.sum(), transition)
    alone = [SemiMarkov(item, transition[0]).transition_marginals for item in segments]
    assert torch.allclose(gradient[0], torch.stack(alone).sum(0))


def test_transitions_beyond_a_length_are_not_read(backend):
    segments, transition = normal(2, 5, 3, 2), normal(2, 4, 2, 2, seed=1)
    clean = SemiMarkov(segments, transition, torch.tensor([5, 3]))
    junk = transition.clone()
    junk[1, 2:] = torch.nan  # the last one that is needed leads to position 2
    dirty = SemiMarkov(segments, junk, torch.tensor([5, 3]))
    for name in ("log_partition", "marginals", "transition_marginals", "max_marginals"):
        assert torch.equal(getattr(clean, name), getattr(dirty, name))
    assert torch.equal(clean.mode, dirty.mode)
    junk[1, 1] = torch.nan
    with pytest.raises(ValueError, match=r"transition holds nan at batch item 1, position \(1, "):
        SemiMarkov(segments, junk, torch.tensor([5, 3]))


def test_scores_of_pairs_of_labels_are_not_taken_for_a_batch():
    """``(batch, n, k, c, c)``, as torch-struct has them."""
    potentials = torch.zeros(2, 5, 3, 4, 4)
    for lengths in (None, torch.tensor([5, 3])):
        with pytest.raises(
            ValueError, match=r"score for each pair of labels.*give lengths of shape \(2, 5\)"
        ):
            SemiMarkov(potentials, lengths=lengths)
    assert SemiMarkov(potentials, lengths=torch.full((2, 5), 3)).batch_shape == (2, 5)
    assert SemiMarkov(potentials, torch.zeros(4, 4)).batch_shape == (2, 5)
    assert SemiMarkov(torch.zeros(2, 5, 3, 4, 2)).batch_shape == (2, 5)
    assert SemiMarkov(torch.zeros(5, 3, 4, 4)).batch_shape == (5,)


def test_a_label_may_follow_itself(backend):
    segments = torch.zeros(4, 2, 2)
    segments[:, 1, 0] = 5.0
    assert SemiMarkov(segments).mode.tolist() == [0, -1, 0, -1]
    never = torch.zeros(2, 2).fill_diagonal_(-torch.inf)
    assert SemiMarkov(segments, never).mode.tolist()[2] != 0


@pytest.mark.parametrize("shape", [(2, 2), (4, 3), (2, 4, 3, 3), (3, 3, 3, 3), (5, 3, 3), (1, 3), (2, 3, 1)])
def test_transitions_that_do_not_fit_are_refused(shape):
    with pytest.raises(
        ValueError, match=r"transition has shape .* does not fit segments of shape \(2, 4, 2, 3\)"
    ):
        SemiMarkov(torch.zeros(2, 4, 2, 3), torch.zeros(shape))


# Shapes.


@pytest.mark.parametrize("shape", [(4, 0, 3), (4, 2, 0), (2, 4, 0, 0)])
def test_there_must_be_durations_and_labels(shape):
    with pytest.raises(ValueError, match="no durations or no labels"):
        SemiMarkov(torch.zeros(shape))


def test_segments_need_three_axes():
    with pytest.raises(ValueError, match=r"segments has shape \(4, 2\); expected batch \+ \(n, k, c\)"):
        SemiMarkov(torch.zeros(4, 2))


def test_nan_within_the_length_is_found_and_beyond_it_is_not():
    segments = torch.zeros(2, 4, 3, 2)
    segments[:, 2, 2] = torch.nan
    with pytest.raises(ValueError, match=r"segments holds nan at batch item 1, position \(2, 2, 0\)"):
        SemiMarkov(torch.nn.functional.pad(segments, (0, 0, 0, 0, 0, 1)), lengths=torch.tensor([4, 5]))
    assert SemiMarkov(segments).log_partition.isfinite().all()


def test_sequences_without_a_position_have_one_segmentation(backend):
    empty = SemiMarkov(torch.zeros(2, 0, 4, 3), torch.zeros(3, 3))
    assert empty.log_partition.tolist() == empty.max_score.tolist() == empty.log_count.tolist() == [0, 0]
    scores, events = empty.topk(2)
    assert scores.tolist() == [[0, -math.inf]] * 2
    assert events.shape == (2, 2, 0)
    assert empty.sample((3,)).shape == (3, 2, 0)
    assert empty.entropy().tolist() == [0, 0]
    assert empty.max_marginals.shape == empty.marginals.shape == (2, 0, 4, 3)
    assert empty.transition_marginals.tolist() == torch.zeros(2, 3, 3).tolist()
    assert empty.log_prob(empty.mode).tolist() == [0, 0]
    assert empty.enumerate_support().shape == (1, 2, 0)


# Events.


def event(*labels: int) -> Tensor:
    return torch.tensor(labels)


def test_what_stands_beyond_the_length_is_no_matter():
    segmentation = SemiMarkov(normal(5, 2, 2), lengths=torch.tensor(3))
    assert segmentation.score(event(0, -1, 1, -1, -1)) == segmentation.score(event(0, -1, 1, 7, 0))
    assert not segmentation.is_structure(event(0, -1, -1, 0, 0))


def test_parts_are_named_by_start_duration_and_label():
    segmentation = SemiMarkov(torch.zeros(5, 3, 2), validate_args=True)
    parts = segmentation.to_parts(event(1, -1, -1, 0, 0))
    assert parts.nonzero().tolist() == [[0, 2, 1], [3, 0, 0], [4, 0, 0]]
    with pytest.raises(ValueError, match="made of labels 0 to 1 and segments of at most 3 positions"):
        segmentation.to_parts(event(1, -1, -1, -1, 0))


def test_too_many_candidates_are_refused():
    with pytest.raises(ValueError, match=r"3 to the power of 20 events are too many"):
        SemiMarkov(torch.zeros(20, 2, 2)).enumerate_support()


# Conditions.


@pytest.mark.parametrize("other", [(2, 1, 1), (2, 0, 0), (3, 0, 0), (1, 2, 0), (1, 1, 1)])
def test_overlapping_requirements_leave_nothing(other):
    required = torch.zeros(6, 3, 2, dtype=torch.bool)
    required[2, 1, 0] = required[other] = True
    assert SemiMarkov(torch.zeros(6, 3, 2)).condition(required=required).log_partition == -torch.inf


def test_requirements_that_touch_are_both_met():
    required = torch.zeros(6, 3, 2, dtype=torch.bool)
    required[0, 1, 0] = required[2, 0, 0] = required[3, 2, 1] = True
    assert SemiMarkov(torch.zeros(6, 3, 2)).condition(required=required).mode.tolist() == [
        0,
        -1,
        0,
        1,
        -1,
        -1,
    ]


def test_requirements_beyond_the_length_are_ignored():
    required = torch.zeros(6, 3, 2, dtype=torch.bool)
    required[3, 2, 0] = True
    free = SemiMarkov(normal(6, 3, 2), lengths=torch.tensor(5))
    assert free.condition(required=required).log_partition == free.log_partition


def test_the_first_position_always_starts_a_segment():
    segmentation = SemiMarkov(torch.zeros(4, 2, 2))
    first = torch.arange(4) == 0
    assert segmentation.partial_log_prob(torch.full((4,), -1), first) == -torch.inf


# Sizes and scales.


@pytest.mark.parametrize("scale", [1.0, 1e4])
@pytest.mark.parametrize("labels", [None, 5])
def test_ten_thousand_positions_in_single_precision(scale, labels):
    segments = scale * normal(1, 10_000, 4, 5).float()
    transition = None if labels is None else scale * normal(5, 5, seed=1).float()
    found = []
    for dtype in (torch.float32, torch.float64):
        leaf = segments.to(dtype).requires_grad_()
        segmentation = SemiMarkov(leaf, None if transition is None else transition.to(dtype))
        value = segmentation.log_partition
        (gradient,) = torch.autograd.grad(value.sum(), leaf)
        found.append((value.detach().double(), gradient.double(), segmentation.max_score.detach().double()))
    for single, double in zip(*found, strict=True):
        assert torch.allclose(single, double, rtol=1e-5, atol=1e-5)
    assert torch.allclose(found[1][1].sum((-2, -1)).sum(), segmentation.marginals.sum())


def test_scores_of_any_size_are_shifted_exactly(backend):
    """A constant for each position that a segment covers shifts the log-partition by n times the constant."""
    segments = normal(30, 4, 3)
    plain = SemiMarkov(segments)
    shifted = SemiMarkov(segments + 1e4 * torch.arange(1, 5)[:, None])
    assert torch.allclose(shifted.log_partition, plain.log_partition + 30e4)
    assert torch.allclose(shifted.marginals, plain.marginals, atol=1e-8)
    assert torch.equal(shifted.mode, plain.mode)
