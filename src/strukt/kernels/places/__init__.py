"""Scores of events as sums of entries of the score tensors, and log-probabilities with their gradients."""

from strukt.kernels.places.log_prob import LogProb
from strukt.kernels.places.reference import Places, log_ratio, sum_of_totals

__all__ = ["LogProb", "Places", "log_ratio", "sum_of_totals"]
