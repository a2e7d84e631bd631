"""Constrained text generation: a guide as a logits processor, and the spelling of tokens."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
import transformers
from torch import Tensor

from strukt.errors import InfeasibleError
from strukt.kernels.semiring import NEG_INF
from strukt.structures.guide import Guide, TextState


class _Read(NamedTuple):
    """The texts of the last call, and the guide's state after them."""

    tokens: Tensor  # (b, m)
    state: TextState


class GuidedLogitsProcessor(transformers.LogitsProcessor):  # type: ignore[misc]
    """Constrain generation to texts that a guide accepts, with sampling, greedy search or beam search.

    At each step, it adds `Guide.log_ratios` to the scores, before temperature, top-k and top-p. Tokens are sampled
    in proportion to p(token | text) p(constraint | text, token). Without a length penalty, the score of a beam is
    the log-probability of its text plus that of the constraint given the text, minus that of the constraint given
    the prompt, which all beams share. A processor may be used for several calls of `generate`.

    Call ``model.generate(prompt, logits_processor=[processor], max_new_tokens=guide.length)``, with ``guide.end``
    as the model's ``eos_token_id``. With fewer new tokens, a text may be cut off before it meets the constraint.

    Args:
        guide: An `HMMGuide` or `PCFGGuide` over the model's tokens, ideally fitted to samples from the model.
        prompt_length: Number of tokens of a prompt, including padding. The guide conditions on the prompt, and the
            constraint applies to the text after the prompt only.
        padding: The token to the left of shorter prompts, which the guide ignores; None if there is no padding.

    Raises:
        ValueError: If ``prompt_length`` is negative; when called, if the tokens do not fit the prompts or the
            guide.
        InfeasibleError: When called, if no continuation of some prompt can meet the constraint, or if the model or
            another processor excludes all of them.

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
        """Return new scores of the next tokens, -inf for forbidden ones; ``scores`` is not modified.

        Args:
            input_ids: ``(b, m)``, b texts of m tokens, prompts included.
            scores: ``(b, v)``, the scores of the v tokens of the model.
        """
        words = self.guide.words
        if scores.shape[1] != words:
            raise ValueError(
                f"scores has {scores.shape[1]} columns; expected {words}, one for each word of the guide's model "
                "(pad it to model.config.vocab_size)"
            )
        new = input_ids.shape[1] - self.prompt_length
        if not 0 <= new < self.guide.length:
            raise ValueError(
                f"the texts have {input_ids.shape[1]} tokens; expected prompt_length = {self.prompt_length} or up "
                f"to {self.guide.length - 1} more: pass max_new_tokens={self.guide.length}, the guide's length"
            )
        self._read = _Read(input_ids, self._state(input_ids))
        ratios = self.guide.log_ratios(self._read.state).to(scores)
        guided = scores + ratios
        # After the end of a text all ratios are 0, and what follows does not matter.
        self._require_possible((guided == NEG_INF).all(1) & (ratios != 0).any(1), input_ids)
        return guided

    def _require_possible(self, excluded: Tensor, texts: Tensor) -> None:
        """Raise InfeasibleError if all texts after some prompt are excluded; a single beam may be.

        Args:
            excluded: ``(b,)``, True if no token can follow the text.
            texts: ``(b, m)``.
        """
        if not bool(excluded.any()):
            return
        prompts = texts[:, : self.prompt_length]
        for row in excluded.nonzero().flatten().tolist():
            if bool(excluded[(prompts == prompts[row]).all(1)].all()):
                raise InfeasibleError(
                    f"no token can follow the {texts.shape[1] - self.prompt_length} generated ones of text {row}: "
                    "the model, or another processor, excludes every token that could meet the constraint"
                )

    def _state(self, texts: Tensor) -> TextState:
        """Return the guide's state after texts.

        If each text extends a text of the last call by one token, the state of the last call is continued. Beam
        search reorders texts, and may repeat some. Otherwise, all tokens are read again.
        """
        if self._read is not None and self._read.tokens.shape[1] + 1 == texts.shape[1] > self.prompt_length:
            rows = _rows_in(self._read.tokens, texts[:, :-1])
            if rows is not None:
                return self._after(self._read.state.select(rows), texts[:, -1:])
        prompts, lengths = self._without_padding(texts[:, : self.prompt_length])
        return self._after(self.guide.start(prompts, lengths), texts[:, self.prompt_length :])

    def _after(self, before: TextState, words: Tensor) -> TextState:
        state: TextState = self.guide.advance(before, words)
        return state

    def _without_padding(self, prompts: Tensor) -> tuple[Tensor, Tensor]:
        """Shift prompts ``(b, m)`` left over their padding; return them with their lengths ``(b,)``.

        Tokens beyond a length are arbitrary.
        """
        shown = torch.ones_like(prompts) if self.padding is None else prompts != self.padding
        lengths = (shown.cumsum(1) > 0).sum(1)
        places = (
            torch.arange(prompts.shape[1], device=prompts.device) + prompts.shape[1] - lengths.unsqueeze(1)
        )
        return prompts.gather(1, places.clamp(max=prompts.shape[1] - 1)), lengths


def _rows_in(known: Tensor, texts: Tensor) -> Tensor | None:
    """Return the row of ``known`` ``(k, m)`` that equals each row of ``texts`` ``(b, m)``; None if one has none.

    Takes O((k + b) m log(k + b)) time, and O((k + b) m) if the two are equal, as in sampling.
    """
    if torch.equal(known, texts):
        return torch.arange(len(known), device=known.device)
    if not known.shape[1]:  # before the first token without a prompt, all states are equal
        return torch.zeros(len(texts), dtype=torch.long, device=known.device)
    _, numbers = torch.unique(torch.cat([known, texts]), dim=0, return_inverse=True)
    place = numbers.new_full((len(numbers),), -1)
    place[numbers[: len(known)]] = torch.arange(len(known), device=known.device)
    rows = place[numbers[len(known) :]]
    return None if bool((rows < 0).any()) else rows


def token_spellings(tokenizer: Any, words: int | None = None) -> list[str | None]:
    """Return the text that each token adds, for `strukt.automata.matching`.

    Special tokens, and tokens that only the model has, are None. A token that is only part of the bytes of a
    character spells U+FFFD.

    Args:
        tokenizer: A tokenizer of transformers.
        words: Number of tokens of the model, which may exceed that of the tokenizer; if None, that of the
            tokenizer. Numbers without a token count, too.

    Raises:
        ValueError: If ``words`` is less than the tokenizer's number of tokens, or if no token that is not special
            decodes to text.

    Examples:
        >>> import transformers
        >>> from tokenizers import Tokenizer, models
        >>> words = Tokenizer(models.WordLevel({"<s>": 0, "a": 1, "b": 2}))
        >>> tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=words, bos_token="<s>")
        >>> token_spellings(tokenizer, words=4)
        [None, ' a', ' b', None]
    """
    tokens = {number: token for token, number in tokenizer.get_vocab().items()}  # numbers may have gaps
    count = max(tokens, default=-1) + 1
    words = count if words is None else words
    if words < count:
        raise ValueError(f"words is {words}; expected at least the {count} tokens of the tokenizer")
    special = set(tokenizer.all_special_ids)
    # Decoders drop the space before the first token of a text, so each token is decoded after the same other one.
    # This is no single byte, which a decoder would join with a byte that follows.
    numbers = sorted(tokens.keys() - special)
    candidates = sorted(numbers, key=lambda number: tokens[number].startswith("<0x"))
    before = next((number for number in candidates if tokenizer.decode([number]).strip()), None)
    if before is None:
        raise ValueError(
            f"tokenizer has {count} tokens, none of which decodes to text; expected a tokenizer of text"
        )
    texts = tokenizer.batch_decode(
        [[before], *([before, number] for number in numbers)], clean_up_tokenization_spaces=False
    )
    spellings = dict(zip(numbers, (text.removeprefix(texts[0]) for text in texts[1:]), strict=True))
    return [spellings.get(number) for number in range(words)]
