"""Connectionist temporal classification of fixed targets: logits `(batch, frames, labels)`, label 0 the blank."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import ctc_loss

from benchmarks.contest import TRAINING, Case, Contestant, Family, Loss


def targets(logits: Tensor) -> Tensor:
    """Return a random target for each item, a fifth as long as the frames, the same in every process."""
    batch, frames, labels = logits.shape
    drawn = torch.randint(1, labels, (batch, frames // 5), generator=torch.Generator().manual_seed(0))
    return drawn.to(logits.device)


def strukt_log_partition(logits: Tensor) -> Tensor:
    from strukt.distributions import CTC

    return CTC(logits.log_softmax(-1), targets(logits)).log_partition


def strukt_mode(logits: Tensor) -> Tensor:
    from strukt.distributions import CTC

    return CTC(logits.log_softmax(-1), targets(logits)).mode


def torch_log_partition(logits: Tensor) -> Tensor:
    batch, frames, _ = logits.shape
    labels = targets(logits)
    lengths = torch.full((batch,), frames), torch.full((batch,), labels.shape[1])
    return -ctc_loss(logits.log_softmax(-1).transpose(0, 1), labels, *lengths, reduction="none")


def strukt_loss(*_: Tensor) -> Loss:
    """Return the loss of strukt: the log-probability of a target is its log-partition."""
    return lambda logits: -strukt_log_partition(logits).mean()


def torch_loss(*_: Tensor) -> Loss:
    return lambda logits: -torch_log_partition(logits).mean()


def score(logits: Tensor, frames: Tensor) -> Tensor:
    """Return the scores `(batch,)` of the labels of all frames, `(batch, frames)`, in float64."""
    return logits.double().log_softmax(-1).gather(-1, frames[..., None]).squeeze(-1).sum(-1)


def case(batch: int, frames: int, labels: int) -> Case:
    return Case(f"{batch}x{frames}x{labels}", ((batch, frames, labels),))


FAMILY = Family(
    name="ctc",
    title="CTC (batch x frames x labels), targets of a fifth of the frames",
    cases=(case(16, 200, 32), case(16, 400, 32), case(1, 200, 32), case(1, 20, 10)),
    warm_up=case(2, 10, 3),
    contestants=(
        Contestant("strukt", strukt_log_partition, strukt_mode, learn=strukt_loss),
        Contestant("torch", torch_log_partition, learn=torch_loss),
    ),
    score=score,
    operations=TRAINING,
)
