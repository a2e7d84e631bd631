"""Compare how often structures were drawn with their probabilities."""

import torch
from scipy.stats import chisquare


def assert_frequencies(distribution, events):
    """Every structure was drawn as often as its probability says (chi-square test at 1e-4).

    Structures that should occur less than five times are counted together, with those that did not occur.
    """
    unique, counts = events.flatten(1).unique(dim=0, return_counts=True)
    log_probs = distribution.log_prob(unique.reshape(-1, *events.shape[1:])).double()
    assert log_probs.isfinite().all()
    expected = len(events) * log_probs.exp()
    often = expected >= 5
    counts, expected = (
        torch.cat([each[often].double(), len(events) - each[often].double().sum(0, keepdim=True)])
        for each in (counts, expected)
    )
    if expected[-1] < 5:
        counts, expected = (torch.cat([each[:-2], each[-2:].sum(0, keepdim=True)]) for each in (counts, expected))
    assert chisquare(counts, expected).pvalue > 1e-4
