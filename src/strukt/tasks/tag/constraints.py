"""The constraints on tag sequences that the option `constraints` sets."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from strukt.data.tag_schemes import scheme_of, tag_fault
from strukt.nn import Constraints, tag_constraints
from strukt.tasks.tag.config import Config


def constraints_of(config: Config, labels: Sequence[str]) -> Constraints | None:
    """Return the constraints of the scheme; saved models whose tags training now rejects keep the old rules."""
    if config.constraints == "none":
        return None
    if config.constraints == "bio" and tag_fault(labels, scheme_of("bio")):
        return _lenient_bio(labels)
    return tag_constraints(labels, config.constraints)


def _lenient_bio(labels: Sequence[str]) -> Constraints:
    """Return the rule of earlier versions: `I-X` only after tags of X, everything else allowed."""
    inside = torch.tensor([label.startswith("I-") for label in labels], dtype=torch.bool)
    same = torch.tensor([[before[1:] == label[1:] for label in labels] for before in labels])
    return Constraints(~inside, same | ~inside, torch.ones_like(inside))
