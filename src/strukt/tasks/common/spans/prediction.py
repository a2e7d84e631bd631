"""Predicted spans, and their pictures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from strukt.viz import Bracket


class PredictedSpan(NamedTuple):
    """A span of a predicted tree.

    Attributes:
        start: Its first word, counted from 0.
        end: The word after its last one.
        label: Its label.
        probability: The marginal probability of the span with this label, or with this code if there is one; if it
            was asked for.
        code: The binary code that stands for the label, if there is one.
    """

    start: int
    end: int
    label: str
    probability: float | None = None
    code: int | None = None


@dataclass(frozen=True)
class SpanPrediction:
    """The predicted spans of a sentence, which nest.

    Attributes:
        brackets: What a picture shows of them, outer ones first, then from left to right.
        bits: Length of the codes; 0 without codes.
        codes: All codes that the model knows.
        shares: See `Prediction`.
    """

    brackets: Sequence[Bracket]
    bits: int
    codes: Sequence[int]
    shares: Mapping[str, tuple[float, float]]


def bracket(span: PredictedSpan, label: str) -> Bracket:
    """Draw a span as a bracket."""
    return Bracket(label, span.start, span.end, span.code, span.probability)
