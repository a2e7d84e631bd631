"""Any Hugging Face `AutoModel` as an encoder of words."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence

from strukt.errors import DataError, MissingExtraError, SettingError


def windows(pieces: int, width: int) -> list[tuple[int, int, int, int]]:
    """Overlapping windows over a sentence that is longer than a model can read.

    Each piece is taken from a window in which it has at least a quarter of the width as context on either
    side, where the sentence has that much.

    Args:
        pieces: Number of word pieces.
        width: Most pieces that fit into one window; at least 4.

    Returns:
        `(start, stop, first, last)`: each reads start to stop and gives the vectors of first to last.

    Examples:
        >>> windows(10, 8)
        [(0, 8, 0, 6), (4, 10, 6, 10)]
        >>> windows(5, 8)
        [(0, 5, 0, 5)]
    """
    margin = width // 4
    step = width - 2 * margin
    result, start = [], 0
    while start + width < pieces:
        result.append((start, start + width, start + margin if start else 0, start + width - margin))
        start += step
    return [*result, (start, pieces, start + margin if start else 0, pieces)]


LONGEST_WORD = 64
"""The most pieces of a word; of a longer one (an address, a line of dashes) those in the middle are left out."""


class PretrainedEncoder(nn.Module):
    """A pretrained Transformer; the vector of a word is the mean of those of its pieces.

    Sentences longer than the model's window are read in overlapping windows; of a word of more than
    `LONGEST_WORD` pieces the first and the last ones are read.

    Args:
        tokenizer: Of Hugging Face.
        model: A model whose output has `last_hidden_state`; of an encoder and a decoder the first is taken.

    Attributes:
        config: The configuration of the model.
        model: What reads.
        size: Size of the vectors that come out.
    """

    def __init__(self, tokenizer: Any, model: Any) -> None:
        super().__init__()
        self.tokenizer = tokenizer
        self.config = model.config
        self.model = model.get_encoder() if self.config.is_encoder_decoder else model
        self.size = int(self.config.hidden_size)
        self._space = _space(tokenizer)
        self._prefix, self._suffix = _special_pieces(tokenizer)
        self._width = _window(tokenizer, model) - len(self._prefix) - len(self._suffix)

    @classmethod
    def load(cls, name: str | os.PathLike[str]) -> PretrainedEncoder:
        """Loads tokenizer and weights from a folder, or from the hub if there is no such folder.

        Args:
            name: What `AutoModel.from_pretrained` takes.

        Raises:
            DataError: There is no such model, or its files are damaged.
            MissingExtraError: transformers is not installed.
        """
        auto = _transformers()
        with _explained(name):
            tokenizer = auto.AutoTokenizer.from_pretrained(name)
            return cls(tokenizer, auto.AutoModel.from_pretrained(name, dtype=torch.float32))

    @classmethod
    def from_assets(cls, folder: str | os.PathLike[str]) -> PretrainedEncoder:
        """Builds tokenizer and model as `save_assets` left them, with random weights; reads no network.

        Args:
            folder: Where `save_assets` wrote.

        Raises:
            DataError: A file is missing or damaged.
            MissingExtraError: transformers is not installed.
        """
        auto = _transformers()
        with _explained(folder):
            config = auto.AutoConfig.from_pretrained(folder, local_files_only=True)
            tokenizer = auto.AutoTokenizer.from_pretrained(folder, local_files_only=True)
            return cls(tokenizer, auto.AutoModel.from_config(config))

    def save_assets(self, folder: str | os.PathLike[str]) -> None:
        """Writes everything but the weights.

        Args:
            folder: Made if it is not there.
        """
        self.tokenizer.save_pretrained(folder)
        self.config.save_pretrained(folder)

    def require_reads(self) -> None:
        """Reads a short sentence, so that a model that cannot is found before its training begins.

        Raises:
            SettingError: It cannot, for whatever reason.
        """
        mode = self.model.training
        try:
            inputs = self.inputs([["a", "b"]])
            with torch.random.fork_rng(devices=[]):
                self.model.train()
                states = self._states(inputs)
            if states.shape != (*inputs["pieces"].shape, self.size):
                raise ValueError(f"it has no vector of size {self.size} for each piece")
        except Exception as error:  # of somebody else's code
            reason = " ".join(str(error).split()) or type(error).__name__
            raise SettingError(
                f"the pretrained model ({self.config.model_type}) cannot read a sentence: {reason}"
            ) from error
        self.model.train(mode)

    def inputs(self, sentences: list[list[str]]) -> dict[str, Tensor]:
        """Word pieces of the sentences, cut into windows.

        Args:
            sentences: The words of each sentence.

        Returns:
            `pieces` and `attention` `(windows, width)`; `source`, the flat places of the pieces whose vectors
            are used, and `target`, the flat places of their words in the padded batch; `counts` `(batch, n)`,
            the number of pieces of each word.
        """
        n = max((len(forms) for forms in sentences), default=0)
        rows: list[Tensor] = []
        places: list[tuple[int, int, int]] = []
        for index, forms in enumerate(sentences):
            pieces, word_of_piece = self._pieces(forms)
            for start, stop, first, last in windows(len(pieces), self._width):
                offset = len(self._prefix) - start
                places += [
                    (len(rows), piece + offset, index * n + word_of_piece[piece])
                    for piece in range(first, last)
                ]
                rows.append(torch.tensor(self._prefix + pieces[start:stop] + self._suffix))
        padded = pad_sequence(rows, batch_first=True) if rows else torch.zeros(0, 0, dtype=torch.long)
        lengths = torch.tensor([len(row) for row in rows], dtype=torch.long)
        row, column, target = torch.tensor(places, dtype=torch.long).reshape(-1, 3).unbind(-1)
        words = len(sentences) * n
        attention = (torch.arange(padded.shape[1]) < lengths.unsqueeze(-1)).long()
        return {
            "pieces": padded,
            "attention": attention,
            "source": row * padded.shape[1] + column,
            "target": target,
            "counts": torch.bincount(target, minlength=words).reshape(len(sentences), n),
        }

    def sizes(self, sentences: list[list[str]]) -> list[int]:
        """Count the pieces that the model reads of each sentence, with special ones and the padding of windows.

        No batch of sentences has more pieces after padding than their number times the greatest count.

        Args:
            sentences: The words of each sentence.

        Complexity: O(pieces of the distinct words + number of words).
        """
        distinct = list(dict.fromkeys(form for forms in sentences for form in forms))
        count = {form: len(pieces) for form, pieces in zip(distinct, self._of_words(distinct), strict=True)}
        special, sizes = len(self._prefix) + len(self._suffix), []
        for forms in sentences:
            spans = windows(sum(count[form] for form in forms), self._width)
            start, stop, *_ = spans[0]  # none is wider
            sizes.append(len(spans) * (stop - start + special))
        return sizes

    def forward(self, inputs: dict[str, Tensor], lengths: Tensor) -> Tensor:  # noqa: ARG002
        """Reads the sentences.

        Args:
            inputs: What `inputs` gave, on the model's device.
            lengths: `(batch,)` number of words.

        Returns:
            `(batch, n, size)`, zero in the padding.
        """
        counts = inputs["counts"]
        sums = torch.zeros(counts.numel(), self.size, device=counts.device)
        if counts.numel() > 0:
            vectors = self._states(inputs).flatten(0, 1)[inputs["source"]]
            sums = sums.index_add(0, inputs["target"], vectors.to(sums.dtype))
        return sums.reshape(*counts.shape, self.size) / counts.clamp(min=1).unsqueeze(-1)

    def _states(self, inputs: dict[str, Tensor]) -> Tensor:
        """The vectors of the pieces, `(windows, width, size)`."""
        read = self.model(input_ids=inputs["pieces"], attention_mask=inputs["attention"])
        states: Tensor = read.last_hidden_state
        return states

    def _pieces(self, forms: list[str]) -> tuple[list[int], list[int]]:
        """Pieces, and the word of each."""
        pairs = [(piece, word) for word, pieces in enumerate(self._of_words(forms)) for piece in pieces]
        return [piece for piece, _ in pairs], [word for _, word in pairs]

    def _of_words(self, forms: list[str]) -> list[list[int]]:
        """The pieces of each word; one without any (a control character) gets the unknown one."""
        if not forms:
            return []
        spaced = [self._space + form for form in forms]
        encoded = self.tokenizer(spaced, add_special_tokens=False, verbose=False)["input_ids"]
        unknown = self.tokenizer.unk_token_id or 0
        return [_shortened(pieces) or [unknown] for pieces in encoded]


def _shortened(pieces: list[int]) -> list[int]:
    """The first and the last pieces of a long word."""
    if len(pieces) <= LONGEST_WORD:
        return pieces
    return pieces[: LONGEST_WORD // 2] + pieces[-(LONGEST_WORD // 2) :]


def _space(tokenizer: Any) -> str:
    """What stands before a word for it to be cut as it is within a text: of RoBERTa and GPT-2 a space."""
    alone, within = (tokenizer(text, add_special_tokens=False)["input_ids"] for text in ("a", "a a"))
    return "" if within == alone + alone else " "


def _special_pieces(tokenizer: Any) -> tuple[list[int], list[int]]:
    """What the tokenizer puts before and after a sentence."""
    probe = tokenizer("a", add_special_tokens=False)["input_ids"]
    whole = tokenizer("a")["input_ids"]
    start = next(i for i in range(len(whole)) if whole[i : i + len(probe)] == probe)
    return whole[:start], whole[start + len(probe) :]


def _window(tokenizer: Any, model: Any) -> int:
    """Most pieces that the model reads at once, special ones included; 512 if it does not say."""
    positions = int(getattr(model.config, "max_position_embeddings", None) or 512)
    positions = positions if positions > 0 else 512  # XLNet says -1
    tables = [module for name, module in model.named_modules() if name.endswith("position_embeddings")]
    if tables and isinstance(tables[0], nn.Embedding) and tables[0].padding_idx is not None:
        positions -= tables[0].padding_idx + 1  # RoBERTa counts positions from behind the padding index
    return min(positions, int(tokenizer.model_max_length))


@contextlib.contextmanager
def _explained(name: str | os.PathLike[str]) -> Iterator[None]:
    try:
        yield
    except (OSError, ValueError, KeyError, TypeError) as error:
        reason = " ".join(str(error).split())
        raise DataError(f"holds no tokenizer and model that can be read ({reason})", name) from error


def _transformers() -> Any:
    try:
        import transformers
    except ImportError as error:
        raise MissingExtraError("transformers", "encoders") from error
    return transformers
