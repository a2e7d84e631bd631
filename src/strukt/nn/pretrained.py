"""Pretrained Transformers: any Hugging Face `AutoModel` as an encoder of words."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence

from strukt.errors import DataError, MissingExtraError, SettingError
from strukt.nn.inputs import require_lists_of_words
from strukt.nn.tokenizers import longest_input, special_pieces, word_prefix


def windows(pieces: int, width: int) -> list[tuple[int, int, int, int]]:
    """Return the overlapping windows in which a model reads a sentence; a single window if the sentence fits.

    The vector of each piece comes from a window in which the piece has a context of at least `width // 4` pieces
    on either side, or up to the beginning or the end of the sentence.

    Args:
        pieces: Number of word pieces.
        width: Maximum number of pieces in a window; at least 4.

    Returns:
        ``(start, stop, first, last)`` for each window: it consists of the pieces start to stop - 1, and provides
        the vectors of the pieces first to last - 1.

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
"""The maximum number of pieces of a word; a longer word (a URL, a line of dashes) loses its middle."""


class PretrainedEncoder(nn.Module):
    """A pretrained Transformer encoder; the vector of a word is the mean of the vectors of its pieces.

    Sentences longer than the window of the model are read in overlapping windows. Of a word with more than 64
    pieces, only the first and the last 32 are read.

    Words go through `inputs` first: `encoder(encoder.inputs(sentences), lengths)` is ``(batch, n, size)``.

    Args:
        tokenizer: A Hugging Face tokenizer.
        model: A model whose output has `last_hidden_state`; only the encoder of an encoder-decoder is used.

    Attributes:
        config: The configuration of the model.
        model: The model, or the encoder of an encoder-decoder.
        size: Size of the output vectors.

    Raises:
        ValueError: If the tokenizer changes the pieces of a word when it adds special ones.

    Examples:
        >>> from tokenizers import Tokenizer, models
        >>> from transformers import BertConfig, BertModel, PreTrainedTokenizerFast
        >>> words = Tokenizer(models.WordLevel({"[UNK]": 0, "Dogs": 1, "bark": 2}, "[UNK]"))
        >>> tokenizer = PreTrainedTokenizerFast(tokenizer_object=words, unk_token="[UNK]")
        >>> sizes = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 8}
        >>> encoder = PretrainedEncoder(tokenizer, BertModel(BertConfig(vocab_size=3, **sizes)))
        >>> encoder(encoder.inputs([["Dogs", "bark"], ["Dogs"]]), torch.tensor([2, 1])).shape
        torch.Size([2, 2, 8])
    """

    def __init__(self, tokenizer: Any, model: Any) -> None:
        super().__init__()
        self.tokenizer = tokenizer
        self.config = model.config
        self.model = model.get_encoder() if self.config.is_encoder_decoder else model
        self.size = int(self.config.hidden_size)
        self._space = word_prefix(tokenizer)
        self._prefix, self._suffix = special_pieces(tokenizer)
        self._width = longest_input(tokenizer, model) - len(self._prefix) - len(self._suffix)

    @classmethod
    def load(cls, name: str | os.PathLike[str]) -> PretrainedEncoder:
        """Load tokenizer and weights from a folder, or from the hub if there is no such folder.

        Args:
            name: A name or a folder, as for `AutoModel.from_pretrained`.

        Raises:
            DataError: If there is no such model, or its files are damaged.
            MissingExtraError: If transformers, of the extra `encoders`, is not installed.
        """
        auto = _transformers()
        with _explained(name):
            tokenizer = auto.AutoTokenizer.from_pretrained(name)
            return cls(tokenizer, auto.AutoModel.from_pretrained(name, dtype=torch.float32))

    @classmethod
    def from_assets(cls, folder: str | os.PathLike[str]) -> PretrainedEncoder:
        """Build tokenizer and model from the files of `save_assets`, with random weights; needs no network.

        Args:
            folder: The folder of `save_assets`.

        Raises:
            DataError: If a file is missing or damaged.
            MissingExtraError: If transformers, of the extra `encoders`, is not installed.
        """
        auto = _transformers()
        with _explained(folder):
            config = auto.AutoConfig.from_pretrained(folder, local_files_only=True)
            tokenizer = auto.AutoTokenizer.from_pretrained(folder, local_files_only=True)
            return cls(tokenizer, auto.AutoModel.from_config(config))

    def save_assets(self, folder: str | os.PathLike[str]) -> None:
        """Write the tokenizer and the configuration, without weights.

        Args:
            folder: The output folder; created if it does not exist.
        """
        self.tokenizer.save_pretrained(folder)
        self.config.save_pretrained(folder)

    def require_reads(self) -> None:
        """Read a short sentence, to reject unsuitable models before training.

        Raises:
            SettingError: If the model cannot read the sentence, for any reason.
        """
        mode = self.model.training
        try:
            inputs = self.inputs([["a", "b"]])
            with torch.random.fork_rng(devices=[]):
                self.model.train()
                states = self._states(inputs)
            if states.shape != (*inputs["pieces"].shape, self.size):
                raise ValueError(f"it has no vector of size {self.size} for each piece")
        except Exception as error:  # third-party code may raise anything
            reason = " ".join(str(error).split()) or type(error).__name__
            raise SettingError(
                f"the pretrained model ({self.config.model_type}) cannot read a sentence: {reason}"
            ) from error
        finally:
            self.model.train(mode)

    def inputs(self, sentences: list[list[str]]) -> dict[str, Tensor]:
        """Return the word pieces of the sentences, cut into windows.

        Args:
            sentences: The words of each sentence.

        Returns:
            `pieces` and `attention`, ``(windows, width)``, the indices of pieces, and 1 for pieces and 0 for
            padding; `source`, ``(m,)``, the indices in the flattened windows of the m pieces whose vectors are
            used; `target`, ``(m,)``, the index of the word of each of these pieces in the flattened
            ``(batch, n)``; `counts`, ``(batch, n)``, the number of pieces of each word. Here n is the number of
            words of the longest sentence.

        Raises:
            ValueError: If a sentence is a string instead of a list of words.
        """
        require_lists_of_words("sentences", sentences)
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
                window = self._prefix + pieces[start:stop] + self._suffix
                rows.append(torch.tensor(window, dtype=torch.long))  # the window of no words may be empty
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
        """Return the number of pieces that the model reads for each sentence, with special pieces and padding.

        A padded batch has at most as many pieces as the number of sentences times the largest count.

        Args:
            sentences: The words of each sentence.

        Raises:
            ValueError: If a sentence is a string instead of a list of words.

        Complexity: O(pieces of the distinct words + number of words).
        """
        require_lists_of_words("sentences", sentences)
        distinct = list(dict.fromkeys(form for forms in sentences for form in forms))
        count = {form: len(pieces) for form, pieces in zip(distinct, self._of_words(distinct), strict=True)}
        special, sizes = len(self._prefix) + len(self._suffix), []
        for forms in sentences:
            spans = windows(sum(count[form] for form in forms), self._width)
            start, stop, *_ = spans[0]  # no window is wider
            sizes.append(len(spans) * (stop - start + special))
        return sizes

    def forward(self, inputs: dict[str, Tensor], lengths: Tensor) -> Tensor:  # noqa: ARG002
        """Encode a batch of sentences.

        Args:
            inputs: The result of `inputs`, on the device of the model.
            lengths: ``(batch,)``, not used: `inputs` contains the number of words.

        Returns:
            ``(batch, n, size)`` in float32, zero in the padding.
        """
        counts = inputs["counts"]
        sums = torch.zeros(counts.numel(), self.size, device=counts.device)
        if counts.numel() > 0:
            vectors = self._states(inputs).flatten(0, 1)[inputs["source"]]
            sums = sums.index_add(0, inputs["target"], vectors.to(sums.dtype))
        return sums.reshape(*counts.shape, self.size) / counts.clamp(min=1).unsqueeze(-1)

    def _states(self, inputs: dict[str, Tensor]) -> Tensor:
        """Return the vectors of the pieces, ``(windows, width, size)``."""
        read = self.model(input_ids=inputs["pieces"], attention_mask=inputs["attention"])
        states: Tensor = read.last_hidden_state
        return states

    def _pieces(self, forms: list[str]) -> tuple[list[int], list[int]]:
        """Return the pieces of a sentence, and for each piece the index of its word."""
        pairs = [(piece, word) for word, pieces in enumerate(self._of_words(forms)) for piece in pieces]
        return [piece for piece, _ in pairs], [word for _, word in pairs]

    def _of_words(self, forms: list[str]) -> list[list[int]]:
        """Return the pieces of each word; a word without pieces (a control character) gets the unknown piece."""
        if not forms:
            return []
        spaced = [self._space + form for form in forms]
        encoded = self.tokenizer(spaced, add_special_tokens=False, verbose=False)["input_ids"]
        unknown = self.tokenizer.unk_token_id or 0
        return [_shortened(pieces) or [unknown] for pieces in encoded]


def _shortened(pieces: list[int]) -> list[int]:
    """Return the pieces of a word, without the middle of a long word."""
    if len(pieces) <= LONGEST_WORD:
        return pieces
    return pieces[: LONGEST_WORD // 2] + pieces[-(LONGEST_WORD // 2) :]


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
