"""Grammars: known probabilities, counts by formula, expected rules, the edges."""

import math

import pytest
import torch
from tests.scores import normal
from torch import Tensor

from strukt.distributions import PCFG, SpanTree
from strukt.errors import InfeasibleError


def grammar(*batch: int, n: int = 5, s: int = 2, p: int = 3, seed: int = 0) -> tuple[Tensor, Tensor, Tensor]:
    """Root and rules that all items share, and emissions."""
    return normal(s, seed=seed), normal(s, s + p, s + p, seed=seed + 1), normal(*batch, n, p, seed=seed + 2)


NONTERMINALS = ["S", "NP", "VP", "PP"]
LABELS = [*NONTERMINALS, "np", "v", "p"]
ASTRONOMERS = "astronomers saw stars with ears"


def astronomers() -> PCFG:
    """The example of Manning and Schütze (1999, section 11.1), whose NP may also be a word: np."""
    rules = torch.full((4, 7, 7), -torch.inf, dtype=torch.float64)
    for parent, left, right, probability in (
        ("S", "NP", "VP", 1.0), ("S", "np", "VP", 1.0), ("PP", "p", "NP", 1.0), ("PP", "p", "np", 1.0),
        ("VP", "v", "NP", 0.7), ("VP", "v", "np", 0.7), ("VP", "VP", "PP", 0.3),
        ("NP", "NP", "PP", 0.4), ("NP", "np", "PP", 0.4),
    ):  # fmt: skip
        rules[LABELS.index(parent), LABELS.index(left), LABELS.index(right)] = math.log(probability)
    words = {"astronomers": (0.1, 0, 0), "saw": (0.04, 1, 0), "stars": (0.18, 0, 0), "with": (0, 0, 1)}
    words["ears"] = (0.18, 0, 0)
    emission = torch.tensor([words[word] for word in ASTRONOMERS.split()], dtype=torch.float64).log()
    root = torch.tensor([0, -torch.inf, -torch.inf, -torch.inf], dtype=torch.float64)
    return PCFG(root, rules, emission)


def spans_of(event: Tensor) -> set[tuple[int, int, str]]:
    return {(i, j, LABELS[event[i, j]]) for i, j in (event >= 0).nonzero().tolist()}


def test_a_sentence_of_the_textbook_has_its_probability():
    trees = astronomers()
    assert trees.log_count.exp().item() == pytest.approx(2)
    assert trees.log_partition.exp().item() == pytest.approx(0.0015876)
    scores, events = trees.topk(3)
    assert scores.exp().tolist() == pytest.approx([0.0009072, 0.0006804, 0])
    words = {(0, 1, "np"), (1, 2, "v"), (2, 3, "np"), (3, 4, "p"), (4, 5, "np")}
    both = {*words, (0, 5, "S"), (1, 5, "VP"), (3, 5, "PP")}
    assert spans_of(events[0]) == spans_of(trees.mode) == {*both, (2, 5, "NP")}
    assert spans_of(events[1]) == {*both, (1, 3, "VP")}
    assert trees.marginals[2, 5, LABELS.index("NP")].item() == pytest.approx(0.0009072 / 0.0015876)


def test_expected_rules_of_the_sentence_of_the_textbook():
    expected = astronomers().rule_marginals
    noun = 0.0009072 / 0.0015876
    uses = {tuple(index): expected[tuple(index)].item() for index in expected.nonzero().tolist()}
    named = {tuple(LABELS[label] for label in index): value for index, value in uses.items()}
    assert named == pytest.approx(
        {
            ("S", "np", "VP"): 1,
            ("PP", "p", "np"): 1,
            ("VP", "v", "NP"): noun,
            ("NP", "np", "PP"): noun,
            ("VP", "v", "np"): 1 - noun,
            ("VP", "VP", "PP"): 1 - noun,
        }
    )


@pytest.mark.parametrize("n", [2, 3, 4, 7, 12])
@pytest.mark.parametrize(("s", "p"), [(1, 1), (2, 3), (4, 1)])
def test_the_number_of_trees_is_a_catalan_number_times_the_labellings(n, s, p):
    catalan = math.comb(2 * (n - 1), n - 1) // n
    trees = PCFG(
        *(score.double() for score in (torch.zeros(s), torch.zeros(s, s + p, s + p), torch.zeros(n, p)))
    )
    expected = math.log(catalan) + (n - 1) * math.log(s) + n * math.log(p)
    assert trees.log_count.item() == pytest.approx(expected)
    assert trees.log_partition.item() == pytest.approx(expected)


def test_probabilities_of_all_sentences_of_two_words_sum_to_one():
    s, p, v = 2, 3, 4
    root = normal(s).log_softmax(0)
    pairs = normal(s, p * p, seed=1).log_softmax(1).reshape(s, p, p)
    rules = torch.full((s, s + p, s + p), -torch.inf, dtype=torch.float64)
    rules[:, s:, s:] = pairs
    vocabulary = normal(p, v, seed=2).log_softmax(1)
    sentences = torch.cartesian_prod(torch.arange(v), torch.arange(v))
    trees = PCFG(root, rules, vocabulary.T[sentences])
    assert trees.log_partition.logsumexp(0).item() == pytest.approx(0, abs=1e-12)


def test_one_word_has_no_tree():
    root, rules, emission = (score.requires_grad_() for score in grammar(3, n=4))
    trees = PCFG(root, rules, emission, torch.tensor([4, 1, 3]))
    alone = PCFG(root, rules, emission[[0, 2]], torch.tensor([4, 3]))
    assert trees.log_partition[1] == trees.max_score[1] == trees.log_count[1] == -torch.inf
    assert (trees.marginals[1] == 0).all()
    assert (trees.rule_marginals[1] == 0).all()
    assert (trees.topk(2)[1][1] == -1).all()
    assert torch.allclose(trees.log_partition[[0, 2]], alone.log_partition)
    gradients = torch.autograd.grad(trees.log_partition[[0, 2]].sum(), (root, rules, emission))
    expected = torch.autograd.grad(alone.log_partition.sum(), (root, rules, emission))
    for gradient, true in zip(gradients, expected, strict=True):
        assert torch.allclose(gradient, true)
    for ask in (lambda: trees.mode, trees.sample, lambda: trees.mbr):
        with pytest.raises(InfeasibleError, match="item 1"):
            ask()
    word = torch.full((3, 5, 5), -1)
    word[1, 0, 1] = 2
    assert not trees.is_structure(word)[1]
    assert len(PCFG(*grammar(n=1)).enumerate_support()) == 0


def test_expected_rules_sum_to_the_nodes_and_to_the_gradient():
    root, rules, emission = (score.requires_grad_() for score in grammar(4))
    lengths = torch.tensor([5, 0, 2, 4])
    trees = PCFG(root, rules, emission, lengths)
    nodes = torch.tensor([4.0, 0.0, 1.0, 3.0], dtype=torch.float64)
    assert torch.allclose(trees.rule_marginals.flatten(1).sum(1), nodes)
    assert torch.allclose(trees.root_marginals.sum(1), (nodes > 0).double())
    by_root, by_rules, by_emission = torch.autograd.grad(trees.log_partition.sum(), (root, rules, emission))
    assert torch.allclose(by_rules, trees.rule_marginals.sum(0))
    assert torch.allclose(by_root, trees.root_marginals.sum(0))
    assert torch.allclose(by_emission, trees.marginals.diagonal(1, 1, 2).mT[..., 2:])
    uses = torch.autograd.grad(trees.max_score.sum(), rules)[0]
    assert uses.sum() == 8
    assert torch.equal(uses, uses.round())


def test_marginals_of_rules_are_differentiable():
    root, rules, emission = grammar(2, n=3)
    values = normal(2, 2, 5, 5, seed=7)

    def expected(rules: Tensor) -> Tensor:
        return (PCFG(root, rules, emission).rule_marginals * values).sum()

    assert torch.autograd.gradcheck(expected, rules.requires_grad_(), fast_mode=True)


def test_many_grammars_may_have_one_sentence():
    root, rules, emission = normal(3, 2), normal(3, 2, 5, 5, seed=1), normal(4, 3, seed=2)
    trees = PCFG(root, rules, emission)
    assert trees.batch_shape == (3,)
    alone = [PCFG(root[k], rules[k], emission).log_partition for k in range(3)]
    assert torch.allclose(trees.log_partition, torch.stack(alone))
    leaf = emission.clone().requires_grad_()
    (gradient,) = torch.autograd.grad(PCFG(root, rules, leaf).log_partition.sum(), leaf)
    assert torch.allclose(gradient.sum(-1), torch.full((4,), 3.0, dtype=torch.float64))


def test_expanding_copies_no_rules():
    root, rules, emission = grammar()
    wide = PCFG(root, rules, emission).expand((1000, 1000))
    assert wide.batch_shape == (1000, 1000)
    assert {score.untyped_storage().data_ptr() for score in wide.scores[1:]} == {
        score.untyped_storage().data_ptr() for score in (root, rules, emission)
    }


@pytest.mark.parametrize("place", [(1, 2, 0), (1, 3, 4)])
def test_a_label_where_none_of_its_kind_can_be_leaves_no_tree(place):
    required = torch.zeros(6, 6, 5, dtype=torch.bool)
    required[place] = True
    assert PCFG(*grammar()).condition(required=required).log_partition == -torch.inf


ROOT, RULES, EMISSION = torch.zeros(2), torch.zeros(2, 5, 5), torch.zeros(4, 3)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((ROOT, torch.zeros(2, 5, 4), EMISSION), r"rules \(2, 5, 4\).*expected root \(\*, s\)"),
        ((ROOT, torch.zeros(2, 4, 4), EMISSION), r"emission \(4, 3\)"),
        ((torch.zeros(3), RULES, EMISSION), r"root \(3,\)"),
        ((torch.zeros(0), torch.zeros(0, 3, 3), EMISSION), "s >= 1 nonterminals"),
        ((ROOT, torch.zeros(2, 2, 2), torch.zeros(4, 0)), "p >= 1 preterminals"),
        ((torch.zeros(3, 2), RULES, torch.zeros(2, 4, 3)), r"do not fit together: root \(3, 2\)"),
        ((ROOT, RULES, EMISSION, None, torch.zeros(4, 4, 5)), r"spans \(4, 4, 5\).*n \+ 1, n \+ 1"),
        ((ROOT, RULES, EMISSION.long()), r"emission has dtype torch.int64"),
        ((ROOT, torch.zeros(5, 5), EMISSION), r"rules has shape \(5, 5\)"),
    ],
)
def test_wrong_arguments_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        PCFG(*arguments)


def test_other_sets_of_trees_are_not_compared():
    trees = PCFG(*grammar(2))
    with pytest.raises(ValueError, match="other has spans of shape"):
        trees.cross_entropy(PCFG(*grammar(2, n=4)))
    with pytest.raises(NotImplementedError, match="different structures"):
        trees.cross_entropy(SpanTree(torch.zeros(2, 6, 6)))


def test_too_many_trees_are_not_enumerated():
    with pytest.raises(ValueError, match="too many to enumerate"):
        PCFG(*grammar(n=12)).enumerate_support()


def test_support_knows_structures_of_one_word_are_none():
    sentence = PCFG(torch.zeros(1), torch.zeros(1, 3, 3), torch.zeros(1, 2))
    for label in (-1, 0, 1, 2):
        assert not sentence.is_structure(torch.tensor([[-1, label], [-1, -1]]))
