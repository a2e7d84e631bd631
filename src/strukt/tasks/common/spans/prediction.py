"""Predicted spans, and their pictures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from strukt.viz import Bracket


class PredictedSpan(NamedTuple):
    """A predicted span.

    Attributes:
        start: Index of its first word, from 0.
        end: Index after that of its last word.
        label: Its label, which may be the empty label.
        probability: Marginal probability of the span with this label, or with this code; None if not requested.
        code: The binary code that the label was looked up by; None for models without codes.

    Examples:
        >>> PredictedSpan(0, 2, "NP", probability=0.9).label
        'NP'
    """

    start: int
    end: int
    label: str
    probability: float | None = None
    code: int | None = None


@dataclass(frozen=True)
class SpanPrediction:
    """The predicted spans of a sentence, which may be nested.

    Attributes:
        brackets: The spans to draw, outer before inner, then from left to right.
        bits: Number of bits of a code; 0 without codes.
        codes: All codes that occurred in the training corpus; empty without codes.
        shares: See `Prediction`.
    """

    brackets: Sequence[Bracket]
    bits: int
    codes: Sequence[int]
    shares: Mapping[str, tuple[float, float]]


def bracket(span: PredictedSpan, label: str) -> Bracket:
    """Return a span as a bracket to draw, with this label."""
    return Bracket(label, span.start, span.end, span.code, span.probability)
