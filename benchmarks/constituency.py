"""Binary trees over spans with labels: `(batch, n + 1, n + 1, labels)`, from fencepost to fencepost."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy, one_hot, pad

from benchmarks import gold
from benchmarks.contest import TRAINING, Case, Contestant, Family, Loss
from benchmarks.peers import supar_structs


def strukt_log_partition(spans: Tensor) -> Tensor:
    from strukt.distributions import SpanTree

    return SpanTree(spans, labelled=True).log_partition


def strukt_mode(spans: Tensor) -> Tensor:
    from strukt.distributions import SpanTree

    return SpanTree(spans, labelled=True).mode


def strukt_loss(event: Tensor, *_: Tensor) -> Loss:
    from strukt.distributions import SpanTree

    return lambda spans: -SpanTree(spans, labelled=True).log_prob(event).mean()


def _words(spans: Tensor) -> Tensor:
    """Return scores in the layout of torch-struct and torchlatent, `[first word, last word]`."""
    return spans[:, :-1, 1:]


def _event(used: Tensor) -> Tensor:
    """Return the label of each span in a tree, -1 elsewhere, from 0/1 entries `[first word, last word, label]`."""
    labels = torch.where((used > 0).any(-1), used.argmax(-1), -1)
    return pad(labels, (1, 0, 0, 1), value=-1)


def torch_struct_log_partition(spans: Tensor) -> Tensor:
    from torch_struct import TreeCRF

    return TreeCRF(_words(spans)).partition


def torch_struct_mode(spans: Tensor) -> Tensor:
    from torch_struct import TreeCRF

    return _event(TreeCRF(_words(spans)).argmax)


def torch_struct_loss(event: Tensor, spans: Tensor) -> Loss:
    """Return the loss of torch-struct; its events are 0/1 entries for spans with labels."""
    from torch_struct import TreeCRF

    parts = _words(one_hot(event + 1, spans.shape[-1] + 1)[..., 1:]).float()
    return lambda spans: -TreeCRF(_words(spans)).log_prob(parts).mean()


def supar_log_partition(spans: Tensor) -> Tensor:
    """Return the log-partition of supar, whose trees have no labels; those of each span are summed first."""
    return supar_structs().ConstituencyCRF(spans.logsumexp(-1)).log_partition


def supar_mode(spans: Tensor) -> Tensor:
    """Return the mode; supar's decoder returns a list of spans for each sentence."""
    best, labels = spans.max(-1)
    event = torch.full_like(labels, -1)
    for item, tree in enumerate(supar_structs().ConstituencyCRF(best).argmax):
        first, last = torch.tensor(tree).unbind(-1)
        event[item, first, last] = labels[item, first, last]
    return event


def supar_loss(event: Tensor, *_: Tensor) -> Loss:
    """Return the loss of the bracketing plus that of the labels of its spans, as in supar's own parser."""
    mask = event >= 0
    labels = event[mask]

    def loss(spans: Tensor) -> Tensor:
        trees = supar_structs().ConstituencyCRF(spans.logsumexp(-1))
        labelling = cross_entropy(spans[mask], labels, reduction="sum") / len(spans)
        return labelling - trees.log_prob(mask).mean()

    return loss


def _torchlatent(spans: Tensor) -> Any:
    """Return the distribution of torchlatent."""
    from torchlatent.cky import CkyDistribution
    from torchrua import C

    words = _words(spans)
    return CkyDistribution(C(data=words, token_sizes=torch.full(words.shape[:1], words.shape[1])))


def torchlatent_log_partition(spans: Tensor) -> Tensor:
    return _torchlatent(spans).log_partitions


def torchlatent_mode(spans: Tensor) -> Tensor:
    """Return the mode, which torchlatent computes as a gradient, so that the scores must require one."""
    with torch.enable_grad():
        found = _torchlatent(spans.requires_grad_()).argmax
    first, last, label = found.data.unbind(-1)
    item = torch.arange(len(spans)).repeat_interleave(found.token_sizes)
    event = spans.new_full(spans.shape[:-1], -1, dtype=torch.int64)
    event[item, first, last + 1] = label
    return event


def torchlatent_loss(event: Tensor, *_: Tensor) -> Loss:
    """Return the loss of torchlatent; its events list first word, last word and label of all trees' spans."""
    from torchrua import C

    item, first, end = (event >= 0).nonzero().unbind(-1)
    triples = torch.stack([first, end - 1, event[item, first, end]], -1)
    targets = C(data=triples, token_sizes=(event >= 0).sum((1, 2)))

    def loss(spans: Tensor) -> Tensor:
        trees = _torchlatent(spans)
        found: Tensor = (trees.log_partitions - trees.log_scores(targets)).mean()
        return found

    return loss


def gold_trees(spans: Tensor) -> Tensor:
    batch, fenceposts, _, labels = spans.shape
    return gold.trees(batch, fenceposts - 1, range(labels), range(labels))


def score(spans: Tensor, event: Tensor) -> Tensor:
    """Return the scores `(batch,)` of trees `(batch, n + 1, n + 1)`, in float64."""
    chosen = spans.double().gather(-1, event.clamp(min=0)[..., None]).squeeze(-1)
    return torch.where(event >= 0, chosen, 0.0).sum((-1, -2))


def case(batch: int, words: int, labels: int) -> Case:
    shapes = ((batch, words + 1, words + 1, labels),)
    return Case(f"{batch}x{words}x{labels}", shapes)


FAMILY = Family(
    name="span-tree",
    title="Span tree (batch x words x labels)",
    cases=(case(16, 40, 32), case(4, 100, 32), case(1, 40, 32), case(1, 20, 10)),
    warm_up=case(2, 4, 3),
    contestants=(
        Contestant("strukt", strukt_log_partition, strukt_mode, learn=strukt_loss),
        Contestant("torch-struct", torch_struct_log_partition, torch_struct_mode, learn=torch_struct_loss),
        Contestant("supar", supar_log_partition, supar_mode, learn=supar_loss),
        Contestant("torchlatent", torchlatent_log_partition, torchlatent_mode, learn=torchlatent_loss),
    ),
    score=score,
    operations=TRAINING,
    gold=gold_trees,
)
