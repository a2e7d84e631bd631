"""Guides say what enumeration of all texts says."""

import itertools
import math

import pytest
import torch
from scipy.stats import chisquare
from tests.structures.hmm.enumerated_hmm import KINDS, model

from strukt import HMM, Embedded, Gaussian, HMMGuide, InfeasibleError
from strukt.automata import anything, avoiding, containing, matching, phrase

N, V, END = 4, 4, 3
CONSTRAINTS = {
    "phrases": containing([[1, 2], [0]], V),
    "phrase or none of a word": containing([[0, 0]], V) | avoiding([[2]], V),
    "pattern": matching("(ab|c)*a?", ["a", "b", "c", None]),
}


def texts(n: int) -> torch.Tensor:
    return torch.tensor(list(itertools.product(range(V), repeat=n)), dtype=torch.long).reshape(V**n, n)


def enumerated(
    hmm: HMM, constraint, prompt: torch.Tensor, end: int | None
) -> tuple[torch.Tensor, torch.Tensor]:
    """The probabilities of all texts behind a prompt, and of those that meet the constraint: ``(v,) * n``."""
    rows = texts(N)
    whole = torch.cat([prompt.expand(len(rows), -1), rows], 1)
    chances = (hmm.log_prob(whole) - hmm.log_prob(prompt)).exp()
    cut = [row[: row.index(end)] if end in row else row for row in rows.tolist()]
    met = torch.tensor([constraint.accepts(row) for row in cut])
    return chances.view((V,) * N), (chances * met).view((V,) * N)


@pytest.mark.thinned("kind", "end", "prompt")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", CONSTRAINTS)
@pytest.mark.parametrize("end", [None, END])
@pytest.mark.parametrize("prompt", [[], [2, 1]])
def test_every_prefix_is_as_enumerated(kind, name, end, prompt):
    hmm, constraint, given = model(kind), CONSTRAINTS[name], torch.tensor([prompt], dtype=torch.long)
    chances, met = enumerated(hmm, constraint, given, end)
    guide = HMMGuide(hmm, constraint, N, end)
    for m in range(N + 1):
        rows = texts(m)
        state = guide.advance(guide.start(given).select(torch.zeros(len(rows), dtype=torch.long)), rows)
        alone, together = (table.reshape(V**m, -1).sum(1) for table in (chances, met))
        assert torch.allclose(guide.log_prob(state).exp(), together / alone, atol=1e-12)
        if m == N:
            break
        words, words_met = (table.reshape(V**m, V, -1).sum(2) for table in (chances, met))
        going_on = torch.tensor([end not in row for row in rows.tolist()])
        possible = going_on & (together > 0)
        expected = words_met[possible] / together[possible].unsqueeze(1)
        assert torch.allclose(guide.predict(state)[possible].exp(), expected, atol=1e-12)
        ratios = guide.log_ratios(state).exp()
        assert torch.allclose(ratios[possible], expected * (alone.unsqueeze(1) / words)[possible], atol=1e-12)
        assert (ratios[going_on & (together == 0)] == 0).all()
        assert (ratios[~going_on] == 1).all()


def test_texts_of_a_batch_go_on_by_themselves():
    guide = HMMGuide(model("low rank"), CONSTRAINTS["phrases"], N)
    prompts, lengths = torch.tensor([[2, 1, 0], [1, 0, 0]]), torch.tensor([3, 1])
    both = guide.advance(guide.start(prompts, lengths), torch.tensor([[1, 2], [0, 3]]))
    for row, (prompt, words) in enumerate([([2, 1, 0], [1, 2]), ([1], [0, 3])]):
        alone = guide.start(torch.tensor([prompt]))
        for word in words:  # one by one
            alone = guide.advance(alone, torch.tensor([[word]]))
        assert torch.allclose(guide.predict(both)[row], guide.predict(alone)[0])


@pytest.mark.parametrize("end", [None, END])
def test_samples_have_the_frequencies_of_texts_given_the_constraint(end):
    hmm, constraint = model("dense"), CONSTRAINTS["phrases"]
    torch.manual_seed(0)
    drawn = HMMGuide(hmm, constraint, N, end).sample(4000)
    _, met = enumerated(hmm, constraint, torch.zeros(1, 0, dtype=torch.long), end)
    expected: dict[tuple[int, ...], float] = {}
    for row, chance in zip(texts(N).tolist(), (met / met.sum()).flatten().tolist(), strict=True):
        kept = row[: row.index(end) + 1] if end in row else row
        cut = (*kept, *[-1] * (N - len(kept)))
        expected[cut] = expected.get(cut, 0.0) + chance
    counts = dict.fromkeys(expected, 0)
    for row in drawn.tolist():
        counts[tuple(row)] += 1
    assert all(count == 0 for row, count in counts.items() if expected[row] == 0)
    likely = [row for row in expected if 4000 * expected[row] > 5]
    observed = [counts[row] for row in likely]
    wanted = [4000 * expected[row] for row in likely]
    assert chisquare(observed, wanted, sum_check=False).pvalue > 1e-3


def test_improbable_constraints_do_not_underflow():
    """Sixty times a word of probability e^-9: 1e-235, far below what single precision holds."""
    emission = torch.tensor([[0.0, -9.0], [0.0, -9.0]])
    hmm = HMM(torch.zeros(2), torch.zeros(2, 2), emission)
    guide = HMMGuide(hmm, phrase([1] * 60, 2), 60)
    state = guide.start()
    expected = 60 * float(emission[0].log_softmax(0)[1])
    assert guide.log_prob(state).item() == pytest.approx(expected, rel=1e-5)
    assert guide.predict(guide.advance(state, torch.ones(1, 30, dtype=torch.long))).exp().tolist() == [[0, 1]]


def test_improbable_states_of_improbable_futures_count():
    """The only way leads through a state of probability e^-58 that goes on as needed with probability e^-58."""
    never = -math.inf
    initial, transition = torch.tensor([never, 0.0, -58.0]), torch.full((3, 3), never).fill_diagonal_(0.0)
    emission = torch.tensor([[0.0, never], [never, 0.0], [-58.0, 0.0]])
    guide = HMMGuide(HMM(initial, transition, emission), phrase([1, 0], 2), 2)
    assert guide.log_prob(guide.start()).item() == pytest.approx(-116, rel=1e-5)


def test_single_precision_agrees_with_double_precision():
    hmm = model("low rank", z=6)
    single = HMM(hmm.initial.float(), type(hmm.transition)(*(x.float() for x in hmm.transition.parameters)),
                 hmm.emission.logits.float())  # fmt: skip
    prompt = torch.tensor([[1, 0]])
    found, true = (
        guide.log_ratios(guide.start(prompt))
        for guide in (HMMGuide(one, CONSTRAINTS["phrases"], 12, END) for one in (single, hmm))
    )
    assert found.dtype == torch.float32
    assert torch.allclose(found.double(), true, atol=1e-5)


def test_nothing_follows_the_end():
    """A model whose last state has no successor, as one fitted to sentences with their ends may have."""
    initial, transition = torch.tensor([0.0, -math.inf]), torch.tensor([[0.0, 0.0], [-math.inf, -math.inf]])
    emission = torch.tensor([[0.0, 0.0, -math.inf], [-math.inf, -math.inf, 0.0]])
    guide = HMMGuide(HMM(initial, transition, emission), containing([[1]], 3), 3, end=2)
    state = guide.start()
    expected = 1 - (1 / 4 + 1 / 16 + 1 / 32)  # all but: 0 and the end, 0 0 and the end, 0 0 0
    assert guide.log_prob(state).exp().item() == pytest.approx(expected)
    ended = guide.advance(state, torch.tensor([[1, 2]]))
    assert guide.log_prob(ended).tolist() == [0]
    assert guide.log_ratios(ended).tolist() == [[0, 0, 0]]
    over = guide.advance(ended, torch.tensor([[2]]))
    assert guide.log_prob(over).tolist() == [0]
    one_word = HMM(torch.zeros(1), torch.full((1, 1), -math.inf), torch.zeros(1, 2))
    guide = HMMGuide(one_word, anything(2), 3, end=1)
    assert guide.log_prob(guide.start()).exp().item() == pytest.approx(1 / 2)


def test_emissions_from_vectors_guide_too():
    torch.manual_seed(0)
    vectors = torch.randn(3, 2, requires_grad=True), torch.randn(V, 2)
    table = Embedded(*vectors).table().mT
    guides = [
        HMMGuide(HMM(torch.zeros(3), torch.eye(3), emission), CONSTRAINTS["phrases"], N)
        for emission in (Embedded(*vectors), table)
    ]
    one, other = (guide.predict(guide.start()) for guide in guides)
    assert torch.allclose(one, other)
    assert not one.requires_grad


def test_errors_say_what_was_expected():
    hmm = model("dense")
    with pytest.raises(
        InfeasibleError, match="no text meets the constraint in 2 words under this model; expected a"
    ):
        HMMGuide(hmm, containing([[1, 2, 1]], V), 2)
    guide = HMMGuide(hmm, CONSTRAINTS["phrases"], 3)
    done = guide.advance(guide.start(), torch.tensor([[0, 1, 2]]))
    with pytest.raises(ValueError, match="the texts are complete; the guide is for texts of length 3"):
        guide.predict(done)
    with pytest.raises(ValueError, match="words has 1 words for each text, but only 0 more fit"):
        guide.advance(done, torch.tensor([[1]]))
    with pytest.raises(ValueError, match=r"words has shape \(1,\); expected \(b, m\)"):
        guide.advance(guide.start(), torch.tensor([1]))
    with pytest.raises(ValueError, match="words has 2 rows; expected 1, one for each text"):
        guide.advance(guide.start(), torch.tensor([[1], [2]]))


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"constraint": [[1]]}, "constraint is a list; expected an Automaton"),
        ({"constraint": anything(5)}, "constraint is over 5 words, and the model has 4; expected the same"),
        ({"length": 0}, "length is 0; expected at least 1 word"),
        ({"end": 4}, "end is 4; expected a word from 0 to 3"),
        ({"length": 2.5}, "length is 2.5; expected at least 1 word"),
        ({"end": 1.5}, "end is 1.5; expected a word from 0 to 3"),
    ],
)
def test_arguments_that_do_not_fit_are_refused(changed, message):
    with pytest.raises(ValueError, match=message):
        HMMGuide(**{"hmm": model("dense"), "constraint": CONSTRAINTS["phrases"], "length": 3, **changed})


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((-1,), "count is -1; expected an integer of 0 or more"),
        ((1.5,), "count is 1.5; expected an integer of 0 or more"),
        ((2, torch.zeros(1, 2, dtype=torch.long)), r"prompt has shape \(1, 2\); expected \(m,\)"),
        ((2, [0]), r"prompt is of type list; expected a LongTensor of shape \(m,\)"),
    ],
)
def test_samples_need_a_count_and_one_prompt(arguments, message):
    with pytest.raises(ValueError, match=message):
        HMMGuide(model("dense"), CONSTRAINTS["phrases"], 3).sample(*arguments)


def test_unknown_words_are_refused_but_ignored_after_the_end():
    guide = HMMGuide(model("dense"), CONSTRAINTS["phrases"], 3, END)
    for word in (-1, V):
        with pytest.raises(ValueError, match=f"words holds {word} at batch item 0, position 1; expected words"):
            guide.advance(guide.start(), torch.tensor([[0, word]]))
        with pytest.raises(ValueError, match=f"prompt holds {word} at batch item 0, position 0; expected"):
            guide.start(torch.tensor([[word]]))
        assert guide.start(torch.tensor([[0, word]]), [1]).left == 3
        ended = guide.advance(guide.start(), torch.tensor([[0, END, word]]))
        expected = guide.advance(guide.start(), torch.tensor([[0, END, 0]]))
        torch.testing.assert_close(guide.log_prob(ended), guide.log_prob(expected))


def test_impossible_prompts_are_named():
    emission = torch.tensor([[0.0, 0.0, -math.inf], [0.0, -math.inf, -math.inf]])
    once = HMM(torch.tensor([0.0, 0.0]), torch.tensor([[-math.inf, 0.0], [-math.inf, 0.0]]), emission)
    guide = HMMGuide(once, containing([[1]], 3), 2)
    with pytest.raises(InfeasibleError, match="cannot be met in 2 words after prompt 1; allow words"):
        guide.start(torch.tensor([[0], [2]]), torch.tensor([0, 1]))
    with pytest.raises(InfeasibleError, match="cannot be met in 2 words after prompt 0; allow words"):
        guide.start(torch.tensor([[0]]))


def test_a_model_of_vectors_guides_no_words():
    vectors = HMM(torch.zeros(2), torch.zeros(2, 2), Gaussian(torch.zeros(2, 3), torch.ones(2, 3)))
    with pytest.raises(ValueError, match="expected one of words"):
        HMMGuide(vectors, containing([[1]], words=3), length=3)
