"""Grammars of low rank: what a grammar with their rules multiplied out is, and what large ones can answer."""


import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.scores import normal
from torch import Tensor

from strukt.distributions import LowRankPCFG
from strukt.errors import InfeasibleError


def grammar(
    *batch: int, n: int = 5, s: int = 2, p: int = 3, r: int = 4, seed: int = 0
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """Probabilities of a grammar that all items share, and of the words in them."""
    return (
        normal(s, seed=seed).log_softmax(-1),
        normal(r, s + p, seed=seed + 1).log_softmax(-1),
        normal(r, s + p, seed=seed + 2).log_softmax(-1),
        normal(s, r, seed=seed + 3).log_softmax(-1),
        normal(*batch, n, p, seed=seed + 4),
    )


@pytest.mark.filterwarnings("ignore:.*torch.jit.script. is deprecated:DeprecationWarning")  # PyTorch's own
@pytest.mark.filterwarnings("ignore:.*should not be instantiated:DeprecationWarning")
def test_training_compiles_to_one_graph():
    scores = tuple(score.requires_grad_() for score in grammar(2))

    def log_partition(*scores: Tensor) -> Tensor:
        return LowRankPCFG(*scores).log_partition

    torch.compiler.reset()
    value = torch.compile(log_partition, backend="aot_eager", fullgraph=True)(*scores)
    expected = log_partition(*scores)
    assert torch.allclose(value, expected)
    slopes = (torch.autograd.grad(each.sum(), scores) for each in (value, expected))
    for slope, true in zip(*slopes, strict=True):
        assert torch.allclose(slope, true)


@settings(max_examples=25, deadline=None)
@given(st.data())
def test_any_sizes_lengths_and_forbidden_parts(data):
    n, s, p, r = (data.draw(st.integers(low, high)) for low, high in ((0, 6), (1, 3), (1, 3), (1, 4)))
    lengths = torch.tensor(data.draw(st.lists(st.integers(0, n), min_size=1, max_size=3)))
    seed = data.draw(st.integers(0, 99))
    share, scale = data.draw(st.sampled_from([0.0, 0.2, 0.5])), data.draw(st.sampled_from([0.1, 1.0, 30.0]))
    scores = [scale * score for score in grammar(len(lengths), n=n, s=s, p=p, r=r, seed=seed)]
    generator = torch.Generator().manual_seed(seed)
    scores = [s.masked_fill(torch.rand(s.shape, generator=generator) < share, -torch.inf) for s in scores]
    for item, length in enumerate(lengths.tolist()):
        scores[4][item, length:] = torch.nan  # padding may hold anything
    leaves = [score.requires_grad_() for score in scores]
    trees = LowRankPCFG(*leaves, lengths)
    other = trees.to_pcfg()
    assert torch.allclose(trees.log_partition, other.log_partition, rtol=1e-9, atol=1e-9)
    assert torch.allclose(trees.marginals, other.marginals, rtol=1e-7, atol=1e-9)
    slopes = []
    for value in (trees.log_partition, other.log_partition):
        total = value[value.isfinite()].sum() + 0 * sum(leaf.nan_to_num(neginf=0).sum() for leaf in leaves)
        slopes.append(torch.autograd.grad(total, leaves))
    for slope, expected in zip(*slopes, strict=True):
        assert torch.allclose(slope, expected, rtol=1e-7, atol=1e-9)
    for item, length in enumerate(lengths.tolist()):
        alone = LowRankPCFG(*scores[:4], scores[4][item, :length])
        assert torch.allclose(trees.log_partition[item], alone.log_partition)


def test_more_scores_for_spans_and_conditions_on_them():
    scores = grammar(2)
    spans = normal(2, 6, 6, 5, seed=8)
    trees = LowRankPCFG(*scores, spans=spans)
    plain = LowRankPCFG(*scores, spans=torch.zeros_like(spans))
    assert torch.allclose(plain.log_partition, LowRankPCFG(*scores).log_partition)
    for name in ("marginals", "root_marginals"):
        assert torch.allclose(getattr(trees, name), getattr(trees.to_pcfg(), name))
    required = torch.zeros(2, 6, 6, 5, dtype=torch.bool)
    required[:, 1, 3, 0] = True
    given = trees.condition(required=required)
    assert torch.allclose(given.marginals[:, 1, 3, 0], torch.ones(2, dtype=torch.float64))
    both = given.log_partition.exp() + trees.condition(forbidden=required).log_partition.exp()
    assert torch.allclose(both, trees.log_partition.exp())


def test_copies_with_more_batch_axes_share_the_grammar():
    trees = LowRankPCFG(*grammar(2)).expand((3, 2))
    assert trees.log_partition.shape == (3, 2)
    assert trees.scores[1].numel() == 2
    assert torch.allclose(trees.log_partition[1], LowRankPCFG(*grammar(2)).log_partition)


def test_one_word_has_no_tree():
    trees = LowRankPCFG(*grammar(3, n=4), torch.tensor([4, 1, 0]))
    assert trees.log_partition[1] == -torch.inf
    assert trees.log_partition[2] == 0
    assert (trees.marginals[1:] == 0).all()
    for ask in (lambda: trees.mode, trees.sample, lambda: trees.mbr):
        with pytest.raises(InfeasibleError, match="item 1"):
            ask()


def large(*batch: int) -> LowRankPCFG:
    return LowRankPCFG(*(score.float() for score in grammar(*batch, n=9, s=300, p=500, r=20)))


def test_a_large_grammar_answers_what_ranks_can_answer():
    trees = large(2)
    labels, words = trees.marginals[..., :300], trees.marginals.diagonal(1, 1, 2)[:, 300:]
    assert torch.allclose(words.sum(1), torch.ones(2, 9), atol=1e-5)
    assert torch.allclose(labels.sum((1, 2, 3)), torch.full((2,), 8.0), atol=1e-4)
    assert torch.allclose(trees.root_marginals.sum(1), torch.ones(2), atol=1e-5)
    events = trees.sample((20,))
    assert trees.is_structure(events).all()
    assert trees.log_prob(events).isfinite().all()
    best = trees.mbr
    assert trees.is_structure(best).all()
    gain = (trees.marginals * trees.to_parts(best)).sum((1, 2, 3))
    assert (gain >= (trees.marginals * trees.to_parts(events)).sum((2, 3, 4)) - 1e-5).all()


@pytest.mark.parametrize(
    "ask",
    [
        lambda d: d.mode,
        lambda d: d.topk(2),
        lambda d: d.max_score,
        lambda d: d.max_marginals,
        lambda d: d.entropy(),
        lambda d: d.log_count,
        lambda d: d.to_pcfg(),
    ],
)
def test_a_large_grammar_says_what_it_cannot_answer(ask):
    with pytest.raises(NotImplementedError, match=r"this needs all 192000000 rules .* decode with mbr"):
        ask(large())


def test_forbidden_ranks_do_not_weigh_on_the_target_of_spigot():
    root, left, right, head, emission = grammar(3, n=4)
    head[0, 1:] = -torch.inf  # the rules of a nonterminal have one rank instead of four
    spans = normal(3, 5, 5, 5, seed=9).requires_grad_()
    trees, towards = LowRankPCFG(root, left, right, head, emission, spans=spans), normal(3, 5, 5, 5, seed=10)
    slopes = []
    for each in (trees, trees.to_pcfg()):
        (slope,) = torch.autograd.grad((each.mode_parts("spigot") * towards).sum(), spans)
        slopes.append(slope)
    assert torch.allclose(*slopes, atol=1e-6)


def test_the_two_ways_to_the_tree_of_the_most_expected_spans_agree(monkeypatch):
    trees = LowRankPCFG(*grammar(4, n=6), torch.tensor([6, 4, 2, 0]))
    expected = trees.mbr
    monkeypatch.setattr("strukt.structures.low_rank_pcfg.distribution.LARGEST", 0)
    assert torch.equal(trees.mbr, expected)
    with pytest.raises(InfeasibleError, match="item 0"):
        LowRankPCFG(*grammar(1, n=1)).mbr  # noqa: B018
    root, left, right, head, emission = grammar()
    with pytest.raises(NotImplementedError, match="scores of -inf"):
        LowRankPCFG(root.masked_fill(root < root.max(), -torch.inf), left, right, head, emission).mbr  # noqa: B018


def test_grammars_of_different_ranks_are_compared():
    mine, other = LowRankPCFG(*grammar(2)), LowRankPCFG(*grammar(2, r=3, seed=7))
    expected = mine.to_pcfg().cross_entropy(other.to_pcfg())
    assert torch.allclose(mine.cross_entropy(other), expected)
    assert (torch.distributions.kl_divergence(mine, other) > 0).all()


ROOT, LEFT, HEAD, EMISSION = torch.zeros(2), torch.zeros(4, 5), torch.zeros(2, 4), torch.zeros(6, 3)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((ROOT, LEFT, torch.zeros(4, 4), HEAD, EMISSION), r"right \(4, 4\).*expected root \(\*, s\)"),
        ((ROOT, LEFT, LEFT, torch.zeros(2, 3), EMISSION), r"head \(2, 3\)"),
        ((torch.zeros(3), LEFT, LEFT, HEAD, EMISSION), r"root \(3,\)"),
        ((ROOT, LEFT, LEFT, HEAD, torch.zeros(6, 2)), r"emission \(6, 2\)"),
        ((ROOT, torch.zeros(0, 5), torch.zeros(0, 5), torch.zeros(2, 0), EMISSION), "r >= 1 ranks"),
        ((torch.zeros(3, 2), LEFT, LEFT, HEAD, torch.zeros(2, 6, 3)), r"do not fit together: root \(3, 2\)"),
        ((ROOT, LEFT, LEFT, HEAD, EMISSION, None, torch.zeros(6, 6, 5)), r"spans \(6, 6, 5\)"),
        ((ROOT, LEFT.long(), LEFT, HEAD, EMISSION), "left has dtype torch.int64"),
        ((ROOT, LEFT, LEFT, HEAD.fill_(0)[0], EMISSION), r"head has shape \(4,\)"),
    ],
)
def test_wrong_arguments_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        LowRankPCFG(*arguments)
