"""Context-free grammars in Chomsky normal form, with s nonterminals and p preterminals, one for all sentences.

Inputs are the scores of roots `(s,)`, of rules `(s, s + p, s + p)` and of words `(batch, n, p)`.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import one_hot

from benchmarks import gold
from benchmarks.contest import TRAINING, Case, Contestant, Family, Loss


def distribution(root: Tensor, rules: Tensor, emission: Tensor) -> Any:
    """Return the distribution over the trees of each sentence; scores of roots and rules are normalised."""
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


def strukt_loss(event: Tensor, *_: Tensor) -> Loss:
    def loss(root: Tensor, rules: Tensor, emission: Tensor) -> Tensor:
        found: Tensor = -distribution(root, rules, emission).log_prob(event).mean()
        return found

    return loss


def _torch_struct(root: Tensor, rules: Tensor, emission: Tensor) -> Any:
    """Return torch-struct's distribution, which takes a grammar for each sentence."""
    from torch_struct import SentCFG

    count = len(emission)
    each = _normalised(rules).expand(count, *rules.shape)
    return SentCFG((emission, each, root.log_softmax(-1).expand(count, -1)))


def torch_struct_log_partition(root: Tensor, rules: Tensor, emission: Tensor) -> Tensor:
    log_partition: Tensor = _torch_struct(root, rules, emission).partition
    return log_partition


def torch_struct_mode(root: Tensor, rules: Tensor, emission: Tensor) -> Tensor:
    """Return the mode of torch-struct, whose spans are indexed `[width - 2, start]`."""
    words, _, _, spans = _torch_struct(root, rules, emission).argmax
    count, n, _ = emission.shape
    event = words.new_full((count, n + 1, n + 1), -1, dtype=torch.int64)
    event.diagonal(1, 1, 2).copy_(len(root) + words.argmax(-1))
    for width in range(2, n + 1):
        used = spans[:, width - 2, : n + 1 - width]
        event.diagonal(width, 1, 2).copy_(torch.where((used > 0).any(-1), used.argmax(-1), -1))
    return event


def torch_struct_loss(event: Tensor, root: Tensor, _: Tensor, emission: Tensor) -> Loss:
    """Return torch-struct's loss, by its function for scores, as `log_prob` of this class raises AttributeError.

    Its events are the uses of preterminals for each word, of rules, and of roots.
    """
    from torch_struct import CKY

    s, p = len(root), emission.shape[-1]
    spans = one_hot(event + 1, s + p + 1)[:, :-1, 1:, 1:]
    parts = CKY.to_parts(spans, (s, p), torch.full(event.shape[:1], emission.shape[1], device=event.device))

    def loss(*scores: Tensor) -> Tensor:
        trees = _torch_struct(*scores)
        found: Tensor = (trees.partition - CKY().score(trees.log_potentials, parts)).mean()
        return found

    return loss


def gold_trees(root: Tensor, _: Tensor, emission: Tensor) -> Tensor:
    batch, words, preterminals = emission.shape
    return gold.trees(batch, words, range(len(root), len(root) + preterminals), range(len(root)))


def score(root: Tensor, rules: Tensor, emission: Tensor, event: Tensor) -> Tensor:
    """Return the scores `(batch,)` of trees `(batch, n + 1, n + 1)`, in float64."""
    words, used = event.diagonal(1, 1, 2) - len(root), event >= 0
    emitted = emission.double().gather(-1, words.unsqueeze(-1)).squeeze(-1).sum(-1)
    # spans with a fencepost that splits them into two other spans
    item, start, middle, end = (
        (used.unsqueeze(2) & used.unsqueeze(3) & used.unsqueeze(1)).nonzero().unbind(-1)
    )
    left, right = event[item, start, middle], event[item, middle, end]
    each = _normalised(rules.double())[event[item, start, end], left, right]
    rewritten = each.new_zeros(len(event)).index_add(0, item, each)
    return root.double().log_softmax(-1)[event[:, 0, -1]] + emitted + rewritten


def case(batch: int, words: int, nonterminals: int, preterminals: int) -> Case:
    symbols = nonterminals + preterminals
    shapes = ((nonterminals,), (nonterminals, symbols, symbols), (batch, words, preterminals))
    return Case(f"{batch}x{words}, {nonterminals}+{preterminals} symbols", shapes)


FAMILY = Family(
    name="pcfg",
    title="Context-free grammar (batch x words, nonterminals + preterminals)",
    cases=(case(4, 30, 30, 60), case(1, 30, 30, 60), case(1, 20, 10, 20)),
    warm_up=case(2, 4, 2, 3),
    contestants=(
        Contestant("strukt", strukt_log_partition, strukt_mode, learn=strukt_loss),
        Contestant("torch-struct", torch_struct_log_partition, torch_struct_mode, learn=torch_struct_loss),
    ),
    score=score,
    operations=TRAINING,
    gold=gold_trees,
)
