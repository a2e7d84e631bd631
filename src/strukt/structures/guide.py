"""Guides for constrained generation: the probability, under a model, that a text will meet a constraint."""

from __future__ import annotations

import abc
from typing import Any, Generic, Protocol, TypeVar

import torch
from torch import Tensor
from typing_extensions import Self

from strukt.automata import Automaton
from strukt.checks import arguments, guards
from strukt.checks.lengths import Lengths
from strukt.errors import InfeasibleError
from strukt.kernels.semiring import NEG_INF, finite


class TextState(Protocol):
    """The interface of states; a state summarises the words so far of a batch of texts for a `Guide`."""

    @property
    def left(self) -> int:
        """The largest number of words that can still follow."""

    def select(self, rows: Tensor) -> Self:
        """Return the state of k texts, given their indices ``rows (k,)``, in this order."""


State = TypeVar("State", bound=TextState)


class Guide(abc.ABC, Generic[State]):
    """Base class of guides, which compute the probability that a text will meet a constraint.

    The text comes from a model, such as a hidden Markov model. A guide also computes the probability of each next
    word given that the constraint will be met.

    Args:
        constraint: The set of texts to generate, over the words of the model.
        words: The number of words of the model, v.
        length: The largest number of words of a text, n, at least 1.
        end: The word that ends a text; None if every text has n words.
        device: The device of the model.

    The arguments other than ``constraint`` are attributes. A subclass implements `log_prob`, ``_behind``,
    ``_after``, ``_joint`` and ``_settled``, for a type of states that has the members of `TextState`.

    Raises:
        ValueError: If ``constraint`` is not an automaton over the words of the model, ``length`` is not an integer
            of 1 or more, or ``end`` is not a word of the model.
    """

    def __init__(
        self, constraint: Automaton, words: int, length: int, end: int | None, device: torch.device
    ) -> None:
        if not isinstance(constraint, Automaton):
            raise ValueError(f"constraint is a {type(constraint).__name__}; expected an Automaton")
        if constraint.words != words:
            raise ValueError(
                f"constraint is over {constraint.words} words, and the model has {words}; expected the same number"
            )
        if not arguments.is_integer(length) or length < 1:
            raise ValueError(f"length is {length!r}; expected at least 1 word")
        if end is not None and not (arguments.is_integer(end) and 0 <= end < words):
            raise ValueError(f"end is {end!r}; expected a word from 0 to {words - 1}, or None")
        self.words, self.length, self.end, self.device = words, length, end, device

    @abc.abstractmethod
    def log_prob(self, state: State) -> Tensor:
        """Return the log-probability that the constraint will be met, given the words so far: ``(b,)``.

        Args:
            state: The state of b texts, which `start` or `advance` returned.
        """

    def start(self, prompt: Tensor | None = None, lengths: Lengths | None = None) -> State:
        """Return the state at the start of texts, after prompts that the model reads and the constraint does not.

        Args:
            prompt: ``(b, m)``, b prompts of up to m words; numbers in padding are ignored. None for one empty
                prompt.
            lengths: ``(b,)``, the lengths of the prompts; all m if None.

        Raises:
            ValueError: If a shape or type is wrong, or a word or a length is out of range.
            InfeasibleError: If there is a prompt after which no text meets the constraint.
        """
        if prompt is None:
            prompt = torch.zeros(1, 0, dtype=torch.long, device=self.device)
        prompt = self._rows("prompt", prompt)
        sizes = arguments.lengths(lengths, prompt.shape[:1], prompt.shape[1], self.device)
        padding = torch.arange(prompt.shape[1], device=self.device) >= sizes.unsqueeze(1)
        self._require_words("prompt", prompt, padding)
        state = self._behind(prompt, sizes)
        impossible = (self.log_prob(state) == NEG_INF).nonzero().flatten().tolist()
        if impossible:
            raise InfeasibleError(
                f"the constraint cannot be met in {self.length} words after prompt {impossible[0]}; allow words "
                "that the model gives some probability, or a longer text"
            )
        return state

    def advance(self, state: State, words: Tensor) -> State:
        """Return the state after more words ``(b, m)``; any numbers after the end of a text are ignored.

        Args:
            state: The state of b texts, which `start` or `advance` returned; it is not changed.
            words: ``(b, m)``, the next m words of each text.

        Raises:
            ValueError: If a shape or type is wrong, a word is out of range, or there are more words than the
                length of the text allows.
        """
        words, settled = self._rows("words", words), self._settled(state)
        if len(words) != len(settled):
            raise ValueError(f"words has {len(words)} rows; expected {len(settled)}, one for each text")
        if words.shape[1] > state.left:
            raise ValueError(
                f"words has {words.shape[1]} words for each text, but only {state.left} more fit; expected at "
                f"most length = {self.length} in all"
            )
        ended = settled.unsqueeze(1)
        if self.end is not None:
            ended = ended | ((words == self.end).cumsum(1) > 0)
        self._require_words("words", words, ended)
        return self._after(state, words.clamp(0, self.words - 1))

    def predict(self, state: State) -> Tensor:
        """Return the log-probability of each next word given the words so far and the constraint: ``(b, v)``.

        It is -inf for words that are impossible under the model, or after which the constraint cannot be met, and
        undefined after the end of a text.

        Args:
            state: The state of b texts, which `start` or `advance` returned.

        Raises:
            ValueError: If the texts have ``length`` words, so that none can follow.
        """
        return _normalised(self._next(state)[0])

    def log_ratios(self, state: State) -> Tensor:
        """Return the log-ratios ``(b, v)`` of each next word's probabilities with and without the constraint.

        This is the log-probability that the constraint will be met if the word follows, minus the log-probability
        that it will be met given only the words so far. It is -inf for words that are impossible under the model,
        or after which the constraint cannot be met, and 0 after the end of a text.

        Args:
            state: The state of b texts, which `start` or `advance` returned.

        Raises:
            ValueError: If the texts have ``length`` words, so that none can follow.
        """
        joint, alone = self._next(state)
        possible = joint > NEG_INF
        ratios = _normalised(joint) - torch.where(possible, _normalised(alone), 0.0)
        return torch.where(self._settled(state).unsqueeze(1), 0.0, torch.where(possible, ratios, NEG_INF))

    def sample(self, count: int = 1, prompt: Tensor | None = None) -> Tensor:
        """Draw texts from the model given that they meet the constraint: ``(count, n)``.

        Samples are exact and independent. They include the end word, but not the prompt, and are padded with -1.

        Args:
            count: The number of texts.
            prompt: ``(m,)``, the prompt of all texts; None for the empty prompt.

        Raises:
            ValueError: If ``count`` is not an integer of 0 or more, or ``prompt`` is not a vector of words of the
                model.
            InfeasibleError: If no text that follows the prompt meets the constraint.
        """
        if not arguments.is_integer(count) or count < 0:
            raise ValueError(f"count is {count!r}; expected an integer of 0 or more")
        if prompt is not None:
            arguments.integers("prompt", prompt, "(m,)", self.device)
            if prompt.dim() != 1:
                raise ValueError(f"prompt has shape {tuple(prompt.shape)}; expected (m,), one prompt of all texts")
        words = torch.full((count, self.length), -1, device=self.device)
        state = self.start(words[:, :0] if prompt is None else prompt.expand(count, -1))
        for place in range(self.length):
            going_on = ~self._settled(state)
            if not bool(going_on.any()):
                break
            chances = torch.where(going_on.unsqueeze(1), self.predict(state).exp(), 1.0)
            word = torch.multinomial(chances, 1)
            words[:, place] = torch.where(going_on, word.squeeze(1), -1)
            state = self.advance(state, word)
        return words

    @abc.abstractmethod
    def _behind(self, prompt: Tensor, lengths: Tensor) -> State:
        """Return the state after prompts ``(b, m)`` of lengths ``(b,)``."""

    @abc.abstractmethod
    def _after(self, state: State, words: Tensor) -> State:
        """Return the state after words ``(b, m)``; m is at most ``state.left``."""

    @abc.abstractmethod
    def _joint(self, state: State) -> tuple[Tensor, Tensor]:
        """Return log-probabilities of each next word, jointly with the constraint and without it: ``(b, v)`` each.

        Only their differences within a text matter: an arbitrary constant may be added to both rows of a text.
        """

    @abc.abstractmethod
    def _settled(self, state: State) -> Tensor:
        """Return a mask ``(b,)`` of the texts that have ended."""

    def _next(self, state: State) -> tuple[Tensor, Tensor]:
        """Return the result of `_joint`; raise ValueError if no word can follow."""
        if not state.left:
            raise ValueError(f"the texts are complete; the guide is for texts of length {self.length}")
        return self._joint(state)

    def _require_words(self, name: str, words: Tensor, ignored: Tensor) -> None:
        """Raise ValueError unless all words are words of the model, except where the mask ``ignored`` is True."""
        valid = (words >= 0) & (words < self.words) | ignored
        guards.require_values(words, valid, name, f"words from 0 to {self.words - 1}")

    def _rows(self, name: str, words: Any) -> Tensor:
        """Return ``words``; raise ValueError unless they are a tensor of integers ``(b, m)``."""
        arguments.integers(name, words, "(b, m)", self.device)
        if words.dim() != 2:
            raise ValueError(
                f"{name} has shape {tuple(words.shape)}; expected (b, m), the words of each text"
            )
        return words  # type: ignore[no-any-return]


def _normalised(joint: Tensor) -> Tensor:
    """Normalise log-probabilities ``(b, v)`` over the words; a row of -inf stays as it is."""
    total = joint.logsumexp(1, keepdim=True)
    return joint - finite(total)
