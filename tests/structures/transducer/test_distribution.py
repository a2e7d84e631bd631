"""Transducers: counts by formula, the two ways to see a path, targets and labels, what is refused."""

import math

import pytest
import torch
from tests.scores import normal

from strukt.distributions import Transducer
from strukt.testing import brute_force


@pytest.mark.parametrize(("n", "m"), [(1, 0), (1, 4), (4, 1), (3, 3), (9, 6), (40, 20)])
def test_counts(n, m):
    """Each of m labels is emitted at one of n frames, in order."""
    transducer = Transducer(torch.zeros(n, m + 1, 2, dtype=torch.float64))
    assert math.isclose(transducer.log_count, math.log(math.comb(n + m - 1, m)), abs_tol=1e-12)


def test_items_of_all_lengths_are_those_of_enumeration():
    moves, frames, labels = normal(6, 4, 4, 2), [4, 2, 1, 0, 0, 3], [3, 0, 2, 0, 2, 1]
    transducer = Transducer(moves, frames, labels)
    for item in range(6):
        table = brute_force.transducer(frames[item], labels[item], moves[item])
        total = table.scores.logsumexp(0) if len(table.scores) else torch.tensor(-math.inf).double()
        assert torch.isclose(transducer.log_partition[item], total)
        if len(table.scores):
            weights = (table.scores - total).exp()
            expected = torch.einsum("s,sijk->ijk", weights, table.parts)
            assert torch.allclose(transducer.marginals[item], expected)
            best = table.events[table.scores.argmax()]
            assert torch.equal(transducer.topk(1).events[item, 0], best)
    assert transducer.topk(1).scores[4].item() == -math.inf
    assert (transducer.marginals[4] == 0).all()


@pytest.mark.parametrize("backend", ["reference", "cpu"])
def test_the_label_behind_the_last_one_is_not_read(on, backend):
    on(backend)
    moves, frames, labels = normal(2, 4, 4, 2), [4, 3], [3, 1]
    dirty = moves.clone()
    dirty[0, :, 3, 1] = dirty[1, :, 1, 1] = math.nan
    dirty.requires_grad_()
    clean, other = Transducer(moves, frames, labels), Transducer(dirty, frames, labels)
    assert torch.equal(clean.log_partition, other.log_partition)
    assert torch.equal(clean.marginals, other.marginals)
    assert torch.equal(clean.mode, other.mode)
    assert torch.equal(clean.entropy(), other.entropy())
    assert torch.equal(clean.score(clean.mode), other.score(other.mode))
    (gradient,) = torch.autograd.grad(other.entropy().sum(), dirty)
    assert torch.isfinite(gradient).all()


def test_frames_of_the_best_path():
    moves = torch.zeros(5, 4, 2)
    for t, u in ((1, 0), (1, 1), (4, 2)):
        moves[t, u, 1] = 5.0
    transducer = Transducer(moves)
    assert transducer.frames().tolist() == [1, 1, 4]
    drawn = transducer.sample((6,))
    frames = transducer.frames(drawn)
    assert frames.shape == (6, 3)
    assert (frames[:, 1:] >= frames[:, :-1]).all()
    emitted = drawn == 1
    assert torch.equal(emitted.sum((-1, -2)), torch.full((6,), 3))
    short = Transducer(moves.expand(2, 5, 4, 2), target_lengths=[3, 1])
    assert short.frames()[1, 1:].tolist() == [-1, -1]


def test_logits_of_all_labels():
    logits, targets = normal(2, 3, 3, 5).log_softmax(-1), torch.tensor([[4, 1], [3, -1]])
    transducer = Transducer.from_logits(logits, targets, [3, 2], [2, 1], blank=2)
    moves = transducer.scores[0]
    assert torch.equal(moves[..., 0], logits[..., 2])
    assert torch.equal(moves[0, :, 0, 1], logits[0, :, 0, 4])
    assert torch.equal(moves[0, :, 1, 1], logits[0, :, 1, 1])
    assert torch.equal(moves[1, :, 0, 1], logits[1, :, 0, 3])


def test_all_targets_together_have_less_than_probability_one():
    """At one frame, no label, one and two have what those of more labels leave."""
    logits = normal(1, 3, 2).log_softmax(-1)
    said = [
        Transducer.from_logits(logits[:, : m + 1], torch.ones(m, dtype=torch.long)).log_partition.exp()
        for m in range(3)
    ]
    assert torch.isclose(1 - sum(said), logits[0, :, 1].sum().exp())


@pytest.mark.parametrize(
    ("event", "message"),
    [
        ([[0, -1], [0, -1]], "the last frame is left after 0 labels; expected 1"),
        ([[1, 0], [-1, 1]], r"the label out of node \(1, 1\) is one more than the target has, 1"),
        ([[1, -1], [-1, 0]], r"node \(0, 1\) is on the path, but no move leads out of it"),
        ([[1, 0], [0, 0]], r"node \(1, 0\) has move 0, but is not on the path; expected -1"),
        ([[2, 0], [-1, 0]], r"move 2 out of node \(0, 0\) is out of range; expected 0 \(blank\) or 1 \(label\)"),
        ([[-100, 0], [-1, 0]], r"node \(0, 0\) holds -100.*partial_log_prob"),
    ],
)
def test_the_fault_of_an_event_is_told(event, message):
    transducer = Transducer(torch.zeros(2, 2, 2), validate_args=True)
    assert not transducer.is_structure(torch.tensor(event))
    with pytest.raises(ValueError, match=message):
        transducer.log_prob(torch.tensor(event))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Transducer(torch.zeros(3, 3)), r"moves has shape \(3, 3\)"),
        (lambda: Transducer(torch.zeros(3, 3, 5)), r"expected batch \+ \(n, m \+ 1, 2\).*Transducer.from_logits"),
        (lambda: Transducer(torch.zeros(3, 0, 2)), r"moves has shape \(3, 0, 2\)"),
        (lambda: Transducer(torch.zeros(3, 3, 2), 4), "lengths holds .*expected 0 to 3"),
        (lambda: Transducer(torch.zeros(3, 3, 2), 3, 3), "target_lengths holds .*expected 0 to 2"),
        (
            lambda: Transducer.from_logits(torch.zeros(2, 3, 4), torch.tensor([1, 0])),
            "targets holds 0 at .*position 1",
        ),
        (
            lambda: Transducer.from_logits(torch.zeros(2, 3, 4), torch.tensor([1])),
            r"targets has shape \(1,\); expected \(2,\)",
        ),
    ],
)
def test_wrong_arguments_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()
