"""A short training as if a corpus were one batch."""

from __future__ import annotations

import torch


def learned(kind, config, sentences, steps=40, rate=1e-2):
    """A model that was trained on a corpus, ready to predict, and its losses."""
    torch.manual_seed(0)
    trainable = list(kind.trainable(config, sentences))
    model = kind.from_corpus(config, trainable)
    optimizer = torch.optim.Adam(model.parameters(), lr=rate)
    batch, losses = model.collate(trainable), []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = model.loss(batch)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    model.calibrate(trainable)
    return model.eval(), losses


def untrained(kind, config, sentences):
    """A model with random weights that are far from 0, ready to predict."""
    torch.manual_seed(0)
    model = kind.from_corpus(config, list(kind.trainable(config, sentences)))
    for parameter in model.layer.parameters():
        if parameter.requires_grad and parameter.dim() > 1:
            torch.nn.init.normal_(parameter)
    model.calibrate(sentences)
    return model.eval()
