"""Gold structures: valid, various, the same in every process; and the scores that judge them."""

import pytest
import torch
from benchmarks.contest import Case, Family

from benchmarks import chain, constituency, dependency, gold, grammar, segmentation
from strukt import LinearChain, NonProjectiveTree, ProjectiveTree, SemiMarkov, SpanTree

FAMILIES = [
    (chain.FAMILY, LinearChain, chain.case(3, 12, 4)),
    (segmentation.FAMILY, SemiMarkov, segmentation.case(3, 12, 4, 3)),
    (dependency.PROJECTIVE, ProjectiveTree, dependency.case(3, 12)),
    (dependency.NON_PROJECTIVE, NonProjectiveTree, dependency.case(3, 12)),
    (constituency.FAMILY, lambda spans: SpanTree(spans, labelled=True), constituency.case(3, 12, 4)),
    (grammar.FAMILY, grammar.distribution, grammar.case(3, 12, 3, 4)),
]
every_family = pytest.mark.parametrize(
    ("family", "build", "case"), FAMILIES, ids=[family.name for family, *_ in FAMILIES]
)


@every_family
def test_gold_structures_are_structures_and_differ(family: Family, build, case: Case) -> None:
    inputs = case.inputs()
    event = family.gold(*inputs)
    assert build(*inputs).is_structure(event).all()
    assert len(event.flatten(1).unique(dim=0)) == 3
    assert torch.equal(event, family.gold(*inputs))


@every_family
def test_scores_that_judge_are_those_of_the_distribution(family: Family, build, case: Case) -> None:
    leaves = [scores.double().requires_grad_() for scores in case.inputs()]
    event = family.gold(*leaves)
    found, expected = family.score(*leaves, event), build(*leaves).score(event)
    torch.testing.assert_close(found, expected, rtol=1e-12, atol=1e-12)
    weights = torch.tensor([1.0, -2.0, 0.5], dtype=torch.float64)
    torch.testing.assert_close(
        torch.autograd.grad(found @ weights, leaves),
        torch.autograd.grad(expected @ weights, leaves),
        rtol=1e-12,
        atol=1e-12,
    )


def test_trees_label_words_and_wider_spans_from_their_own_labels() -> None:
    event = gold.trees(20, 6, range(5, 8), range(5))
    words, wider = event.diagonal(1, 1, 2), event[:, :-2, 2:].triu()
    assert set(words.unique().tolist()) == {5, 6, 7}
    assert wider.max() == 4
    assert ((event >= 0).sum((1, 2)) == 11).all()


def test_segments_of_every_allowed_length_occur() -> None:
    event = gold.segments(1, 200, 4, 3)
    starts = (event[0] >= 0).nonzero().squeeze(-1)
    assert set(starts.diff().tolist()) == {1, 2, 3, 4}
