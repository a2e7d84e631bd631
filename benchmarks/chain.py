"""Linear chains: emissions `(batch, n, labels)` and one transition matrix `(labels, labels)`."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import pad

from benchmarks import gold
from benchmarks.contest import TRAINING, Case, Contestant, Family, Loss
from benchmarks.peers import supar_structs


def strukt_log_partition(emissions: Tensor, transition: Tensor) -> Tensor:
    from strukt.distributions import LinearChain

    return LinearChain(emissions, transition).log_partition


def strukt_mode(emissions: Tensor, transition: Tensor) -> Tensor:
    from strukt.distributions import LinearChain

    return LinearChain(emissions, transition).mode


def strukt_loss(tags: Tensor, *_: Tensor) -> Loss:
    from strukt.distributions import LinearChain

    return lambda *scores: -LinearChain(*scores).log_prob(tags).mean()


def _torch_struct(emissions: Tensor, transition: Tensor) -> Any:
    """Return torch-struct's distribution, from a score `[next, previous]` for each pair of neighbouring tags."""
    from torch_struct import LinearChainCRF

    edges = transition.T + emissions[:, 1:, :, None]
    first = edges[:, :1] + emissions[:, :1, None, :]
    return LinearChainCRF(torch.cat([first, edges[:, 1:]], dim=1))


def torch_struct_log_partition(emissions: Tensor, transition: Tensor) -> Tensor:
    return _torch_struct(emissions, transition).partition


def torch_struct_mode(emissions: Tensor, transition: Tensor) -> Tensor:
    edges = _torch_struct(emissions, transition).argmax
    first, following = edges[:, :1].sum(-2).argmax(-1), edges.sum(-1).argmax(-1)
    return torch.cat([first, following], dim=1)


def torch_struct_loss(tags: Tensor, emissions: Tensor, _: Tensor) -> Loss:
    """Return the loss of torch-struct; its events have an entry for each pair of neighbouring tags."""
    from torch_struct import LinearChain

    parts = LinearChain.to_parts(tags, emissions.shape[-1]).float()
    return lambda *scores: -_torch_struct(*scores).log_prob(parts).mean()


def _supar(emissions: Tensor, transition: Tensor) -> Any:
    """Return supar's distribution; its start and end transitions, here 0, are the last row and column."""
    return supar_structs().LinearChainCRF(emissions, pad(transition, (0, 1, 0, 1)))


def supar_log_partition(emissions: Tensor, transition: Tensor) -> Tensor:
    return _supar(emissions, transition).log_partition


def supar_mode(emissions: Tensor, transition: Tensor) -> Tensor:
    return _supar(emissions, transition).argmax


def supar_loss(tags: Tensor, *_: Tensor) -> Loss:
    return lambda *scores: -_supar(*scores).log_prob(tags).mean()


def _pytorch_crf(transition: Tensor) -> Any:
    """Return a layer that scores with `transition`; start and end scores are 0."""
    from torchcrf import CRF

    layer = CRF(len(transition), batch_first=True).requires_grad_(False)
    layer.start_transitions.zero_()
    layer.end_transitions.zero_()
    del layer.transitions
    layer.transitions = transition
    return layer


def pytorch_crf_log_partition(emissions: Tensor, transition: Tensor) -> Tensor:
    """Return the log-partition by a private method, because public ones return only the log-likelihood of tags."""
    everything = emissions.new_ones(emissions.shape[1::-1], dtype=torch.bool)
    return _pytorch_crf(transition)._compute_normalizer(emissions.transpose(0, 1), everything)


def pytorch_crf_mode(emissions: Tensor, transition: Tensor) -> Tensor:
    everything = emissions.new_ones(emissions.shape[:2], dtype=torch.bool)
    return torch.tensor(_pytorch_crf(transition).decode(emissions, everything))


def pytorch_crf_loss(tags: Tensor, *_: Tensor) -> Loss:
    def loss(emissions: Tensor, transition: Tensor) -> Tensor:
        found: Tensor = -_pytorch_crf(transition)(emissions, tags, reduction="mean")
        return found

    return loss


def _torchlatent(emissions: Tensor, transition: Tensor) -> Any:
    """Return the distribution of torchlatent, without scores of the first and the last tag."""
    from torchlatent.crf import CrfDistribution
    from torchrua import D

    batch, length, labels = emissions.shape
    border = emissions.new_zeros(labels)
    lengths = torch.full((batch,), length)
    return CrfDistribution(D(data=emissions, token_sizes=lengths), (transition, border, border))


def torchlatent_log_partition(emissions: Tensor, transition: Tensor) -> Tensor:
    return _torchlatent(emissions, transition).log_partitions


def torchlatent_mode(emissions: Tensor, transition: Tensor) -> Tensor:
    """Return the mode, which torchlatent computes as a gradient, so that the emissions must require one."""
    return _torchlatent(emissions.requires_grad_(), transition).argmax.data


def torchlatent_loss(tags: Tensor, *_: Tensor) -> Loss:
    from torchrua import D

    targets = D(data=tags, token_sizes=torch.full(tags.shape[:1], tags.shape[1]))

    def loss(emissions: Tensor, transition: Tensor) -> Tensor:
        chain = _torchlatent(emissions, transition)
        found: Tensor = (chain.log_partitions - chain.log_scores(targets)).mean()
        return found

    return loss


def gold_tags(emissions: Tensor, _: Tensor) -> Tensor:
    return gold.tags(*emissions.shape)


def score(emissions: Tensor, transition: Tensor, tags: Tensor) -> Tensor:
    """Return the scores `(batch,)` of tag sequences `(batch, n)`, in float64."""
    used = emissions.double().gather(-1, tags[..., None]).squeeze(-1)
    return used.sum(-1) + transition.double()[tags[:, :-1], tags[:, 1:]].sum(-1)


def case(batch: int, length: int, labels: int) -> Case:
    shapes = ((batch, length, labels), (labels, labels))
    return Case(f"{batch}x{length}x{labels}", shapes)


FAMILY = Family(
    name="chain",
    title="Linear chain (batch x length x labels)",
    cases=(case(32, 128, 32), case(8, 1000, 16), case(16, 64, 256), case(1, 128, 32), case(1, 20, 10)),
    warm_up=case(2, 4, 3),
    contestants=(
        Contestant("strukt", strukt_log_partition, strukt_mode, learn=strukt_loss),
        Contestant("torch-struct", torch_struct_log_partition, torch_struct_mode, learn=torch_struct_loss),
        Contestant("supar", supar_log_partition, supar_mode, learn=supar_loss),
        Contestant("pytorch-crf", pytorch_crf_log_partition, pytorch_crf_mode, learn=pytorch_crf_loss),
        Contestant("torchlatent", torchlatent_log_partition, torchlatent_mode, learn=torchlatent_loss),
    ),
    score=score,
    operations=TRAINING,
    gold=gold_tags,
)
