"""Batches of sentences as tensors, and retries in smaller pieces when memory runs out."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

import torch
from torch import Tensor

from strukt.data.sentence import Sentence
from strukt.errors import is_out_of_memory

Result = TypeVar("Result")


@dataclass
class Batch:
    """A batch of sentences as tensors.

    Attributes:
        sentences: The sentences, in the order of the rows.
        lengths: ``(batch,)``, the numbers of words that the encoder reads.
        inputs: Inputs of the encoder by name or, for models without an encoder, of the model.
        targets: Targets of the loss by name, a row for each sentence, padded with -1; empty in prediction.

    Examples:
        >>> from strukt.data import conllu
        >>> from strukt.tasks.tag.config import Config
        >>> from strukt.tasks.tag.model import Tagger
        >>> sentences = [
        ...     conllu.from_forms(["Dogs", "bark"]).annotated(xpos=["NNS", "VBP"]),
        ...     conllu.from_forms(["Stop"]).annotated(xpos=["VBP"]),
        ... ]
        >>> batch = Tagger.from_corpus(Config(), sentences).collate(sentences)
        >>> batch.lengths, batch.targets["tags"]
        (tensor([2, 1]), tensor([[ 0,  1],
                [ 1, -1]]))
    """

    sentences: list[Sentence]
    lengths: Tensor
    inputs: dict[str, Tensor]
    targets: dict[str, Tensor] = field(default_factory=dict)

    def to(self, device: torch.device | str) -> Batch:
        """Return a new batch with the same sentences, and with the tensors on another device."""
        inputs = {name: tensor.to(device, non_blocking=True) for name, tensor in self.inputs.items()}
        targets = {name: tensor.to(device, non_blocking=True) for name, tensor in self.targets.items()}
        return Batch(self.sentences, self.lengths.to(device, non_blocking=True), inputs, targets)


def in_fitting_pieces(run: Callable[[list[list[Sentence]]], Result], sentences: list[Sentence]) -> Result:
    """Run a function on a whole batch; if memory runs out, on its halves, then on its quarters, and so on.

    Args:
        run: Computes the result from all pieces of the batch; each call starts afresh.
        sentences: The sentences of the batch.

    Returns:
        The result of the first call of `run` that fits into memory.

    Raises:
        RuntimeError: If memory runs out even with one sentence at a time, or `run` raises it for another reason.

    Examples:
        >>> in_fitting_pieces(lambda pieces: [len(piece) for piece in pieces], ["a", "b", "c"])
        [3]
    """
    pieces = 1
    while True:
        size = -(-len(sentences) // pieces)
        try:
            return run([sentences[start : start + size] for start in range(0, len(sentences), size)])
        except RuntimeError as error:
            if not is_out_of_memory(error) or size <= 1:
                raise
        pieces *= 2
        if torch.cuda.is_available():
            torch.cuda.empty_cache()
        warnings.warn(
            f"out of memory with {size} sentences of up to {max(map(len, sentences))} words at once; "
            f"continuing with {-(-len(sentences) // pieces)} (trainer.tokens sets the size of a batch)",
            stacklevel=2,
        )
