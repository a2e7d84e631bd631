"""The public names of `perturb_and_map` and `surrogate_gradients` under one path."""

from strukt.inference.perturb_and_map import gumbel_noise
from strukt.inference.surrogate_gradients import Parts, Target, implicit_mle, spigot, straight_through

__all__ = ["Parts", "Target", "gumbel_noise", "implicit_mle", "spigot", "straight_through"]
