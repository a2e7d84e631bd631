"""CTC decoding from the label probabilities of frames: greedy (best path) and prefix beam search."""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor

from strukt.checks import arguments, guards
from strukt.checks.guards import UNBOUNDED
from strukt.checks.lengths import Lengths
from strukt.kernels.jit import over_batch, thread_count
from strukt.kernels.memory import filled, no_events
from strukt.structures.ctc import cpu_prefix_beam_search
from strukt.structures.ctc.ngrams import NgramModel, ngrams_of
from strukt.structures.ctc.spans import LabelSpans, label_spans


class Transcripts(NamedTuple):
    """The best transcripts that a beam search found.

    Attributes:
        scores: ``batch + (k,)``, in descending order; if there are fewer than k transcripts, the others are -inf.
        labels: ``batch + (k, m)`` for m labels in the longest transcript; -1 after the last label.
    """

    scores: Tensor
    labels: Tensor

    @property
    def lengths(self) -> Tensor:
        """The number of labels of each transcript, ``batch + (k,)``."""
        return (self.labels >= 0).sum(-1)


def ctc_greedy(log_probs: Tensor, lengths: Lengths | None = None, blank: int = 0) -> LabelSpans:
    """Return the labels of the best path: the best label of each frame, repeats merged, blanks dropped.

    The path is the best labelling of the frames (best path decoding, Graves et al. 2006). Its transcript need not
    be the most probable, because the probability of a transcript sums over all its labellings: see
    `ctc_beam_search`. Of equally good labels of a frame, the first is taken.

    Args:
        log_probs: ``batch + (n, c)``, the scores of c labels at n frames; they need not be normalised.
        lengths: ``batch``, in frames; all n if None.
        blank: The blank label.

    Returns:
        The labels, ``batch + (m,)`` for m labels in the longest transcript, with the frames and the mean score of
        each label.

    Raises:
        ValueError: If shapes, types or values do not fit.

    Complexity:
        Time O(n c) per item.

    Examples:
        >>> frames = torch.tensor([0, 2, 2, 0, 2, 1])
        >>> result = ctc_greedy(torch.nn.functional.one_hot(frames).float())
        >>> result.labels, result.starts
        (tensor([2, 2, 1]), tensor([1, 4, 5]))
    """
    lengths = _checked(log_probs, lengths, blank)
    return label_spans(log_probs.argmax(-1), log_probs, lengths, blank)


@torch.no_grad()
def ctc_beam_search(
    log_probs: Tensor,
    lengths: Lengths | None = None,
    blank: int = 0,
    beam_size: int = 16,
    k: int = 1,
    language_model: NgramModel | None = None,
    language_weight: float = 1.0,
    insertion_bonus: float | Tensor = 0.0,
) -> Transcripts:
    """Return transcripts with high scores, by prefix beam search on the CPU; not differentiable.

    The score of a transcript y is

        log p(y | frames) + language_weight log p(y | language model) + the sum of the bonuses of its labels,

    where p(y | frames) sums over the labellings of y whose prefixes stay on the beam. log p(y | frames) is at
    most the log-partition of `CTC` with the target y, and equal to it if the beam is wide enough for all prefixes.

    Args:
        log_probs: ``batch + (n, c)``, the log-probabilities of c labels at n frames, from ``log_softmax``.
        lengths: ``batch``, in frames; all n if None.
        blank: The blank label.
        beam_size: The number of prefixes kept at each frame.
        k: The number of transcripts to return, at most ``beam_size``.
        language_model: A `strukt.nn.KneserNey` over the c labels as words, in which the blank never occurs; None
            for no language model.
        language_weight: The weight of the language model's log-probability.
        insertion_bonus: The score added for each label, to offset the language model's preference for short
            transcripts; or ``(c,)``, a score for each label, -inf to forbid it. A bonus for the space alone is a
            bonus for each word.

    Returns:
        The `Transcripts`: scores ``batch + (k,)``, and labels ``batch + (k, m)`` for m labels in the longest one.

    Raises:
        ValueError: If shapes, types or values do not fit.

    Complexity:
        Time O(n beam_size c log beam_size) per item, memory O(beam_size (n + c)); items in parallel.

    Source:
        Hannun et al. (2014), "First-pass large vocabulary continuous speech recognition using bi-directional
        recurrent DNNs", algorithm 1.

    Examples:
        The best path is two blanks, but all paths of the transcript [1] together are more probable:

        >>> from strukt import ctc_greedy
        >>> log_probs = torch.tensor([[0.6, 0.4], [0.6, 0.4]]).log()
        >>> ctc_greedy(log_probs).labels
        tensor([], dtype=torch.int64)
        >>> result = ctc_beam_search(log_probs, k=2)
        >>> result.labels.tolist(), result.scores.exp()
        ([[1], [-1]], tensor([0.6400, 0.3600]))
    """
    lengths = _checked(log_probs, lengths, blank)
    beam_size, k = _sizes(beam_size, k)
    *batch, n, labels = log_probs.shape
    if language_model is not None:
        _require_words(language_model, labels)
    bonus = torch.as_tensor(insertion_bonus, dtype=torch.float64, device="cpu")
    arguments.fitting("insertion_bonus", bonus, torch.Size([labels]))
    _require_weights(language_weight, bonus)
    items = torch.Size(batch).numel()
    (rows,) = arguments.common_dtype((log_probs,), ("log_probs",))
    result, scores = no_events(items, k, n), filled((items, k), -torch.inf, torch.float64)
    over_batch(
        cpu_prefix_beam_search.search,
        thread_count(items, items * n * beam_size * labels),
        rows.cpu().reshape(items, n, labels).double(),  # so that the search is compiled for one type only
        lengths.cpu().reshape(items),
        blank,
        beam_size,
        ngrams_of(language_model),
        float(language_weight),
        bonus.expand(labels),
        result,
        scores,
    )
    longest = int((result >= 0).sum(-1).max()) if result.numel() else 0
    return Transcripts(
        scores.to(rows.dtype).reshape(*batch, k).to(log_probs.device),
        result[..., :longest].reshape(*batch, k, longest).to(log_probs.device),
    )


def _checked(log_probs: Tensor, lengths: Lengths | None, blank: int) -> Tensor:
    """Check the arguments and return the lengths as a tensor.

    Raises:
        ValueError: If shapes, types or values do not fit.
    """
    arguments.scores("log_probs", log_probs, "batch + (n, c)", 2)
    *batch, n, labels = log_probs.shape
    arguments.blank(blank, labels)
    lengths = arguments.lengths(lengths, torch.Size(batch), n, log_probs.device)
    items = torch.Size(batch).numel()
    rows = log_probs.detach().reshape(items, n, labels)
    guards.require_scores(rows, lengths.reshape(items), [0, UNBOUNDED], "log_probs")
    return lengths


def _sizes(beam_size: int, k: int) -> tuple[int, int]:
    """Check and return the size of the beam and the number of transcripts.

    Raises:
        ValueError: If either is not an integer in its range.
    """
    beam_size = arguments.positive_integer("beam_size", beam_size)
    if not arguments.is_integer(k) or not 1 <= k <= beam_size:
        raise ValueError(f"k is {k!r}; expected an integer from 1 to beam_size, which is {beam_size}")
    return beam_size, int(k)


def _require_weights(language_weight: float, bonus: Tensor) -> None:
    """Check that the weight is finite, and that all bonuses are finite, or -inf for forbidden labels.

    Raises:
        ValueError: If they are not.
    """
    if not math.isfinite(language_weight):
        raise ValueError(f"language_weight is {language_weight}; expected a finite number")
    wrong = bonus.isnan() | (bonus == torch.inf)
    if bool(wrong.any()):
        raise ValueError(f"insertion_bonus holds {bonus[wrong][0].item()}; expected finite numbers or -inf")


def _require_words(language_model: NgramModel, labels: int) -> None:
    """Check that a language model has been trained, on a vocabulary of as many words as there are labels.

    Raises:
        ValueError: If it has not, or is not an n-gram model.
    """
    if not hasattr(language_model, "levels") or not hasattr(language_model, "words"):
        raise ValueError(
            f"language_model is a {type(language_model).__name__}; expected a strukt.nn.KneserNey, or None"
        )
    if language_model.words != labels:
        raise ValueError(
            f"language_model has {language_model.words} words; expected {labels}, the number of labels in "
            "log_probs, including the blank"
        )
    if not language_model.levels:
        raise ValueError("language_model has counted no sentences; call its count(sentences) first")
