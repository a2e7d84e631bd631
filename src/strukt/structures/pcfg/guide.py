"""A grammar as a guide for constrained generation of sentences."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from strukt.automata import Automaton, anything
from strukt.checks import arguments, guards
from strukt.kernels.semiring import NEG_INF
from strukt.structures.guide import Guide
from strukt.structures.pcfg.continuations import Reading, Rules, next_words, reading


class SentenceState(NamedTuple):
    """The state of a `PCFGGuide` for a batch of sentences.

    Attributes:
        words: The words of each sentence so far, including the prompt.
        prompts: The number of words of each prompt.
        left: The largest number of words still to come, which is the same for all sentences.
    """

    words: tuple[tuple[int, ...], ...]
    prompts: tuple[int, ...]
    left: int

    def select(self, rows: Tensor) -> SentenceState:
        """Return the state of the sentences with the indices ``rows (k,)``, in this order."""
        chosen = rows.tolist()
        return SentenceState(
            tuple(self.words[row] for row in chosen), tuple(self.prompts[row] for row in chosen), self.left
        )


class PCFGGuide(Guide[SentenceState]):
    """A grammar that computes the probability that a sentence will meet a constraint.

    The probability is exact: the grammar is intersected with the automaton of the constraint. The interface is
    that of `HMMGuide`, but prompt and text together must be a sentence that the grammar derives, and thus have two
    or more words. All probabilities are conditional on this and on ``length``. If no sentence meets the
    constraint, `start` raises an error, not the constructor.

    Args:
        root: ``(s,)``, as in `PCFG`: log-probabilities of each of s nonterminals as the label of the sentence.
        rules: ``(s, s + p, s + p)``, log-probabilities of the rules of each nonterminal, for p preterminals.
        emission: ``(v, p)``, log-probabilities of each of v words from each preterminal; those of ``end`` are
            ignored.
        constraint: The set of sentences to generate, over the v words; see `strukt.automata`.
        length: The largest number of words n after a prompt, at least 1. The end word counts, but a sentence of n
            words needs none.
        end: The word that ends a sentence for the language model; None if every text has exactly n words.

    Suitable for small grammars: the constructor takes O(n^2 q^3 u^2 + n q^2 u^3 + (q c + v) p) time, for q states
    of the automaton, c classes of words in it, and u = s + p symbols. The next word of each sentence of t words
    takes O((t + 1) n q (t + n q + u) u^2 + t^2 (t + u) u^2 + (q c + v) p). All of this is in double precision.

    Raises:
        ValueError: If shapes or types do not fit, a log-probability is NaN or +inf, the grammar and the constraint
            have different numbers of words, ``length`` is below 1, or ``end`` is not a word of the grammar.

    Examples:
        >>> from strukt.automata import containing
        >>> root, rules = torch.zeros(1), torch.full((1, 2, 2), 0.25).log()
        >>> emission = torch.tensor([[0.5], [0.5], [0.0]]).log()
        >>> guide = PCFGGuide(root, rules, emission, containing([[1]], words=3), length=3, end=2)
        >>> state = guide.start()
        >>> guide.log_prob(state).exp()  # of 00, 01, 10, 11 and the sentences of three words
        tensor([0.7917])
        >>> guide.predict(guide.advance(state, torch.tensor([[0, 1]]))).exp()
        tensor([[0.1667, 0.1667, 0.6667]])
    """

    def __init__(
        self,
        root: Tensor,
        rules: Tensor,
        emission: Tensor,
        constraint: Automaton,
        length: int,
        end: int | None = None,
    ) -> None:
        for name, value, axes, dim in (
            ("root", root, "(s,)", 1),
            ("rules", rules, "(s, s + p, s + p)", 3),
            ("emission", emission, "(v, p)", 2),
        ):
            arguments.scores(name, value, axes, dim)
        s, p = root.shape[-1], emission.shape[-1]
        if root.dim() != 1 or emission.dim() != 2 or rules.shape != (s, s + p, s + p):
            raise ValueError(
                f"the shapes do not fit together: root {tuple(root.shape)}, rules {tuple(rules.shape)}, emission "
                f"{tuple(emission.shape)}; expected (s,), (s, s + p, s + p), (v, p)"
            )
        super().__init__(constraint, emission.shape[0], length, end, root.device)
        for name, value in (("root", root), ("rules", rules), ("emission", emission)):
            read = value.detach()
            if name == "emission" and end is not None:
                read = read.index_fill(0, torch.tensor(end, device=self.device), 0.0)
            guards.require_values(read, read <= guards.LARGEST, name, "log-probabilities", 0)
        self._dtype = root.dtype
        with torch.no_grad():
            chances = emission.double().exp()
            if end is not None:
                chances = chances.index_fill(0, torch.tensor(end, device=self.device), 0.0)
            zeros = chances.new_zeros(p, s + p, s + p)
            self._grammar = Rules(
                torch.cat([root.double().exp(), chances.new_zeros(p)]),
                torch.cat([rules.double().exp(), zeros]),
                chances,
            )
            self._constrained = self._reading(constraint)
            self._free = self._reading(anything(self.words))

    def log_prob(self, state: SentenceState) -> Tensor:
        """Return the log-probability that the constraint will be met, given the words so far: ``(b,)``."""
        met = torch.stack(
            [
                self._accepted(words, prompt) if self._ended(words, prompt) or not state.left else met
                for words, prompt, met in zip(state.words, state.prompts, self._sums(state), strict=True)
            ]
        )
        return met.to(self._dtype)

    def _reading(self, automaton: Automaton) -> Reading:
        """Return an automaton on the device of the grammar, with its tables of future words."""
        parts = (automaton.transitions, automaton.accepting, automaton.classes)
        transitions, accepting, classes = (part.to(self.device) for part in parts)
        return reading(self._grammar, transitions, accepting, classes, self.length)

    def _sums(self, state: SentenceState) -> Tensor:
        """Return the log-probability ``(b,)`` that sentences which have not ended will meet the constraint."""
        if not state.left:
            return torch.zeros(len(state.words), device=self.device)
        joint, alone = (part.logsumexp(1) for part in self._joint(state))
        return torch.where(joint > NEG_INF, joint - torch.where(alone > NEG_INF, alone, 0.0), NEG_INF)

    def _behind(self, prompt: Tensor, lengths: Tensor) -> SentenceState:
        sizes = lengths.tolist()
        rows = tuple(tuple(row[:size]) for row, size in zip(prompt.tolist(), sizes, strict=True))
        return SentenceState(rows, tuple(sizes), self.length)

    def _after(self, state: SentenceState, words: Tensor) -> SentenceState:
        longer = tuple((*before, *row) for before, row in zip(state.words, words.tolist(), strict=True))
        return SentenceState(longer, state.prompts, state.left - words.shape[1])

    def _settled(self, state: SentenceState) -> Tensor:
        ended = [self._ended(words, prompt) for words, prompt in zip(state.words, state.prompts, strict=True)]
        return torch.tensor(ended, dtype=torch.bool, device=self.device)

    def _joint(self, state: SentenceState) -> tuple[Tensor, Tensor]:
        rows = list(zip(state.words, state.prompts, strict=True))
        joint, alone = (
            torch.stack([self._log_prob_of_next(automaton, *row, state.left) for row in rows])
            for automaton in (self._constrained, self._free)
        )
        return joint, alone

    def _log_prob_of_next(self, automaton: Reading, words: tuple[int, ...], prompt: int, left: int) -> Tensor:
        """Return the log-probabilities of the next word up to a constant, ``(v,)``."""
        if self._ended(words, prompt):
            return torch.zeros(self.words, dtype=self._dtype, device=self.device)
        chances = self._grammar.emission[torch.tensor(words, dtype=torch.long, device=self.device)]
        tops = chances.amax(1, keepdim=True)  # the probability of the words so far cancels
        chances = chances / torch.where(tops > 0, tops, 1.0)
        states = self._states(automaton, words, prompt)
        each, whole = next_words(self._grammar, automaton, chances, states, left, exact=self.end is None)
        if self.end is not None:
            each = each.index_fill(0, torch.tensor(self.end, device=self.device), float(whole))
        return each.log().to(self._dtype)

    def _states(self, automaton: Reading, words: tuple[int, ...], prompt: int) -> Tensor:
        """Return the states before each word and after the last, ``(t + 1,)``; the automaton reads no prompt."""
        states = torch.zeros(len(words) + 1, dtype=torch.long, device=self.device)
        for place in range(prompt, len(words)):
            states[place + 1] = automaton.transitions[states[place], automaton.classes[words[place]]]
        return states

    def _ended(self, words: tuple[int, ...], prompt: int) -> bool:
        return self.end is not None and self.end in words[prompt:]

    def _accepted(self, words: tuple[int, ...], prompt: int) -> Tensor:
        """Return 0 for a sentence that meets the constraint, else -inf."""
        kept = words[: words.index(self.end, prompt)] if self.end in words[prompt:] else words
        state = self._states(self._constrained, kept, prompt)[-1]
        return torch.where(self._constrained.accepting[state] > 0, 0.0, NEG_INF)
