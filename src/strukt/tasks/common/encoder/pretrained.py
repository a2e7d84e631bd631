"""Encoders that fine-tune a pretrained Hugging Face model."""

from __future__ import annotations

from pathlib import Path

from torch import Tensor
from typing_extensions import override

from strukt.data.vocabulary import UNKNOWN
from strukt.nn import fine_tuning
from strukt.nn.pretrained import PretrainedEncoder
from strukt.tasks.common.encoder.base import Encoder
from strukt.tasks.common.encoder.config import EncoderConfig


class Pretrained(Encoder):
    """A pretrained Hugging Face model.

    Args:
        config: The options of the encoder.
        assets: The folder with the tokenizer and configuration of a saved encoder; None for a new encoder.

    Raises:
        ValueError: If `config.pretrained` is empty.
        DataError: If the model cannot be loaded.
        SettingError: If a new model cannot read a sentence, or the options of fine-tuning do not fit the model.
        MissingExtraError: If transformers is not installed, or peft for LoRA adapters.

    Examples:
        >>> from pathlib import Path
        >>> from strukt.tasks.common.encoder.config import EncoderConfig
        >>> from tempfile import TemporaryDirectory
        >>> from tokenizers import Tokenizer, models
        >>> from transformers import BertConfig, PreTrainedTokenizerFast
        >>> words = Tokenizer(models.WordLevel({"[UNK]": 0, "Dogs": 1, "bark": 2}, "[UNK]"))
        >>> sizes = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 8}
        >>> with TemporaryDirectory() as folder:
        ...     _ = PreTrainedTokenizerFast(tokenizer_object=words, unk_token="[UNK]").save_pretrained(folder)
        ...     BertConfig(vocab_size=3, **sizes).save_pretrained(folder)
        ...     encoder = Pretrained(EncoderConfig(kind="pretrained", pretrained=folder), Path(folder))
        >>> encoder.size, encoder.sizes([["Dogs", "bark"]])
        (8, [2])
    """

    unit = "word pieces"

    def __init__(self, config: EncoderConfig, assets: Path | None) -> None:
        super().__init__()
        if not config.pretrained:
            raise ValueError("encoder.pretrained is empty; give the folder or hub name of the pretrained model")
        self.words = (
            PretrainedEncoder.load(config.pretrained)
            if assets is None
            else PretrainedEncoder.from_assets(assets)
        )
        options = config.fine_tuning
        self.words.model = fine_tuning.prepared(
            self.words.model, options.frozen if options.rate else None, options.lora, options.recompute
        )
        rates = fine_tuning.rates(self.words.model, options.rate, options.decay)
        self._rates = {f"words.model.{name}": rate for name, rate in rates.items()}
        if assets is None:
            self.words.require_reads()
        self.size = self.sentence_size = self.words.size
        self.unknown = self.words.tokenizer.unk_token or UNKNOWN

    def inputs(self, sentences: list[list[str]]) -> dict[str, Tensor]:
        """Return the word pieces of sentences, in windows: see `PretrainedEncoder.inputs`."""
        return self.words.inputs(sentences)

    @override
    def sizes(self, sentences: list[list[str]]) -> list[int]:
        """Return the number of word pieces of each sentence, in all its windows, with special tokens."""
        return self.words.sizes(sentences)

    def forward(self, inputs: dict[str, Tensor], lengths: Tensor) -> Tensor:
        """Return the vectors of words in context, ``(batch, n, size)``."""
        encoded: Tensor = self.words(inputs, lengths)
        return encoded

    def rates(self) -> dict[str, float]:
        """Return the factors of the learning rate for parameters of the pretrained model, by their names."""
        return self._rates

    def save_assets(self, folder: Path) -> None:
        """Write the tokenizer and the configuration."""
        self.words.save_assets(folder)
