"""A hidden Markov model as a guide for constrained generation (GeLaTo, Ctrl-G)."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from strukt.automata import Automaton
from strukt.errors import InfeasibleError
from strukt.kernels.semiring import NEG_INF, finite
from strukt.structures.guide import Guide
from strukt.structures.hmm.continuations import Constraint, continuations
from strukt.structures.hmm.distribution import HMM
from strukt.structures.hmm.emissions.symbols import Symbols
from strukt.structures.hmm.steps import steps


class GuideState(NamedTuple):
    """The state of an `HMMGuide` for a batch of texts.

    Attributes:
        states: ``(b,)``, the state of the automaton after each of b texts.
        ahead: ``(b, z)``, the distribution of the hidden state that emits the next word, over z states; zeros
            after impossible words.
        left: The largest number of words still to come, which is the same for all texts.
    """

    states: Tensor
    ahead: Tensor
    left: int

    def select(self, rows: Tensor) -> GuideState:
        """Return the state of the texts with the indices ``rows (k,)``, in this order."""
        return GuideState(self.states[rows], self.ahead[rows], self.left)


class HMMGuide(Guide[GuideState]):
    """A hidden Markov model that computes the probability that a text will meet a constraint.

    The probability is exact: a recursion over the words to come, the hidden states and the states of the
    automaton. Another language model over the same words generates only texts that meet the constraint if
    `log_ratios` are added to its log-probabilities (GeLaTo, Zhang et al. 2023; Ctrl-G, Zhang et al. 2024). The
    closer the two models are, the closer the texts are to that model's distribution given the constraint.

    Args:
        hmm: The hidden Markov model.
        constraint: The set of texts to generate, over the words of the model; see `strukt.automata`.
        length: The largest number of words of a text, n, at least 1.
        end: The word that ends a text, or None. Without it, every text has n words. With it, the text before it
            must meet the constraint, and so must a text that is cut off after n words.

    The constructor takes O(n (q z r + a z) + v (z + c) + q c z) time and O(n q z + v z) memory, for v words, z
    hidden states, a low-rank transition of rank r (else r = z), and q states, a <= q^2 arcs and c classes of words
    of the automaton. A word then takes O(z (r + v)) time for each text, as with `HMM.predict`. Nothing is
    differentiable. Hidden states whose probability relative to the largest is below
    about 1e-38 in single precision, or 1e-308 in double precision, count as impossible.

    Raises:
        ValueError: If the numbers of words of model and constraint differ, the length or the end is invalid, or
            the model does not emit words.
        InfeasibleError: If the constraint cannot be met, whatever the prompt is.

    Examples:
        >>> from strukt import HMM
        >>> from strukt.automata import containing
        >>> coin = HMM(torch.zeros(1), torch.zeros(1, 1), torch.zeros(1, 2))
        >>> guide = HMMGuide(coin, containing([[1, 1]], words=2), length=3)
        >>> guide.log_prob(guide.start()).exp()  # 011, 110, 111 of eight
        tensor([0.3750])
        >>> guide.predict(guide.start()).exp()
        tensor([[0.3333, 0.6667]])
        >>> guide.predict(guide.advance(guide.start(), torch.tensor([[0]]))).exp()
        tensor([[0., 1.]])
    """

    def __init__(self, hmm: HMM, constraint: Automaton, length: int, end: int | None = None) -> None:
        device, emission = hmm.initial.device, hmm.emission
        if not isinstance(emission, Symbols):
            raise ValueError(f"hmm has the emission {emission!r}; expected one of words, such as Categorical")
        super().__init__(constraint, emission.words, length, end, device)
        self.hmm = hmm
        self._constraint = Constraint(*(part.to(device) for part in _until(constraint, end)))
        with torch.no_grad():
            table = emission.table()
            factors = hmm.transition.factors()
            self._steps = steps(*factors)
            self._tables = continuations(self._constraint, length, table, *factors)
            # The table of words, sorted by class, as probabilities relative to each word's largest, exp(tops).
            sizes = torch.bincount(self._constraint.classes)
            self._sizes: list[int] = sizes.tolist()
            self._order = self._constraint.classes.argsort(stable=True)
            self._places = self._order.argsort()
            tops = table.amax(1)
            self._tops = finite(tops)
            self._chances = (table - self._tops.unsqueeze(1)).exp()[self._order]
        anywhere = torch.full((1, hmm.states), 1 / hmm.states, dtype=table.dtype, device=device)
        first = GuideState(torch.zeros(1, dtype=torch.long, device=device), anywhere, length)
        if bool(self.log_prob(first) == NEG_INF):
            raise InfeasibleError(
                f"no text meets the constraint in {length} words under this model; expected a greater length, a "
                "constraint that can be met, or a model that knows its words"
            )

    def log_prob(self, state: GuideState) -> Tensor:
        """Return the log-probability that the constraint will be met, given the words so far: ``(b,)``."""
        accepted = self._constraint.accepting[state.states]
        if state.left:
            met = self._joint(state)[0].logsumexp(1)
        else:
            met = torch.where(accepted & state.ahead.any(1), 0.0, NEG_INF).to(state.ahead.dtype)
        return torch.where(self._settled(state) & accepted, 0.0, met)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.hmm!r}, length: {self.length}, end: {self.end})"

    def _behind(self, prompt: Tensor, lengths: Tensor) -> GuideState:
        with torch.no_grad():
            _, ahead = self.hmm.stream(prompt, None, lengths)
        states = torch.zeros(len(prompt), dtype=torch.long, device=self.device)
        return GuideState(states, ahead, self.length)

    def _after(self, state: GuideState, words: Tensor) -> GuideState:
        states, ahead = state.states, state.ahead
        for word in words.unbind(1):
            states = self._constraint.transitions[states, self._constraint.classes[word]]
            seen = ahead.double() * self._chances[self._places[word]]
            total = seen.sum(1, keepdim=True)
            seen = (seen / torch.where(total > 0, total, 1.0)).to(ahead.dtype)
            ahead = self._steps.advance(self._steps.message(seen))
        return GuideState(states, ahead, state.left - words.shape[1])

    def _settled(self, state: GuideState) -> Tensor:
        return self._constraint.settled[state.states]

    def _joint(self, state: GuideState) -> tuple[Tensor, Tensor]:
        after = self._constraint.transitions[state.states]
        shares, logs = self._tables.shares[state.left - 1], self._tables.logs[state.left - 1]
        ahead = state.ahead.double()  # products of small numbers
        weights = torch.stack([torch.cat([ahead * shares[states], ahead]) for states in after.unbind(1)])
        joint, alone = self._log_prob_of_words(weights).chunk(2)
        return joint + logs[after][:, self._constraint.classes], alone

    def _log_prob_of_words(self, weights: Tensor) -> Tensor:
        """Return the log of the sum over states of their weight times the probability of each word: ``(b, v)``.

        ``weights (c, b, z)`` are the weights of states, which depend on the class of the word.
        """
        tops = weights.amax(2)
        scaled = (weights / torch.where(tops > 0, tops, 1.0).unsqueeze(2)).to(self._chances.dtype)
        parts = torch.split(self._chances, self._sizes)
        rows = [part @ matrix.mT for part, matrix in zip(parts, scaled, strict=True)]
        logs = torch.cat(rows)[self._places].log().mT + self._tops
        return logs + tops.log().mT[:, self._constraint.classes].to(logs.dtype)


def _until(automaton: Automaton, end: int | None) -> Constraint:
    """Extend the automaton by two states for texts that have ended: the constraint is met, or failed.

    If ``end`` is None, add no states.
    """
    transitions, accepting, classes = automaton.transitions, automaton.accepting, automaton.classes
    settled = torch.zeros_like(accepting)
    if end is None:
        return Constraint(transitions, accepting, classes, settled)
    met, failed = automaton.states, automaton.states + 1
    column = torch.where(accepting, met, failed).unsqueeze(1)
    rows = torch.tensor([met, failed]).unsqueeze(1).expand(-1, transitions.shape[1] + 1)
    transitions = torch.cat([torch.cat([transitions, column], 1), rows])
    accepting, settled = (
        torch.cat([part, torch.tensor(ends)])
        for part, ends in ((accepting, [True, False]), (settled, [True, True]))
    )
    classes = classes.clone()
    classes[end] = transitions.shape[1] - 1
    return Constraint(transitions, accepting, classes, settled)
