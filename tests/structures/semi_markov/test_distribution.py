"""Segmentations: counts by formula, chains as special cases, events, what is required, sizes and scales."""


import pytest
import torch
from tests.scores import normal
from torch import Tensor
from torch.distributions import kl_divergence

from strukt.distributions import LinearChain, SemiMarkov


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


@pytest.mark.parametrize("shape", [(5, 5), (4, 8, 5, 5)], ids=["shared", "from position t to t + 1"])
def test_segments_of_one_position_are_the_tags_of_a_chain(backend, shape):
    unary, transition, lengths = normal(4, 9, 5), normal(*shape, seed=1), torch.tensor([9, 1, 0, 6])
    segmentation = SemiMarkov(unary.unsqueeze(-2), transition, lengths)
    chain = LinearChain(unary, transition, lengths)
    pairs = chain.transition_marginals.sum(-3) if len(shape) == 2 else chain.transition_marginals
    assert torch.allclose(segmentation.transition_marginals, pairs)
    for name in ("log_partition", "max_score"):
        assert torch.allclose(getattr(segmentation, name), getattr(chain, name))
    assert torch.allclose(segmentation.marginals.squeeze(-2), chain.marginals)
    assert torch.allclose(segmentation.max_marginals.squeeze(-2), chain.max_marginals)
    assert torch.equal(segmentation.topk(4)[1], chain.topk(4)[1])
    assert torch.allclose(segmentation.entropy(), chain.entropy())
    assert torch.allclose(segmentation.log_prob(chain.mode), chain.log_prob(chain.mode))


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


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        ((4, 0, 3), "no durations or no labels"),
        ((4, 2, 0), "no durations or no labels"),
        ((4, 2), r"segments has shape \(4, 2\); expected batch \+ \(n, k, c\)"),
    ],
)
def test_segments_of_other_shapes_are_refused(shape, message):
    with pytest.raises(ValueError, match=message):
        SemiMarkov(torch.zeros(shape))


# Events.


def event(*labels: int) -> Tensor:
    return torch.tensor(labels)


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
    given = SemiMarkov(torch.zeros(6, 3, 2)).condition(required=required)
    assert given.mode.tolist() == [0, -1, 0, 1, -1, -1]


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
