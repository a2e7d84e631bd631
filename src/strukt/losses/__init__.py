"""Fenchel-Young losses of mappings and structures; contrastive hashing; CTC and RNN-T for speech.

Examples:
    >>> import torch
    >>> from strukt.losses import sparsemax_loss
    >>> sparsemax_loss(torch.tensor([[3.0, 1.0]]), torch.tensor([0]))
    tensor(0.)
"""

from strukt.losses.contrastive_hashing import contrastive_hashing
from strukt.losses.ctc import ctc_loss
from strukt.losses.rnnt import rnnt_loss
from strukt.losses.rows import Options
from strukt.losses.structures import fenchel_young_loss
from strukt.losses.vectors import (
    budget_loss,
    entmax15_loss,
    entmax_loss,
    fusedmax_loss,
    ksubset_loss,
    normmax_loss,
    oscarmax_loss,
    sparsemax_loss,
)

__all__ = [
    "Options",
    "budget_loss",
    "contrastive_hashing",
    "ctc_loss",
    "entmax15_loss",
    "entmax_loss",
    "fenchel_young_loss",
    "fusedmax_loss",
    "ksubset_loss",
    "normmax_loss",
    "oscarmax_loss",
    "rnnt_loss",
    "sparsemax_loss",
]
