"""Derivatives where peers give NaN, nothing, or the derivative of something else."""

from functools import partial

import pytest
import torch
from tests.further import SUBJECTS
from tests.known_failures.everything import LONG, LONG_NAMES, long_scores, normal
from torch.autograd import grad, gradcheck, gradgradcheck

from strukt.distributions import (
    CTC,
    PCFG,
    LinearChain,
    NonProjectiveTree,
    ProjectiveTree,
    SemiMarkov,
    SpanTree,
)
from strukt.testing import brute_force
from strukt.testing.patterns import huge, tied, zero


@pytest.mark.thinned("subject", "pattern")
@SUBJECTS
@pytest.mark.parametrize("pattern", [zero, tied, huge], ids=lambda pattern: pattern.__name__)
def test_the_hessian_is_the_covariance_at_ties_too(subject, pattern):
    """The second derivative of `torch.logaddexp` is NaN even for finite arguments (pytorch #196704)."""
    case = pattern(subject.case(())).leaves()
    table = case.table().permitted
    probabilities = table.log_probs.exp().detach()
    centred = (table.parts - table.marginals.detach()).flatten(1)
    (gradient,) = grad(case.distribution().log_partition, case.scores[0], create_graph=True)
    rows = [grad(entry, case.scores[0], retain_graph=True)[0].flatten() for entry in gradient.flatten()]
    assert torch.allclose(torch.stack(rows), centred.T @ (probabilities[:, None] * centred), atol=1e-10)


@LONG_NAMES
def test_derivatives_through_marginals_of_long_inputs(name):
    """Gradients of losses on marginals are huge and unreliable in single precision (pytorch-struct #72)."""
    make = LONG[name][0]
    results = []
    for dtype in (torch.float32, torch.float64):
        scores = [score.to(dtype).requires_grad_() for score in long_scores(name)]
        marginals = make(*scores).marginals
        weights = normal(*marginals.shape, seed=7).to(dtype)
        results.append(grad((weights * marginals).sum(), scores))
    for single, double in zip(*results, strict=True):
        assert (single - double).abs().max() < 1e-5 * (1 + double.abs().max())


def test_expected_values_of_pairs():
    """Expectations of functions of pairs and of rules: the second kind of score has marginals as well."""
    unary, transition, values = (
        normal(4, 3).double(),
        normal(3, 3, seed=1).double(),
        normal(3, 3, seed=2).double(),
    )
    chain, table = LinearChain(unary, transition), brute_force.chain(4, unary, transition)
    worth = values[table.events[:, :-1], table.events[:, 1:]].sum(1)
    found = (chain.transition_marginals * values).sum()
    assert torch.isclose(found, table.expected(worth))

    segments = normal(4, 2, 3).double()
    expected = _derivative(lambda extra: brute_force.semi_markov(4, segments, transition + extra), values)
    assert torch.isclose((SemiMarkov(segments, transition).transition_marginals * values).sum(), expected)

    root, rules, emission = (
        normal(2).double(),
        normal(2, 4, 4, seed=1).double(),
        normal(4, 2, seed=2).double(),
    )
    spans, worths = torch.zeros(5, 5, 4, dtype=torch.float64), normal(2, 4, 4, seed=3).double()
    expected = _derivative(lambda extra: brute_force.pcfg(4, spans, root, rules + extra, emission), worths)
    assert torch.isclose((PCFG(root, rules, emission).rule_marginals * worths).sum(), expected)


def _derivative(table_of, values):
    """Of the log-partition, along values that are added to scores: their expected sum."""
    step = torch.zeros((), dtype=torch.float64, requires_grad=True)
    return grad(table_of(step * values).log_partition, step)[0]


SIZE_ONE = {
    "a chain with one tag": (LinearChain, ((3, 1), (1, 1))),
    "a chain of one word": (LinearChain, ((1, 3), (3, 3))),
    "segments of one duration and one label": (SemiMarkov, ((3, 1, 1), (1, 1))),
    "spans with one label": (partial(SpanTree, labelled=True), ((4, 4, 1),)),
    "a grammar of two labels": (PCFG, ((1,), (1, 2, 2), (3, 1))),
    "a tree of one word": (NonProjectiveTree, ((1, 2),)),
    "a projective tree of one word": (ProjectiveTree, ((1, 2),)),
    "frames of one label": (partial(CTC, targets=torch.zeros(1, 0, dtype=torch.int64)), ((1, 3, 1),)),
}


@pytest.mark.parametrize(("make", "shapes"), SIZE_ONE.values(), ids=SIZE_ONE)
def test_axes_of_size_one(make, shapes):
    """A squeeze too many gives wrong gradients exactly where an axis has size 1 (entmax #13)."""
    scores = [normal(*shape, seed=seed).double().requires_grad_() for seed, shape in enumerate(shapes)]

    def answers(*scores):
        distribution = make(*scores)
        return distribution.log_partition, distribution.marginals, distribution.entropy()

    assert gradcheck(answers, scores)
    assert gradgradcheck(answers, scores)
