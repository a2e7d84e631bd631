"""Dropout whose masks can be read."""

import torch


class Masks(torch.nn.Module):
    """Dropout by masks that are drawn once for each call, and remembered."""

    def __init__(self):
        super().__init__()
        self.drawn = []

    def forward(self, x):
        mask = torch.empty_like(x).bernoulli_(0.6) / 0.6
        self.drawn.append(mask)
        return x * mask
