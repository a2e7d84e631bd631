"""The Probabilistic Transformer from the equations of Wu and Tu (2023): one sentence, in loops over words.

Scores of labels S are ``(n, d)``, tables T ``(f, h, d, d)`` for label a of a word and label b of its head.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch


@dataclass
class Model:
    """The parameters, and how mean field goes on with them; options as in the paper, by its symbols."""

    tables: torch.Tensor
    gamma: int | None
    iterations: int
    lambda_z: float = 1.0
    lambda_h: float | None = None
    asynchronous: bool = True
    alpha_z: float = 1.0
    alpha_h: float = 1.0
    beta_z: float = 0.0
    beta_h: float = 0.0
    equation: int = 16
    root: torch.Tensor | None = None
    features: torch.Tensor | None = None
    choice: str = ""
    distances: torch.Tensor | None = None
    """Not in the paper: scores ``(f, h)`` that a head has for its distance, beside one table for all."""
    relations: int = 1
    """Labels of a dependency; the tables of those of a channel follow each other."""
    dropout: list[torch.Tensor] | None = None
    """For each iteration masks of heads (h, n, n + root), of label scores (n, d), and of the root's."""


def bucket(x: int, gamma: int) -> int:
    """Equation 10."""
    if x < -gamma:
        return 0
    if x < 0:
        return x + gamma + 1
    return x + gamma if x <= gamma else 2 * gamma + 1


def softmax(x: torch.Tensor) -> torch.Tensor:
    """A distribution over all numbers of a vector, none over none."""
    if not len(x):
        return x
    powers = (x - x.max()).exp()
    return powers / powers.sum()


def mean_field(model: Model, s: torch.Tensor) -> dict[str, Any]:
    """Equations 3 to 12 with the variants of section 2.3 and appendix B: the last messages and distributions."""
    n, d = s.shape
    k = model.relations
    h = model.tables.shape[1] // k
    lambda_h = 1 / d if model.lambda_h is None else model.lambda_h
    has_root, m = model.root is not None, 0 if model.features is None else model.features.shape[1]
    among = m if model.choice == "all-dep" else 0
    values = [[j for j in range(n) if j != i] + list(range(n, n + has_root + among)) for i in range(n)]

    def labelled(i: int, j: int, c: int) -> torch.Tensor:
        place = 0 if model.gamma is None or len(model.tables) == 1 else bucket(i - j, model.gamma)
        return model.tables[place, c * k : (c + 1) * k]

    def beside(i: int, j: int, c: int) -> Any:
        return 0.0 if model.distances is None else model.distances[bucket(i - j, model.gamma), c]

    def table(i: int, j: int, c: int) -> torch.Tensor:
        """T of a word and its head, expected under the label of the dependency."""
        return sum(told_l[i][c][label] * labelled(i, j, c)[label] for label in range(k))

    def relation_message(i: int, c: int) -> torch.Tensor:
        """To the label of the dependency of word i."""
        message = torch.zeros(k, dtype=s.dtype)
        for j in (j for j in range(n) if j != i):
            pairs = torch.stack([qz[i] @ labelled(i, j, c)[label] @ qz[j] for label in range(k)])
            message += told[i][c][values[i].index(j)] * pairs
        return message

    def head_message(i: int, c: int) -> torch.Tensor:
        """F_ic over all values that a head of word i can have: equations 3, 34 and the root's factor."""
        scores = [qz[i] @ table(i, j, c) @ qz[j] + beside(i, j, c) for j in range(n) if j != i]
        if has_root:
            scores.append(qz[i] @ model.root[c] @ qr)
        scores += [model.features[c, k] @ qz[i] for k in range(among)]
        return torch.stack(scores) if scores else s.new_zeros(0)

    def label_message(i: int) -> torch.Tensor:
        """G_i: equation 4 (or 20), and what the root and global features add (35, 41, 49)."""
        message = torch.zeros(d, dtype=s.dtype)
        for c in range(h):
            for j in (j for j in range(n) if j != i):
                if model.equation == 20:
                    message += 2 * told[i][c][values[i].index(j)] * table(i, j, c) @ qz[j]
                    continue
                message += told[i][c][values[i].index(j)] * table(i, j, c) @ qz[j]
                message += told[j][c][values[j].index(i)] * qz[j] @ table(j, i, c)
            if has_root:
                message += told[i][c][values[i].index(n)] * model.root[c] @ qr
            for k in range(among):
                message += told[i][c][values[i].index(n + has_root + k)] * model.features[c, k]
        for c in split:
            message += told_g[i][c] @ model.features[c]
        return message

    def root_message() -> torch.Tensor:
        parts = [told[i][c][values[i].index(n)] * qz[i] @ model.root[c] for i in range(n) for c in range(h)]
        return torch.stack(parts).sum(0)

    split = range(len(model.features)) if model.features is not None and not among else range(0)
    qz = [softmax(s[i]) for i in range(n)]  # 7
    qh = [[softmax(torch.zeros(len(values[i]), dtype=s.dtype)) for _ in range(h)] for i in range(n)]  # 8
    ql = [[torch.full((k,), 1 / k, dtype=s.dtype) for _ in range(h)] for _ in range(n)]
    qg = [[torch.full((m,), 1 / m, dtype=s.dtype) for _ in split] for _ in range(n)]  # 45, 53
    qr = None if model.root is None else s.new_full((model.root.shape[2],), 1 / model.root.shape[2])
    mz, mr = list(s), None if qr is None else torch.zeros_like(qr)  # B.2
    mh = [[torch.zeros(len(values[i]), dtype=s.dtype) for _ in range(h)] for i in range(n)]
    mg = [[torch.zeros(m, dtype=s.dtype) for _ in split] for _ in range(n)]
    lambda_g = 1.0 if model.choice == "single-split" else lambda_h  # 52 has no weight
    masks = iter(model.dropout or [])
    for _ in range(model.iterations):
        told, told_g, told_l = qh, qg, ql
        damp_h, step_h, step_z = model.beta_h, model.alpha_h, model.alpha_z
        mh = [[(1 - damp_h) * head_message(i, c) + damp_h * mh[i][c] for c in range(h)] for i in range(n)]
        mg = [[(1 - damp_h) * model.features[c] @ qz[i] + damp_h * mg[i][c] for c in split] for i in range(n)]
        new_h = [[softmax(message / lambda_h) for message in row] for row in mh]  # 12
        new_g = [[softmax(message / lambda_g) for message in row] for row in mg]  # 44, 52
        qh = [[step_h * new_h[i][c] + (1 - step_h) * qh[i][c] for c in range(h)] for i in range(n)]  # B.1
        qg = [[step_h * new_g[i][c] + (1 - step_h) * qg[i][c] for c in split] for i in range(n)]
        if model.asynchronous:
            told, told_g = qh, qg
        ql = [[softmax(relation_message(i, c) / lambda_h) for c in range(h)] for i in range(n)]
        if model.asynchronous:
            told_l = ql
        if model.dropout:
            mask = next(masks)
            told = [[told[i][c] * mask[c, i, values[i]] for c in range(h)] for i in range(n)]
        damp_z = model.beta_z
        mz = [(1 - damp_z) * (s[i] + label_message(i)) + damp_z * mz[i] for i in range(n)]
        if model.dropout:
            mz = list(torch.stack(mz) * next(masks))
        if has_root:
            mr = (1 - damp_z) * root_message() + damp_z * mr
            mr = mr * next(masks) if model.dropout else mr
            qr = step_z * softmax(mr / model.lambda_z) + (1 - step_z) * qr
        qz = [step_z * softmax(mz[i] / model.lambda_z) + (1 - step_z) * qz[i] for i in range(n)]  # 11
    heads = torch.zeros(h, n, n + has_root + among, dtype=s.dtype)
    for i in range(n):
        for c in range(h):
            heads[c, i, values[i]] = qh[i][c]
    features = torch.stack([torch.stack([qg[i][c] for i in range(n)]) for c in split]) if split else None
    return {
        "scores": torch.stack(mz),
        "labels": torch.stack(qz),
        "heads": heads[..., :n],
        "root_heads": heads[..., n] if has_root else None,
        "features": heads[..., n + has_root :] if among else features,
        "dependency_labels": torch.stack([torch.stack([ql[i][c] for i in range(n)]) for c in range(h)]),
        "root": qr,
        "root_scores": mr,
    }
