"""Chains of tags without some spans, by enumeration."""

import itertools
import random

import pytest
import torch

from strukt.data.tag_schemes import scheme_of
from strukt.data.tag_schemes.spans import spans
from strukt.distributions import LinearChain
from strukt.nn import tag_constraints
from strukt.tasks.ner.excluded_spans import copies, without_spans

LABELS = ["LOC", "PER"]


def chain_of(scheme, words, seed):
    tags = ["O", *(f"{mark}-{label}" for label in LABELS for mark in scheme_of(scheme).marks)]
    generator = torch.Generator().manual_seed(seed)
    unary, transition = (torch.randn(size, len(tags), generator=generator) for size in (words, len(tags)))
    constraints = tag_constraints(tags, scheme)
    unary[0, ~constraints.start] = -torch.inf
    unary[-1, ~constraints.end] = -torch.inf
    return LinearChain(unary, transition.masked_fill(~constraints.transition, -torch.inf)), tags


def found_in(tags):
    return {(first, last + 1, label) for label, first, last in spans(tags)}


@pytest.mark.parametrize(("scheme", "words"), [("bio", 1), ("bio", 2), ("bio", 4), ("bioes", 1), ("bioes", 4)])
def test_no_sequence_has_a_forbidden_span_and_all_others_keep_their_scores(scheme, words):
    places = [(start, end) for start in range(words) for end in range(start + 1, words + 1)]
    every = [(*place, label) for place in places for label in LABELS]
    generator = random.Random(words)
    for seed in range(6):
        chain, tags = chain_of(scheme, words, seed)
        forbidden = generator.sample(every, generator.randint(0, min(5, len(every))))
        numbers = {tag: number for number, tag in enumerate(tags)}
        result = without_spans(chain, forbidden, scheme_of(scheme), numbers)
        events = chain.enumerate_support()
        left = [not found_in([tags[tag] for tag in event]) & {*forbidden} for event in events.tolist()]
        scores = chain.score(events)[torch.tensor(left)]
        torch.testing.assert_close(result.log_partition, scores.logsumexp(0))
        original = [*range(len(tags)), *copies(forbidden, scheme_of(scheme), numbers)]
        best = [original[tag] for tag in result.mode.tolist()]
        torch.testing.assert_close(result.max_score, scores.max())
        assert best == events[torch.tensor(left)][scores.argmax()].tolist()
        topk = result.topk(7)
        found = [tuple(original[tag] for tag in event) for event in topk.events.tolist() if event[0] >= 0]
        assert len({*found}) == len(found) == min(7, int((scores > -torch.inf).sum()))


def test_the_same_words_may_be_tagged_otherwise():
    chain, tags = chain_of("bio", 3, 0)
    numbers = {tag: number for number, tag in enumerate(tags)}
    forbidden = [(0, 3, "PER"), (0, 2, "PER"), (0, 1, "PER"), (1, 3, "LOC")]
    result = without_spans(chain, forbidden, scheme_of("bio"), numbers)
    original = [tags[tag] for tag in [*range(len(tags)), *copies(forbidden, scheme_of("bio"), numbers)]]
    seen = {tuple(original[tag] for tag in event) for event in result.topk(200).events.tolist() if event[0] >= 0}
    assert ("B-PER", "B-LOC", "O") not in seen
    assert ("O", "B-LOC", "O") in seen
    assert ("B-LOC", "I-LOC", "I-LOC") in seen
    assert not any(found_in(each) & set(forbidden) for each in seen)
    allowed = (each for each in itertools.product(tags, repeat=3) if each[0] != "B-PER")
    assert len(seen) == sum(
        chain.score(torch.tensor([numbers[tag] for tag in each])) > -torch.inf
        and not found_in(each) & set(forbidden)
        for each in allowed
    )
