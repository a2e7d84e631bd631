"""Context-free grammars in the normal form of nonterminals and preterminals, one table of rules for all sentences.

Inputs are the scores of roots `(s,)`, of rules `(s, s + p, s + p)` and of words `(batch, n, p)`.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from benchmarks.contest import Case, Contestant, Family


def distribution(root: Tensor, rules: Tensor, emission: Tensor) -> Any:
    """The distribution of one sentence each, rules and roots being probabilities."""
    from strukt.distributions import PCFG

    return PCFG(root.log_softmax(-1), _normalised(rules), emission)


def _normalised(rules: Tensor) -> Tensor:
    return rules.flatten(1).log_softmax(-1).view_as(rules)


def strukt_log_partition(root: Tensor, rules: Tensor, emission: Tensor) -> Tensor:
    log_partition: Tensor = distribution(root, rules, emission).log_partition
    return log_partition


def strukt_mode(root: Tensor, rules: Tensor, emission: Tensor) -> Tensor:
    mode: Tensor = distribution(root, rules, emission).mode
    return mode


def _torch_struct(root: Tensor, rules: Tensor, emission: Tensor) -> Any:
    """torch-struct takes a grammar for each sentence."""
    from torch_struct import SentCFG

    count = len(emission)
    each = _normalised(rules).expand(count, *rules.shape)
    return SentCFG((emission, each, root.log_softmax(-1).expand(count, -1)))


def torch_struct_log_partition(root: Tensor, rules: Tensor, emission: Tensor) -> Tensor:
    log_partition: Tensor = _torch_struct(root, rules, emission).partition
    return log_partition


def torch_struct_mode(root: Tensor, rules: Tensor, emission: Tensor) -> Tensor:
    """Its spans are `[width - 2, start]`."""
    words, _, _, spans = _torch_struct(root, rules, emission).argmax
    count, n, _ = emission.shape
    event = torch.full((count, n + 1, n + 1), -1)
    event.diagonal(1, 1, 2).copy_(len(root) + words.argmax(-1))
    for width in range(2, n + 1):
        used = spans[:, width - 2, : n + 1 - width]
        event.diagonal(width, 1, 2).copy_(torch.where((used > 0).any(-1), used.argmax(-1), -1))
    return event


def score(root: Tensor, rules: Tensor, emission: Tensor, event: Tensor) -> Tensor:
    """Score of trees `(batch, n + 1, n + 1)`, in float64, by the distribution itself."""
    exact = distribution(root.double(), rules.double(), emission.double())
    found: Tensor = exact.score(event)
    return found


def case(batch: int, words: int, nonterminals: int, preterminals: int) -> Case:
    symbols = nonterminals + preterminals
    shapes = ((nonterminals,), (nonterminals, symbols, symbols), (batch, words, preterminals))
    return Case(
        f"{batch}x{words}, {nonterminals}+{preterminals} symbols",
        shapes,
        chart=batch * (words + 1) ** 2 * symbols,
    )


FAMILY = Family(
    name="pcfg",
    title="Context-free grammar (batch x words, nonterminals + preterminals)",
    cases=(case(4, 30, 30, 60), case(1, 30, 30, 60)),
    warm_up=case(2, 4, 2, 3),
    contestants=(
        Contestant("strukt", strukt_log_partition, strukt_mode),
        Contestant("torch-struct", torch_struct_log_partition, torch_struct_mode),
    ),
    score=score,
)
