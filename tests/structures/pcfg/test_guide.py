"""Guides of grammars say what enumeration of all sentences says."""

import itertools
import math

import pytest
import torch

from strukt import PCFG, InfeasibleError, PCFGGuide
from strukt.automata import anything, avoiding, containing, matching

V, N, END = 4, 3, 3
CONSTRAINTS = {
    "phrases": containing([[1], [0]], V) | containing([[2, 2]], V),
    "avoided": avoiding([[0, 1], [2, 2]], V),
    "pattern": matching("(a|bc)*b?", ["a", "b", "c", None]),
}


def grammar(s: int = 2, p: int = 3) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(3)
    root, rules, emission = (
        torch.randn(shape, generator=generator, dtype=torch.float64) * 2
        for shape in ((s,), (s, (s + p) ** 2), (p, V))
    )
    emission[:, END] = -math.inf
    return root.log_softmax(0), rules.log_softmax(1).view(s, s + p, s + p), emission.log_softmax(1).mT


def enumerated(parts, constraint, prompt: list[int], length: int) -> tuple[dict, dict]:
    """Probabilities of all sentences behind a prompt, and of those that meet the constraint."""
    root, rules, emission = parts
    chances, met = {}, {}
    for n in range(length + 1):
        rows = list(itertools.product(range(V - 1), repeat=n))
        words = torch.tensor([[*prompt, *row] for row in rows], dtype=torch.long)
        sums = (
            PCFG(root, rules, emission[words]).log_partition.exp()
            if words.shape[1] > 1
            else torch.zeros(len(rows))
        )
        for row, chance in zip(rows, sums.tolist(), strict=True):
            chances[row], met[row] = chance, chance * constraint.accepts(row)
    return chances, met


def beginning(sentences: dict, words: tuple[int, ...]) -> float:
    return sum(chance for row, chance in sentences.items() if row[: len(words)] == words)


@pytest.mark.parametrize("name", CONSTRAINTS)
@pytest.mark.parametrize("prompt", [[], [2, 0, 1]])
def test_every_prefix_is_as_enumerated(name, prompt):
    parts, constraint = grammar(), CONSTRAINTS[name]
    chances, met = enumerated(parts, constraint, prompt, N)
    guide = PCFGGuide(*parts, constraint, N, END)
    start = guide.start(torch.tensor([prompt], dtype=torch.long))
    for m in range(N):
        rows = list(itertools.product(range(V - 1), repeat=m))
        words = torch.tensor(rows, dtype=torch.long).reshape(len(rows), m)
        state = guide.advance(start.select(torch.zeros(len(rows), dtype=torch.long)), words)
        found = guide.log_prob(state).exp(), guide.predict(state).exp(), guide.log_ratios(state).exp()
        for row, log_prob, predicted, ratio in zip(rows, *found, strict=True):
            together, alone = beginning(met, row), beginning(chances, row)
            assert log_prob.item() == pytest.approx(together / alone)
            expected = [beginning(met, (*row, word)) for word in range(V - 1)] + [met[row]]
            before = [beginning(chances, (*row, word)) for word in range(V - 1)] + [chances[row]]
            if together == 0:
                assert not ratio.any()
                continue
            assert predicted.tolist() == pytest.approx([each / together for each in expected])
            possible = [
                each / together * alone / other if other else 0.0
                for each, other in zip(expected, before, strict=True)
            ]
            assert ratio.tolist() == pytest.approx(possible)


def test_samples_are_sentences_that_meet_the_constraint():
    torch.manual_seed(0)
    guide = PCFGGuide(*grammar(), CONSTRAINTS["pattern"], N, END)
    drawn = [tuple(word for word in row if word not in (-1, END)) for row in guide.sample(150).tolist()]
    _, met = enumerated(grammar(), CONSTRAINTS["pattern"], [], N)
    total = sum(met.values())
    assert all(met[row] > 0 for row in drawn)
    common = max(met, key=lambda row: met[row])
    share = met[common] / total
    assert drawn.count(common) / 150 == pytest.approx(share, abs=4 * math.sqrt(share * (1 - share) / 150))


def test_without_an_end_every_text_has_the_full_length():
    parts, constraint = grammar(), CONSTRAINTS["phrases"]
    guide = PCFGGuide(*parts, constraint, N)
    chances, met = (
        {row: chance for row, chance in each.items() if len(row) == N}
        for each in enumerated(parts, constraint, [], N)
    )
    start = guide.start()
    for row in [(), (1,), (1, 0), (2, 2)]:
        state = guide.advance(start, torch.tensor([row], dtype=torch.long))
        together = beginning(met, row)
        assert guide.log_prob(state).exp().item() == pytest.approx(together / beginning(chances, row))
        expected = [beginning(met, (*row, word)) / together for word in range(V - 1)] + [0.0]
        assert guide.predict(state).exp().squeeze(0).tolist() == pytest.approx(expected)


def test_samples_without_an_end_are_sentences_of_the_full_length():
    torch.manual_seed(0)
    rules = torch.full((1, 3, 3), -math.inf)
    rules[0, 1, 1], rules[0, 2, 0] = torch.tensor([0.6, 0.4]).log()  # S -> X X, S -> Y S
    guide = PCFGGuide(torch.zeros(1), rules, torch.eye(2).log(), anything(2), 3)
    assert guide.sample(20).tolist() == [[1, 0, 0]] * 20


def test_ended_and_full_sentences():
    guide = PCFGGuide(*grammar(), CONSTRAINTS["phrases"], N, END)
    words = torch.tensor([[0, 0, END], [1, 1, 1], [2, 2, END]])
    state = guide.advance(guide.start(torch.zeros(3, 0, dtype=torch.long)), words)
    assert guide.log_prob(state).tolist() == [-math.inf, -math.inf, 0]
    guide = PCFGGuide(*grammar(), CONSTRAINTS["phrases"], N + 1, END)
    some = guide.advance(guide.start(), torch.tensor([[2, 2, END]]))
    assert guide.log_ratios(some).tolist() == [[0] * V]
    assert guide.log_prob(some).tolist() == [0]


def test_a_constraint_of_nothing_changes_nothing():
    guide = PCFGGuide(*(part.float() for part in grammar()), anything(V), N, END)
    state = guide.advance(guide.start(), torch.tensor([[0, 1]]))
    ratios = guide.log_ratios(state)
    assert ratios.dtype == torch.float32
    assert torch.allclose(ratios, torch.zeros(1, V), atol=1e-6)


def test_unknown_words_are_refused_but_ignored_after_the_end():
    guide = PCFGGuide(*grammar(), anything(V), N, END)
    for word in (-2, V):
        with pytest.raises(ValueError, match=f"words holds {word} at batch item 0, position 0; expected words"):
            guide.advance(guide.start(), torch.tensor([[word]]))
        with pytest.raises(ValueError, match=f"prompt holds {word} at batch item 0, position 0; expected"):
            guide.start(torch.tensor([[word]]))
        ended = guide.advance(guide.start(torch.tensor([[0, word]]), [1]), torch.tensor([[0, END, word]]))
        assert guide.log_prob(ended).tolist() == [0.0]


def test_errors_say_what_was_expected():
    root, rules, emission = grammar()
    with pytest.raises(
        ValueError, match=r"rules \(2, 4, 5\).*expected \(s,\), \(s, s \+ p, s \+ p\), \(v, p\)"
    ):
        PCFGGuide(root, rules[:, :4], emission, anything(V), 3)
    with pytest.raises(ValueError, match="constraint is over 5 words, and the model has 4"):
        PCFGGuide(root, rules, emission, anything(5), 3)
    guide = PCFGGuide(root, rules, emission, containing([[0, 0, 0]], V), 2, END)
    with pytest.raises(
        InfeasibleError, match="the constraint cannot be met in 2 words after prompt 0; allow words"
    ):
        guide.start()


@pytest.mark.parametrize("name", ["root", "rules", "emission"])
@pytest.mark.parametrize("wrong", [math.nan, math.inf])
def test_log_probabilities_must_be_numbers(name, wrong):
    parts = dict(zip(("root", "rules", "emission"), (part.clone() for part in grammar()), strict=True))
    parts[name][(0,) * parts[name].dim()] = wrong
    with pytest.raises(ValueError, match=f"{name} holds {wrong} at position .*; expected log-probabilities"):
        PCFGGuide(**parts, constraint=anything(V), length=3)


def test_the_emission_of_the_end_is_ignored():
    root, rules, emission = grammar()
    other = emission.clone()
    other[END] = math.nan
    one, same = (PCFGGuide(root, rules, each, anything(V), 3, END) for each in (emission, other))
    assert torch.equal(one.predict(one.start()), same.predict(same.start()))
