"""A structured head on any Hugging Face encoder."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from transformers import AutoModel, PreTrainedModel
from transformers.utils import ModelOutput

from strukt.hf.configuration import StructuredHeadConfig, distinct_names
from strukt.hf.heads import Head
from strukt.hf.tag_heads import BitsHead, CRFHead
from strukt.hf.tree_heads import BiaffineHead, SpanHead
from strukt.hf.words import WordPlaces, first_pieces, require_form
from strukt.structures.distribution import StructuredDistribution

HEADS: dict[str, type[CRFHead] | type[BiaffineHead] | type[SpanHead]] = {
    "crf": CRFHead,
    "biaffine": BiaffineHead,
    "span": SpanHead,
    "bits": BitsHead,
}
"""The classes of heads, by their names in the configuration."""


@dataclass
class StructuredOutput(ModelOutput):  # type: ignore[misc]
    """The output of a `StructuredHead`.

    Attributes:
        loss: The mean loss per labelled word (for `span`, per word), a scalar; None without labels.
        logits: The scores of the head. For `crf` and `bits`, `(batch, pieces, labels)`: at the first piece of each
            word, the log-probability of the best sequence with this tag, so that the argmax is the best sequence;
            0 elsewhere. For `biaffine`, `(batch, n, n + 1)`: the score of the arc to each of n words from the root
            and from each word. For `span`, `(batch, n + 1, n + 1, labels + 1)`: entry [i, j, k] is the score of
            the span of words i to j - 1 with label k - 1, or without a label if k is 0. None in training with
            labels.
        predictions: The best structures, in the format of the labels, with -100 in padding; None in training with
            labels.
        codes: `(batch, pieces)`, the binary code of each word at its first piece, -100 elsewhere; None for heads
            other than `bits`, and in training with labels.
    """

    loss: Tensor | None = None
    logits: Tensor | None = None
    predictions: Tensor | None = None
    codes: Tensor | None = None


class StructuredHead(PreTrainedModel):  # type: ignore[misc]
    """An encoder with a structured head: a distribution over tags, trees or spans of words.

    Structures are over words: the first piece of each word represents it, and special pieces, padding and all
    other pieces are not part of the structure. Rows may be padded on either side; the encoder reads them as if
    they were padded on the right, so predictions do not depend on the side.

    Args:
        config: The configuration of encoder and head.
        encoder: The encoder, which is not copied; its configuration replaces `config.encoder`. If None, an encoder
            with random weights is built from `config.encoder`.

    Attributes:
        encoder: The model that reads the pieces; of an encoder-decoder model, only the encoder.
        head: The layer that computes structures from word vectors.

    Raises:
        ValueError: If the labels are not tags of the scheme `config.constraints`, or there is no such scheme.

    Examples:
        >>> from strukt.hf import StructuredHeadConfig
        >>> encoder = {"model_type": "bert", "vocab_size": 9, "hidden_size": 8, "num_attention_heads": 2,
        ...     "num_hidden_layers": 1, "intermediate_size": 8}
        >>> model = StructuredHead(StructuredHeadConfig(encoder, head="crf", num_labels=3)).eval()
        >>> pieces, words = torch.tensor([[1, 5, 6, 7, 2]]), torch.tensor([[-1, 0, 0, 1, -1]])
        >>> output = model(pieces, words=words)
        >>> output.logits.shape, (output.predictions >= 0).int()
        (torch.Size([1, 5, 3]), tensor([[0, 1, 0, 1, 0]], dtype=torch.int32))
        >>> labels = torch.tensor([[-100, 2, -100, 0, -100]])
        >>> model(pieces, words=words, labels=labels).loss.shape
        torch.Size([])
    """

    config_class = StructuredHeadConfig
    base_model_prefix = "encoder"
    main_input_name = "input_ids"
    supports_gradient_checkpointing = True
    accepts_loss_kwargs = False  # the loss is a mean over one batch, not over accumulated batches
    _supports_sdpa = True
    _supports_flash_attn = True

    def __init__(self, config: StructuredHeadConfig, encoder: PreTrainedModel | None = None) -> None:
        super().__init__(config)
        encoder = AutoModel.from_config(config.encoder) if encoder is None else encoder
        config.encoder = encoder.config  # the same object, so that later changes to it are saved
        self.encoder = encoder.get_encoder() if config.encoder.is_encoder_decoder else encoder
        self.head: Head = _head(config)
        for tensor in self.head.state_dict(keep_vars=True).values():
            # Keep the initial values that the layers set; `from_pretrained` has none yet (device "meta").
            tensor._is_hf_initialized = not tensor.is_meta
        self.post_init()

    @classmethod
    def from_encoder(
        cls,
        encoder: str | os.PathLike[str] | PreTrainedModel,
        labels: Sequence[str],
        head: str = "crf",
        dtype: torch.dtype | str = torch.float32,
        **options: Any,
    ) -> StructuredHead:
        """Put a new head on a pretrained encoder; call `train` or `eval` on the model before its first use.

        Args:
            encoder: A model, which is not copied, or the name or folder of one for `AutoModel.from_pretrained`.
            labels: The names of the tags, or of the labels of arcs or spans, in the order of their indices.
            head: `crf`, `biaffine`, `span` or `bits`.
            dtype: The type of all weights, if the encoder is loaded by its name; "auto" for the type of the saved
                weights. If the encoder is a model, the head gets that model's type and device instead.
            options: Options of `StructuredHeadConfig`, such as `constraints="BIO"`.

        Raises:
            ValueError: If labels is not a list of one or more distinct strings or does not fit the constraints, an
                option is unknown or invalid, or the encoder is of another type, such as a model with adapters of
                peft, or has a head.
            OSError: If there is no such encoder.
        """
        names = distinct_names(labels)
        StructuredHeadConfig.require_options(options)
        if not isinstance(encoder, (str, os.PathLike, PreTrainedModel)):
            raise ValueError(
                f"encoder is of type {type(encoder).__name__}; expected a PreTrainedModel, such as "
                "merge_and_unload() returns for a model of peft, or the name or folder of one"
            )
        if not isinstance(encoder, PreTrainedModel):
            encoder = AutoModel.from_pretrained(encoder, dtype=dtype)
        if encoder.base_model is not encoder:
            kind = type(encoder).__name__
            raise ValueError(f"encoder is a {kind}, which has a head; expected only the encoder, its base_model")
        config = StructuredHeadConfig(
            encoder.config.to_dict(),
            head=head,
            id2label=dict(enumerate(names)),
            label2id={name: index for index, name in enumerate(names)},
            **options,
        )
        model = cls(config, encoder)
        model.head.to(encoder.device, encoder.dtype)
        return model

    @classmethod
    def from_pretrained(cls, *values: Any, **options: Any) -> Any:
        """Load a saved model by `values` and `options` as in transformers, with the constraints of its labels."""
        loaded = super().from_pretrained(*values, **options)
        model = loaded[0] if isinstance(loaded, tuple) else loaded
        if isinstance(model.head, CRFHead):
            model.head.constrain(model.config)  # the saved constraints may be those of other labels
        return loaded

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor | None = None,
        token_type_ids: Tensor | None = None,
        words: Tensor | None = None,
        labels: Tensor | None = None,
        return_dict: bool | None = None,
        **encoder_inputs: Any,
    ) -> StructuredOutput | tuple[Tensor, ...]:
        """Run the encoder and the head on sentences.

        Args:
            input_ids: `(batch, pieces)`, the indices of pieces.
            attention_mask: `(batch, pieces)`, 0 in padding; if None, there is no padding.
            token_type_ids: `(batch, pieces)`, if the encoder has token types.
            words: `(batch, pieces)`, the word index of each piece, below 0 for special pieces and padding,
                as returned by `encode_words` and `word_numbers`. If None, a word begins at each known label, so
                that all words need one; for `span`, words are required.
            labels: For `crf` and `bits`, `(batch, pieces)`, the tag of each word at its first piece; for
                `biaffine`, `(batch, pieces, 2)`, the head of each word (words are counted from 1, 0 is the root)
                and the label of its arc, at its first piece; for `span`, `(batch, spans, 3)`, the first word of
                each span (words are counted from 0), the word after its last one, and its label. -100 elsewhere
                and if unknown; unknown labels are marginalised.
            return_dict: Return a `StructuredOutput` (true), or a tuple of its members that are not None (false);
                as in the configuration if None.
            encoder_inputs: Other inputs of the encoder.

        Returns:
            The loss if there are labels; scores and predictions, except in training with labels.

        Raises:
            ValueError: If neither words nor labels determine where words begin, shapes do not match, a label is
                out of range, labels are no structure, such as spans that cross, or a score is NaN.

        Warns:
            UserWarning: If tags break the constraints; the loss is then infinite.
        """
        places = self._places(input_ids, attention_mask, words, labels)
        encoder_inputs["token_type_ids"] = token_type_ids
        learns = self.training and labels is not None
        views = [
            self._vectors(input_ids, attention_mask, places, encoder_inputs)
            for _ in range(self.head.views if learns else 1)
        ]
        output = StructuredOutput()
        if labels is not None:
            output.loss = self.head.loss(views if learns else views * self.head.views, places, labels)
        if not learns:
            output.logits, output.predictions, output.codes = self.head.predict(views[0], places)
        by_name = self.config.return_dict if return_dict is None else return_dict
        return output if by_name else output.to_tuple()

    def distribution(
        self,
        input_ids: Tensor,
        attention_mask: Tensor | None = None,
        token_type_ids: Tensor | None = None,
        words: Tensor | None = None,
        **encoder_inputs: Any,
    ) -> StructuredDistribution:
        """Return the distribution over the structures of each sentence, with `marginals`, `topk`, `entropy` etc.

        It is a `LinearChain`, `NonProjectiveTree`, `ProjectiveTree` or `SpanTree` over words, not pieces.

        Args:
            input_ids: `(batch, pieces)`, the indices of pieces.
            attention_mask: `(batch, pieces)`, 0 in padding; if None, there is no padding.
            token_type_ids: `(batch, pieces)`, if the encoder has token types.
            words: `(batch, pieces)`, the word index of each piece, as for `forward`; required.
            encoder_inputs: Other inputs of the encoder.

        Raises:
            ValueError: If `words` is None, shapes do not match, or a score is NaN.
        """
        places = self._places(input_ids, attention_mask, words, None)
        encoder_inputs["token_type_ids"] = token_type_ids
        vectors = self._vectors(input_ids, attention_mask, places, encoder_inputs)
        return self.head.distribution(vectors, places.lengths)

    def get_input_embeddings(self) -> Any:
        """Return the embedding table of pieces."""
        return self.encoder.get_input_embeddings()

    def set_input_embeddings(self, value: Any) -> None:
        """Replace the embedding table of pieces by `value`, a module such as `torch.nn.Embedding`."""
        self.encoder.set_input_embeddings(value)

    def _places(
        self, input_ids: Tensor, mask: Tensor | None, words: Tensor | None, labels: Tensor | None
    ) -> WordPlaces:
        """Return the positions of the words among the pieces; raise ValueError if nothing determines them."""
        if labels is not None:
            require_form("labels", labels, input_ids.shape, self.head.axes)
        if words is not None:
            require_form("words", words, input_ids.shape, Head.axes)
            starts = first_pieces(words)
        elif labels is not None and "pieces" in self.head.axes:
            starts = (labels if labels.dim() == 2 else labels[..., 0]) >= 0
        else:
            raise ValueError(
                "words is None; expected the word index of each piece, (batch, pieces): use "
                "strukt.hf.word_numbers(encoding) for the output of a tokenizer, or strukt.hf.encode_words for "
                "lists of words"
            )
        return WordPlaces.of(starts if mask is None else starts & mask.bool())

    def _vectors(
        self, input_ids: Tensor, mask: Tensor | None, places: WordPlaces, others: dict[str, Any]
    ) -> Tensor:
        """Encode the pieces, and return the word vectors, `(batch, n, size)`, zero in padding."""
        mask = torch.ones_like(input_ids) if mask is None else mask
        order = mask.bool().int().argsort(dim=1, descending=True, stable=True)  # moves the padding to the right
        inputs = {"input_ids": input_ids, "attention_mask": mask, **others}
        moved = {name: _moved(value, order) for name, value in inputs.items() if value is not None}
        states: Tensor = self.encoder(**moved).last_hidden_state
        return places.gather(_moved(states, order.argsort(dim=1)))

    @torch.no_grad()
    def _init_weights(self, module: Any) -> None:
        """Initialise the weights of the head that a checkpoint lacks, in the same way as those of a new head."""
        names = {each: name for name, each in self.head.named_modules()}
        fresh = _head(self.config).get_submodule(names[module]).state_dict()
        for name, tensor in module.state_dict(keep_vars=True).items():
            if not getattr(tensor, "_is_hf_initialized", False):
                tensor.copy_(fresh[name])


def _head(config: StructuredHeadConfig) -> CRFHead | BiaffineHead | SpanHead:
    return HEADS[config.head](config, config.encoder.hidden_size)


def _moved(value: Any, order: Tensor) -> Any:
    """Reorder the pieces of a tensor `(batch, pieces, ...)`; return any other value unchanged."""
    if not isinstance(value, Tensor) or value.shape[:2] != order.shape:
        return value
    return value.take_along_dim(order.reshape(*order.shape, *(1,) * (value.dim() - 2)), 1)
