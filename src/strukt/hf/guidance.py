"""Text generation under a constraint: a guide as a logits processor, and what tokens spell."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
import transformers
from torch import Tensor

from strukt.errors import InfeasibleError
from strukt.kernels.semiring import NEG_INF
from strukt.structures.guide import Guide, TextState


class _Read(NamedTuple):
    tokens: Tensor  # (b, m)
    state: TextState


class GuidedLogitsProcessor(transformers.LogitsProcessor):  # type: ignore[misc]
    """Let a model generate only what meets the constraint of a guide: by sampling, greedy or beam search.

    It adds `Guide.log_ratios` to the scores of a step, before temperature, top-k and top-p. So tokens are drawn
    in proportion to p(token | text) p(constraint | text, token), and the score of a beam is the log-probability of
    its text and of the constraint given the text. It depends on the tokens alone and may be used again.

    Call ``model.generate(prompt, logits_processor=[processor], max_new_tokens=guide.length)``, with the end of
    the guide as the model's ``eos_token_id``. With fewer new tokens a text may be cut off before it meets the
    constraint.

    Args:
        guide: An `HMMGuide` or `PCFGGuide` over the model's tokens, best of a model fitted to texts of this one.
        prompt_length: The tokens of a prompt, padding included. The guide's model reads them, and the constraint
            is about what follows.
        padding: The token to the left of shorter prompts; the guide's model reads none of those in front.

    Raises:
        ValueError: If ``prompt_length`` is negative; when called, if the tokens do not fit the prompts or the
            guide.
        InfeasibleError: When called, if no text behind some prompt can meet the constraint.

    Examples:
        >>> from strukt import HMM, HMMGuide
        >>> from strukt.automata import phrase
        >>> coin = HMM(torch.zeros(1), torch.zeros(1, 1), torch.zeros(1, 3))
        >>> processor = GuidedLogitsProcessor(HMMGuide(coin, phrase([1, 2], words=3), length=2), prompt_length=1)
        >>> processor(torch.tensor([[0, 1]]), torch.zeros(1, 3)).isfinite()
        tensor([[False, False,  True]])
    """

    def __init__(self, guide: Guide[Any], prompt_length: int, padding: int | None = None) -> None:
        if prompt_length < 0:
            raise ValueError(f"prompt_length is {prompt_length}; expected 0 or more, as prompt.shape[1]")
        self.guide, self.prompt_length, self.padding = guide, prompt_length, padding
        self._read: _Read | None = None

    def __call__(self, input_ids: Tensor, scores: Tensor) -> Tensor:
        """The scores of the next tokens ``(b, v)`` after texts ``(b, m)``; -inf for those that must not follow."""
        words = self.guide.words
        if scores.shape[1] != words:
            raise ValueError(
                f"the scores are of {scores.shape[1]} tokens, and the guide's model has {words} words; expected "
                "model.config.vocab_size of them"
            )
        new = input_ids.shape[1] - self.prompt_length
        if not 0 <= new < self.guide.length:
            raise ValueError(
                f"the texts have {input_ids.shape[1]} tokens; expected prompt_length = {self.prompt_length} or up "
                f"to {self.guide.length - 1} more: pass max_new_tokens={self.guide.length}, the guide's length"
            )
        self._read = _Read(input_ids, self._state(input_ids))
        guided = scores + self.guide.log_ratios(self._read.state).to(scores)
        if bool((guided == NEG_INF).all()):
            raise InfeasibleError(
                f"no token can follow after {new} new ones: the model, or another processor, excludes all with "
                "which the constraint could be met"
            )
        return guided

    def _state(self, texts: Tensor) -> TextState:
        """Go on from the last call if these are texts of it with one more token, in any order; else read all."""
        if self._read is not None and self._read.tokens.shape[1] + 1 == texts.shape[1] > self.prompt_length:
            same = (texts[:, None, :-1] == self._read.tokens).all(2)
            if bool(same.any(1).all()):
                before = self._read.state.select(same.long().argmax(1))
                return self._after(before, texts[:, -1:])
        prompts, lengths = self._without_padding(texts[:, : self.prompt_length])
        return self._after(self.guide.start(prompts, lengths), texts[:, self.prompt_length :])

    def _after(self, before: TextState, words: Tensor) -> TextState:
        state: TextState = self.guide.advance(before, words)
        return state

    def _without_padding(self, prompts: Tensor) -> tuple[Tensor, Tensor]:
        """Prompts ``(b, m)`` moved to the left, and their lengths ``(b,)``."""
        shown = torch.ones_like(prompts) if self.padding is None else prompts != self.padding
        lengths = (shown.cumsum(1) > 0).sum(1)
        places = (
            torch.arange(prompts.shape[1], device=prompts.device) + prompts.shape[1] - lengths.unsqueeze(1)
        )
        return prompts.gather(1, places.clamp(max=prompts.shape[1] - 1)), lengths


def token_spellings(tokenizer: Any, words: int | None = None) -> list[str | None]:
    """Return the text that each token adds, for `strukt.automata.matching`; None for special tokens.

    A token that is only a part of the bytes of a character spells U+FFFD.

    Args:
        tokenizer: Of transformers.
        words: The number of tokens of the model, which may be greater; that of the tokenizer if None.

    Raises:
        ValueError: If ``words`` is smaller than the tokenizer needs, or it has special tokens only.
    """
    count = len(tokenizer)
    words = count if words is None else words
    if words < count:
        raise ValueError(f"words is {words}; expected at least the {count} tokens of the tokenizer")
    special = set(tokenizer.all_special_ids)
    # Decoders drop the space in front of a first token, so that each is read behind another one.
    numbers = [number for number in range(count) if number not in special]
    before = next((number for number in numbers if tokenizer.decode([number]).strip()), None)
    if before is None:
        raise ValueError(
            f"tokenizer has {count} tokens, none of which spells anything; expected one of words"
        )
    texts = tokenizer.batch_decode(
        [[before], *([before, number] for number in numbers)], clean_up_tokenization_spaces=False
    )
    found = dict(zip(numbers, (text.removeprefix(texts[0]) for text in texts[1:]), strict=True))
    return [found.get(number) for number in range(words)]
