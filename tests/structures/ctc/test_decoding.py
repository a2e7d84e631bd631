"""Transcripts: the best path, and beam search against the enumeration of all labellings."""

import itertools
import math
from collections import defaultdict

import pytest
import torch
from torch import Tensor

import strukt
from strukt.nn import KneserNey
from strukt.structures.ctc.decoding import Transcripts

SENTENCES = [torch.tensor(each) for each in ([1, 2], [1, 2, 2], [2, 1], [1], [2, 2, 1, 1], [1, 2, 1])]


def log_probs(*shape: int, seed: int = 0, scale: float = 1.0) -> Tensor:
    scores = torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    return (scale * scores).log_softmax(-1)


def language_model(order: int = 3, words: int = 3) -> KneserNey:
    model = KneserNey(words, order)
    model.count(SENTENCES)
    return model


def collapsed(labels: tuple[int, ...], blank: int) -> tuple[int, ...]:
    return tuple(label for label, _ in itertools.groupby(labels) if label != blank)


def all_transcripts(frames: Tensor, blank: int, extra=lambda labels: 0.0) -> list[tuple[float, list[int]]]:
    """The score of every transcript, from all labellings, the best one first."""
    n, c = frames.shape
    totals = defaultdict(list)
    for labels in itertools.product(range(c), repeat=n):
        totals[collapsed(labels, blank)].append(sum(frames[t, label] for t, label in enumerate(labels)))
    scored = [
        (float(torch.stack(each).logsumexp(0)) + extra(labels), list(labels))
        for labels, each in totals.items()
    ]
    return sorted(scored, reverse=True)


def assert_found(found: Transcripts, expected, k: int) -> None:
    scores = torch.tensor([score for score, _ in expected[:k]], dtype=torch.float64)
    assert torch.allclose(found.scores[:k], scores)
    for row, (_, labels) in zip(found.labels, expected, strict=False):
        assert row[row >= 0].tolist() == labels


@pytest.mark.parametrize("blank", [0, 2])
@pytest.mark.parametrize("seed", range(4))
def test_a_wide_beam_finds_all_transcripts(seed, blank):
    frames = log_probs(5, 3, seed=seed)
    expected = all_transcripts(frames, blank)
    count = len(expected)
    found = strukt.ctc_beam_search(frames, blank=blank, beam_size=count + 5, k=count + 5)
    assert_found(found, expected, count)
    assert (found.scores[count:] == -math.inf).all()
    assert (found.labels[count:] == -1).all()
    assert math.isclose(found.scores.exp().sum(), 1.0)


@pytest.mark.parametrize("order", [1, 2, 3, 4])
@pytest.mark.parametrize("weight", [0.5, 2.0])
def test_language_model_and_bonus_are_added(order, weight):
    frames, model = log_probs(5, 3, seed=order), language_model(order)
    bonus = torch.tensor([0.0, 0.7, -0.2])

    def extra(labels: tuple[int, ...]) -> float:
        text = torch.tensor([labels], dtype=torch.long)
        return weight * float(model.log_probs(text).sum()) + sum(float(bonus[label]) for label in labels)

    expected = all_transcripts(frames, 0, extra)
    found = strukt.ctc_beam_search(
        frames,
        beam_size=len(expected),
        k=9,
        language_model=model,
        language_weight=weight,
        insertion_bonus=bonus,
    )
    assert_found(found, expected, 9)


def test_a_language_model_without_weight_is_not_asked():
    frames, model = log_probs(6, 3), language_model()
    silent = strukt.ctc_beam_search(frames, k=4, language_model=model, language_weight=0.0)
    alone = strukt.ctc_beam_search(frames, k=4)
    assert torch.equal(silent.labels, alone.labels)
    assert torch.equal(silent.scores, alone.scores)


def test_one_bonus_for_all_labels():
    frames = log_probs(5, 3)
    expected = all_transcripts(frames, 0, lambda labels: 1.5 * len(labels))
    assert_found(strukt.ctc_beam_search(frames, beam_size=63, k=5, insertion_bonus=1.5), expected, 5)


@pytest.mark.parametrize("beam_size", [1, 2, 4, 7])
def test_a_narrow_beam_finds_transcripts_of_at_most_their_probability(beam_size):
    """A text that has left the beam is lost, and one that comes back is known as the same."""
    frames = log_probs(40, 4, seed=beam_size, scale=2.0)
    found = strukt.ctc_beam_search(frames, beam_size=beam_size, k=beam_size)
    texts = [tuple(row[row >= 0].tolist()) for row in found.labels]
    assert len(set(texts)) == beam_size
    assert (found.scores[:-1] >= found.scores[1:]).all()
    for text, score in zip(texts, found.scores, strict=True):
        assert score <= strukt.CTC(frames, torch.tensor(text, dtype=torch.long)).log_partition + 1e-9


def test_a_beam_of_some_hundred_finds_nearly_all_probability_of_the_best():
    frames = log_probs(60, 6, scale=10.0)
    found = strukt.ctc_beam_search(frames, beam_size=200)
    total = strukt.CTC(frames, found.labels[0]).log_partition
    assert torch.isclose(found.scores[0], total, atol=5e-3)
    assert found.scores[0] >= strukt.CTC(frames, strukt.ctc_greedy(frames).labels).log_partition - 5e-3


def test_items_of_a_batch_are_decoded_alone():
    frames = log_probs(2, 3, 8, 4)
    lengths = torch.tensor([[8, 5, 0], [1, 8, 3]])
    padded = frames.masked_fill(torch.arange(8)[:, None] >= lengths[..., None, None], math.nan)
    together = strukt.ctc_beam_search(padded, lengths, k=3)
    greedy = strukt.ctc_greedy(padded.nan_to_num(0.0), lengths)
    assert together.scores.shape == (2, 3, 3)
    assert together.lengths[0, 2].tolist() == [0, 0, 0]
    assert together.scores[0, 2].tolist() == [0.0, -math.inf, -math.inf]
    for i, j in itertools.product(range(2), range(3)):
        alone = strukt.ctc_beam_search(frames[i, j, : lengths[i, j]], k=3)
        assert torch.equal(alone.scores, together.scores[i, j])
        width = alone.labels.shape[-1]
        assert torch.equal(alone.labels, together.labels[i, j, :, :width])
        assert (together.labels[i, j, :, width:] == -1).all()
        single = strukt.ctc_greedy(frames[i, j, : lengths[i, j]])
        assert single.labels.tolist() == [label for label in greedy.labels[i, j].tolist() if label >= 0]


def test_an_empty_batch_and_no_frames():
    assert strukt.ctc_beam_search(torch.zeros(0, 5, 3)).labels.shape == (0, 1, 0)
    assert strukt.ctc_beam_search(torch.zeros(0, 3)).scores.tolist() == [0.0]
    assert strukt.ctc_greedy(torch.zeros(0, 3)).labels.shape == (0,)


def test_float32_and_half_are_decoded_alike():
    frames = log_probs(20, 5)
    exact = strukt.ctc_beam_search(frames)
    single = strukt.ctc_beam_search(frames.float())
    assert single.scores.dtype == torch.float32
    assert torch.equal(single.labels, exact.labels)
    assert torch.allclose(single.scores.double(), exact.scores, rtol=1e-5)
    assert strukt.ctc_beam_search(frames.half()).scores.dtype == torch.float32


def test_forbidden_labels_are_never_said():
    frames = log_probs(6, 4)
    frames[:, 2] = -math.inf
    found = strukt.ctc_beam_search(frames, beam_size=8, k=8)
    assert not (found.labels == 2).any()
    impossible = strukt.ctc_beam_search(torch.full((3, 4), -math.inf))
    assert impossible.scores.tolist() == [-math.inf]
    assert impossible.labels.shape == (1, 0)


def test_the_best_path_is_collapsed_and_timed():
    frames = torch.tensor([[0, 1, 1, 0, 1, 2, 2], [2, 2, 0, 0, 0, 0, 0]])
    scores = torch.nn.functional.one_hot(frames, 3).double() * torch.arange(1.0, 8)[:, None]
    found = strukt.ctc_greedy(scores, torch.tensor([7, 4]))
    assert found.labels.tolist() == [[1, 1, 2], [2, -1, -1]]
    assert found.starts.tolist() == [[1, 4, 5], [0, -1, -1]]
    assert found.ends.tolist() == [[3, 5, 7], [2, -1, -1]]
    assert found.scores.tolist() == [[2.5, 5.0, 6.5], [1.5, 0.0, 0.0]]


def test_spans_of_an_alignment_are_those_of_its_labels():
    frames, targets = log_probs(3, 12, 5), torch.tensor([[1, 2, 3], [2, 2, 0], [0, 0, 0]])
    ctc = strukt.CTC(frames, targets, torch.tensor([12, 9, 4]), torch.tensor([3, 2, 0]))
    spans = ctc.spans()
    for item, (labels, path) in enumerate(zip(spans.labels, ctc.mode, strict=True)):
        assert labels.tolist() == [*targets[item, : ctc.target_lengths[item]].tolist(), -1, -1, -1][:3]
        for place, label in enumerate(labels[labels >= 0].tolist()):
            start, end = int(spans.starts[item, place]), int(spans.ends[item, place])
            assert path[start:end].tolist() == [label] * (end - start)
            assert torch.isclose(spans.scores[item, place], frames[item, start:end, label].mean())
    drawn = ctc.sample((4,))
    assert ctc.spans(drawn).starts.shape == (4, 3, 3)
    assert torch.equal(ctc.spans(drawn).labels[2], spans.labels)
    with pytest.raises(ValueError, match="batch item"):
        ctc.spans(torch.zeros(3, 12, dtype=torch.long))


def test_scores_of_spans_are_differentiable():
    frames = log_probs(6, 3).requires_grad_()
    spans = strukt.CTC(frames, torch.tensor([1, 2])).spans()
    (gradient,) = torch.autograd.grad(spans.scores.sum(), frames)
    assert math.isclose(gradient.sum(), 2.0)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"log_probs": torch.zeros(3)}, r"log_probs has shape \(3,\); expected batch \+ \(n, c\)"),
        ({"log_probs": torch.full((5, 3), math.nan)}, "log_probs"),
        ({"lengths": 6}, "lengths holds 6 .*expected 0 to 5"),
        ({"blank": 3}, "blank is 3; expected one of the labels, an integer from 0 to 2"),
        ({"beam_size": 0}, "beam_size is 0; expected a positive integer"),
        ({"k": 17}, "k is 17; expected an integer from 1 to beam_size, which is 16"),
        ({"language_model": object()}, "language_model is a object; expected a strukt.nn.KneserNey"),
        ({"language_model": language_model(words=4)}, "language_model has 4 words; expected 3"),
        ({"language_model": KneserNey(3)}, "language_model has counted no sentences"),
        ({"insertion_bonus": torch.zeros(2)}, r"insertion_bonus has shape \(2,\)"),
        ({"insertion_bonus": math.nan}, "insertion_bonus holds nan; expected finite numbers or -inf"),
        ({"language_weight": math.nan}, "language_weight is nan; expected a finite number"),
    ],
)
def test_wrong_arguments_are_named(change, message):
    with pytest.raises(ValueError, match=message):
        strukt.ctc_beam_search(**{"log_probs": torch.zeros(5, 3)} | change)
