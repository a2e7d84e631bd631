"""Non-projective trees where walks do not end, from eliminations that are undone: frequencies, and the time."""

import time

import numpy as np
import pytest
import torch
from scipy.stats import chisquare
from tests.kernels.test_backends import normal

from strukt.distributions import NonProjectiveTree
from strukt.testing import brute_force

ROOTS = pytest.mark.parametrize("single_root", [True, False], ids=["single root", "any root"])
DRAWN = 20_000


def coupled(n: int, strength: float, seed: int) -> torch.Tensor:
    """Ordinary scores, of which each word's best few are so much better that a walk among them does not end."""
    random = np.random.default_rng(seed)
    arcs = normal(n, n + 1, seed=seed)
    for word in range(n):
        wanted = random.choice([head for head in range(1, n + 1) if head != word + 1], 2, replace=False)
        arcs[word, wanted] += strength
    if seed % 2:
        arcs[random.integers(n), 1 + random.integers(n)] = -torch.inf
    return arcs


def assert_frequencies(arcs: torch.Tensor, single_root: bool) -> None:
    """Each tree is drawn as often as its probability says, and those next to impossible never."""
    table = brute_force.non_projective_tree(len(arcs), arcs, single_root).permitted
    torch.manual_seed(0)
    events = NonProjectiveTree(arcs, single_root=single_root).sample((DRAWN,))
    base = (len(arcs) + 1) ** torch.arange(len(arcs))
    numbers = {number: place for place, number in enumerate((table.events * base).sum(-1).tolist())}
    places = torch.tensor([numbers[number] for number in (events * base).sum(-1).tolist()])
    counts, expected = places.bincount(minlength=len(numbers)).numpy(), DRAWN * table.log_probs.exp().numpy()
    assert counts[expected < 1e-9].sum() == 0
    group = np.where(
        expected > 5, 1 + np.arange(len(expected)), 0
    )  # those that are too rare by themselves together
    counts, expected = (np.bincount(group, weights=each) for each in (counts, expected))
    seen = expected > 5
    assert chisquare(counts[seen], expected[seen] * counts[seen].sum() / expected[seen].sum()).pvalue > 1e-4


@ROOTS
@pytest.mark.parametrize("strength", [8.0, 40.0, 1e5])
@pytest.mark.parametrize("seed", range(2))
def test_trees_of_words_that_pull_at_each_other_have_the_right_frequencies(seed, strength, single_root):
    assert_frequencies(coupled(5, strength, seed), single_root)


@ROOTS
def test_trees_that_any_word_of_a_circle_can_open(single_root):
    """Every word strongly wants the next, and one of them, of equal chances, is to hang on the root."""
    arcs = torch.full((5, 6), -torch.inf, dtype=torch.float64)
    arcs[range(5), [2, 3, 4, 5, 1]] = 200.0
    arcs[:, 0] = 0.0
    assert_frequencies(arcs, single_root)


@ROOTS
def test_every_word_reaches_the_root_through_one(single_root):
    """The word that alone can hang on the root is neither first nor last among them."""
    arcs = 100 * (normal(6, 7) > -0.5).double()  # many trees are equally good
    arcs[:, 0] = -torch.inf
    arcs[3, 0] = -500.0
    assert_frequencies(arcs, single_root)


@ROOTS
@pytest.mark.parametrize("scale", [1e2, 1e4, 1e6])
def test_long_sentences_follow_their_marginals_at_any_scale(scale, single_root):
    """Scores are whole multiples of the scale, so that many trees are equally good."""
    tree = NonProjectiveTree(scale * normal(30, 31).round(), single_root=single_root)
    torch.manual_seed(0)
    events = tree.sample((2000,))
    assert tree.is_structure(events).all()
    frequencies = torch.nn.functional.one_hot(events, 31).double().mean(0)
    deviation = (tree.marginals * (1 - tree.marginals) / 2000).sqrt().clamp(min=1e-4)
    assert ((frequencies - tree.marginals) / deviation).abs().max() < 5.5


@ROOTS
def test_fifty_trees_of_a_long_sentence_share_one_elimination(single_root):
    """An elimination for each word of each tree took minutes; seconds of this process, whatever else runs."""
    tree = NonProjectiveTree(300 * normal(1, 150, 151), single_root=single_root)
    tree.sample((1,))
    begin = time.process_time()
    tree.sample((50,))
    assert time.process_time() - begin < 2
