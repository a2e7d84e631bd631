"""The best tag sequence (Viterbi 1967) in ONNX operators: a loop over the words forwards, and one backwards."""

from __future__ import annotations

import torch
from torch import Tensor

from strukt.onnx.loops import scan


def best_tags(unary: Tensor, transition: Tensor, lengths: Tensor) -> Tensor:
    """Return the best tags ``(batch, n)``, -1 in padding; time O(n c^2) per item.

    Args:
        unary: ``(batch, n, c)``, the score of each tag at each word.
        transition: ``(batch or 1, n - 1 or 1, c, c)``, the score of each pair of a tag and the next tag.
        lengths: ``(batch,)``, the numbers of words.
    """
    n, c = unary.shape[-2:]
    positions = torch.arange(n, device=unary.device)
    inside = positions < lengths[:, None]

    def enter(best: Tensor, word: tuple[Tensor, ...]) -> tuple[Tensor, Tensor]:
        """Return the best score of sequences that end in each tag of a word, and the tag before it in each."""
        scores, transition, inside, first = word
        value, before = (best[:, :, None] + torch.where(first, 0.0, transition)).max(1)
        same = torch.arange(c, device=scores.device).expand_as(before)
        return torch.where(inside, value + scores, best), torch.where(inside, before, same)

    def leave(tag: Tensor, before: Tensor) -> tuple[Tensor, Tensor]:
        """Return the tag of the word before, and that of this word."""
        return before.gather(1, tag[:, None])[:, 0], tag

    steps = transition.transpose(0, 1)
    if transition.shape[1] == 1:
        steps = steps.expand(n, -1, -1, -1)
    else:  # no transition enters the first word
        steps = torch.cat([steps.new_zeros(1, *steps.shape[1:]), steps])
    words = (unary.transpose(0, 1), steps, inside.transpose(0, 1)[:, :, None], positions == 0)
    best, before = scan(enter, torch.zeros_like(unary[:, 0]), words)
    _, tags = scan(leave, best.argmax(-1), before, reverse=True)
    return torch.where(inside, tags.transpose(0, 1), -1)
