"""Chains of tags without some spans, which no mask of single tags could forbid."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from strukt.data.tag_schemes.bio_schemes import Scheme
from strukt.distributions import LinearChain

Span = tuple[int, int, str]
"""First word, position after the last word, and label of a span."""


class _Places(NamedTuple):
    """The tags of a label as indices: of the first of several words, between, of the last, of a single word."""

    first: int
    inside: int
    last: int
    single: int


def without_spans(
    chain: LinearChain, spans: Sequence[Span], scheme: Scheme, numbers: Mapping[str, int]
) -> LinearChain:
    """Return the distribution over the tag sequences of a sentence that contain none of the forbidden spans.

    A span is a sequence of tags, so an automaton forbids it. Its state is an additional tag, a copy of the inside
    tag: a word has the copy if all words from the start of the span to this one have the tags of the span. The tag
    that would then complete the span is forbidden. Copies are numbered after the tags, in the order of `copies`.

    Args:
        chain: The distribution for a single sentence, without a batch axis.
        spans: The forbidden spans.
        scheme: The tagging scheme.
        numbers: The index of each tag.

    Complexity: that of the chain with one more tag for each first word and label of a span.
    """
    unary, transition = chain.scores
    n, tags = unary.shape
    groups = _ends(spans)
    size = tags + len(groups)
    unary = torch.cat([unary, unary.new_full((n, len(groups)), -torch.inf)], -1)
    steps = unary.new_full((max(n - 1, 0), size, size), -torch.inf)
    steps[:, :tags, :tags] = transition.expand(steps.shape[0], tags, tags)
    for copy, ((start, label), ends) in enumerate(groups.items(), tags):
        places = _places(scheme, numbers, label)
        _follow(unary, steps, places, copy, start, max(ends))
        for end in ends:
            _forbid(unary, steps, places, copy, start, end)
    return LinearChain(unary, steps, validate_args=False)


def copies(spans: Sequence[Span], scheme: Scheme, numbers: Mapping[str, int]) -> list[int]:
    """Return, for each additional tag of `without_spans`, the index of the tag that it is a copy of."""
    return [_places(scheme, numbers, label).inside for _, label in _ends(spans)]


def _ends(spans: Sequence[Span]) -> dict[tuple[int, str], list[int]]:
    """Group the ends of spans by first word and label: spans that begin alike share a copy of the inside tag."""
    groups = defaultdict(list)
    for start, end, label in sorted(set(spans)):
        groups[start, label].append(end)
    return dict(groups)


def _places(scheme: Scheme, numbers: Mapping[str, int], label: str) -> _Places:
    first, inside, last = (numbers[tag] for tag in scheme.span(label, 3))
    return _Places(first, inside, last, numbers[scheme.span(label, 1)[0]])


def _follow(unary: Tensor, steps: Tensor, places: _Places, copy: int, start: int, end: int) -> None:
    """Replace the inside tag by its copy where all words since the start have the tags of the span."""
    for word in range(start + 1, end if places.last == places.inside else end - 1):
        before, original = (copy, places.inside) if word > start + 1 else (places.first, places.first)
        unary[word, copy] = unary[word, places.inside]
        steps[word - 1, before, copy] = steps[word - 1, original, places.inside]
        steps[word - 1, before, places.inside] = -torch.inf
        if word < len(steps):
            steps[word, copy] = steps[word, places.inside]


def _forbid(unary: Tensor, steps: Tensor, places: _Places, copy: int, start: int, end: int) -> None:
    """Forbid the tag that would complete a span after its first tags."""
    if places.last != places.inside:  # the last tag marks the end
        if end - start == 1:
            unary[start, places.single] = -torch.inf
        else:
            steps[end - 2, places.first if end - start == 2 else copy, places.last] = -torch.inf
        return
    before = places.first if end - start == 1 else copy
    if end == len(unary):
        unary[end - 1, before] = -torch.inf
        return
    others = torch.ones(steps.shape[-1], dtype=torch.bool, device=steps.device)
    others[[places.inside, copy]] = False
    steps[end - 1, before, others] = -torch.inf
