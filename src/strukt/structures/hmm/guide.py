"""A hidden Markov model as a guide: how a text must go on, so that it meets a constraint."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from strukt.automata import Automaton
from strukt.checks import arguments
from strukt.checks.lengths import Lengths
from strukt.errors import InfeasibleError
from strukt.kernels.semiring import NEG_INF
from strukt.structures.hmm.continuations import Constraint, continuations
from strukt.structures.hmm.distribution import HMM
from strukt.structures.hmm.steps import steps


class GuideState(NamedTuple):
    """Where texts are.

    Attributes:
        states: ``(b,)``, the state of the automaton.
        ahead: ``(b, z)``, the distribution of the hidden state behind the next word; zeros behind words that are
            impossible.
        left: How many words are still to come.
    """

    states: Tensor
    ahead: Tensor
    left: int

    def select(self, rows: Tensor) -> GuideState:
        """Some of the texts ``(k,)``."""
        return GuideState(self.states[rows], self.ahead[rows], self.left)


class HMMGuide:
    """A hidden Markov model that knows how probable it is that a text will meet a constraint.

    This is exact, by a recursion over the words to come, the hidden states and the states of the automaton. With
    `log_ratios` added to its log-probabilities, any language model over the same words writes only what meets the
    constraint (GeLaTo, Zhang et al. 2023; Ctrl-G, Zhang et al. 2024). The more alike the two models are, the
    closer that is to the language model's own texts given the constraint; if they are the same, it is just that.

    Args:
        hmm: The model.
        constraint: The texts to write, over the words of the model; see `strukt.automata`.
        length: N, the most words of a text, at least 1.
        end: The word that ends a text, if there is one. Without one every text has all n words; with one, what
            stands in front of it must meet the constraint, and so must a text that is cut off after n words.

    It takes O(n (q z r + a z)) time, for q states of the automaton and a <= q^2 pairs of them that follow each
    other, and O(n q z) memory, once for all texts. A word then takes O(z (r + v)) time for each text, as with
    `HMM.predict`. Nothing is differentiable. Hidden states whose part in a probability is below about 1e-38 of the
    largest one count as impossible in single precision, below 1e-308 in double precision.

    Raises:
        ValueError: If the words of model and constraint, the length or the end do not fit.
        InfeasibleError: If no text meets the constraint, whatever stands in front of it.

    Examples:
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
        words = hmm.emission.words
        if constraint.words != words:
            raise ValueError(
                f"constraint is over {constraint.words} words, and the model has {words}; expected the same number"
            )
        if length < 1:
            raise ValueError(f"length is {length}; expected at least 1 word")
        if end is not None and not 0 <= end < words:
            raise ValueError(f"end is {end}; expected a word from 0 to {words - 1}, or None")
        self.hmm, self.length, self.end = hmm, length, end
        device = hmm.initial.device
        self._constraint = Constraint(*(part.to(device) for part in _until(constraint, end)))
        with torch.no_grad():
            table = hmm.emission.table()
            factors = hmm.transition.factors()
            self._steps = steps(*factors)
            self._tables = continuations(self._constraint, length, table, *factors)
            sizes = torch.bincount(self._constraint.classes)
            self._sizes: list[int] = sizes.tolist()
            self._order = self._constraint.classes.argsort(stable=True)
            self._places = self._order.argsort()
            tops = table.amax(1)
            self._tops = torch.where(tops == NEG_INF, 0.0, tops)
            self._chances = (table - self._tops.unsqueeze(1)).exp()[self._order]
        anywhere = torch.full((1, hmm.states), 1 / hmm.states, dtype=table.dtype, device=device)
        first = GuideState(torch.zeros(1, dtype=torch.long, device=device), anywhere, length)
        if bool(self.log_prob(first) == NEG_INF):
            raise InfeasibleError(
                f"no text meets the constraint in {length} words under this model; expected a greater length, a "
                "constraint that can be met, or a model that knows its words"
            )

    def start(self, prompt: Tensor | None = None, lengths: Lengths | None = None) -> GuideState:
        """The beginning of texts, behind prompts that the model reads and the constraint does not.

        Args:
            prompt: ``(b, m)``; one empty prompt if None.
            lengths: ``(b,)``, of the prompts; all m if None.

        Raises:
            InfeasibleError: If no text that follows some prompt meets the constraint.
        """
        if prompt is None:
            prompt = torch.zeros(1, 0, dtype=torch.long, device=self.hmm.initial.device)
        with torch.no_grad():
            _, ahead = self.hmm.stream(self._rows("prompt", prompt), None, lengths)
        states = torch.zeros(len(prompt), dtype=torch.long, device=ahead.device)
        state = GuideState(states, ahead, self.length)
        impossible = (self.log_prob(state) == NEG_INF).nonzero().flatten().tolist()
        if impossible:
            unknown = [row for row in impossible if not bool(ahead[row].any())]
            why = "is impossible under the model" if unknown else "cannot be continued to meet the constraint"
            raise InfeasibleError(
                f"prompt {(unknown or impossible)[0]} {why}; expected words that the model has seen, and a "
                "constraint and a length that leave a way"
            )
        return state

    def advance(self, state: GuideState, words: Tensor) -> GuideState:
        """The state after more words ``(b, m)``.

        Raises:
            ValueError: If there are more of them than were still to come.
        """
        words = self._rows("words", words)
        if words.shape[1] > state.left:
            raise ValueError(
                f"words has {words.shape[1]} words for each text, of which {state.left} are to come; expected at "
                f"most length = {self.length} in all"
            )
        states, ahead = state.states, state.ahead
        for word in words.unbind(1):
            states = self._constraint.transitions[states, self._constraint.classes[word]]
            seen = ahead.double() * self._chances[self._places[word]]
            total = seen.sum(1, keepdim=True)
            seen = (seen / torch.where(total > 0, total, 1.0)).to(ahead.dtype)
            ahead = self._steps.advance(self._steps.message(seen))
        return GuideState(states, ahead, state.left - words.shape[1])

    def log_prob(self, state: GuideState) -> Tensor:
        """The log-probability that the constraint will be met, given the words so far: ``(b,)``."""
        accepted = self._constraint.accepting[state.states]
        if state.left:
            met = self._joint(state)[0].logsumexp(1)
        else:
            met = torch.where(accepted & state.ahead.any(1), 0.0, NEG_INF).to(state.ahead.dtype)
        return torch.where(self._constraint.settled[state.states] & accepted, 0.0, met)

    def predict(self, state: GuideState) -> Tensor:
        """The log-probability of each next word given those so far and that the constraint is met: ``(b, v)``.

        -inf for words after which it cannot be met. Behind the end of a text, as the model goes on.

        Raises:
            ValueError: If no words are to come.
        """
        return _normalised(self._joint(state)[0])

    def log_ratios(self, state: GuideState) -> Tensor:
        """The log of how much more probable the constraint makes each next word than it is by itself: ``(b, v)``.

        That is the log-probability that the constraint will be met after the word, less that before it. -inf for
        words that are impossible under the model, or after which it cannot be met; 0 behind the end of a text.

        Raises:
            ValueError: If no words are to come.
        """
        joint, alone = self._joint(state)
        possible = joint > NEG_INF
        ratios = torch.where(possible, _normalised(joint) - torch.where(possible, alone, 0.0), NEG_INF)
        return torch.where(self._constraint.settled[state.states].unsqueeze(1), 0.0, ratios)

    def sample(self, count: int = 1, prompt: Tensor | None = None) -> Tensor:
        """Texts of the model itself, drawn given that they meet the constraint: ``(count, n)``.

        They are exact and independent; -1 behind the end of a text.

        Args:
            count: How many.
            prompt: ``(m,)``, what stands in front of all of them; nothing if None.

        Raises:
            InfeasibleError: If no text that follows the prompt meets the constraint.
        """
        words = self._order.new_full((count, self.length), -1)
        state = self.start(words[:, :0] if prompt is None else prompt.expand(count, -1))
        for place in range(self.length):
            going_on = ~self._constraint.settled[state.states]
            if not bool(going_on.any()):
                break
            chances = torch.where(going_on.unsqueeze(1), self.predict(state).exp(), 1.0)
            word = torch.multinomial(chances, 1)
            words[:, place] = torch.where(going_on, word.squeeze(1), -1)
            state = self.advance(state, word)
        return words

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.hmm!r}, length: {self.length}, end: {self.end})"

    def _joint(self, state: GuideState) -> tuple[Tensor, Tensor]:
        """The log-probability of each next word and the constraint, and of the word alone: ``(b, v)`` each."""
        if not state.left:
            raise ValueError(f"no words are to come; the guide is for texts of length {self.length}")
        after = self._constraint.transitions[state.states]
        shares, logs = self._tables.shares[state.left - 1], self._tables.logs[state.left - 1]
        ahead = state.ahead.double()  # products of small numbers
        weights = torch.stack([torch.cat([ahead * shares[states], ahead]) for states in after.unbind(1)])
        joint, alone = self._log_prob_of_words(weights).chunk(2)
        return joint + logs[after][:, self._constraint.classes], alone

    def _log_prob_of_words(self, weights: Tensor) -> Tensor:
        """The logs of the probabilities of words ``(b, v)``, by weights ``(c, b, z)`` of states for each class."""
        tops = weights.amax(2)
        scaled = (weights / torch.where(tops > 0, tops, 1.0).unsqueeze(2)).to(self._chances.dtype)
        parts = torch.split(self._chances, self._sizes)
        rows = [part @ own.mT for part, own in zip(parts, scaled, strict=True)]
        logs = torch.cat(rows)[self._places].log().mT + self._tops
        return logs + tops.log().mT[:, self._constraint.classes].to(logs.dtype)

    def _rows(self, name: str, words: Tensor) -> Tensor:
        arguments.integers(name, words, "(b, m)", self.hmm.initial.device)
        if words.dim() != 2:
            raise ValueError(
                f"{name} has shape {tuple(words.shape)}; expected (b, m), the words of each text"
            )
        return words


def _normalised(joint: Tensor) -> Tensor:
    total = joint.logsumexp(1, keepdim=True)
    return joint - torch.where(total == NEG_INF, 0.0, total)


def _until(automaton: Automaton, end: int | None) -> Constraint:
    """The automaton, with two more states behind the word that ends a text, if there is one."""
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
