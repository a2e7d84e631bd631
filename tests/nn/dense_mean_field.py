"""The Probabilistic Transformer written out: one table for each pair of words, all variants, one sentence."""

from __future__ import annotations

import torch


def bucket(x, reach):
    """The table's f(i - j), with 2g + 2 buckets."""
    if x < -reach:
        return 0
    if x > reach:
        return 2 * reach + 1
    return x + reach + (1 if x < 0 else 0)


def pair_tables(model, n):
    """T^(c)[i, j] for each pair: ``(n, n, h, d, d)``."""
    tables = model.ternary.tables()
    if model.ternary.buckets.reach is None:
        return tables[0].expand(n, n, *tables.shape[1:])
    rows = [
        [tables[bucket(i - j, model.ternary.buckets.reach) if i != j else 0] for j in range(n)]
        for i in range(n)
    ]
    return torch.stack([torch.stack(row) for row in rows])


def head_scores(model, n):
    """What a head has for its distance alone, ``(h, n, n)``."""
    found = torch.zeros(model.channels, n, n, dtype=torch.float64)
    if hasattr(model.ternary, "biases"):
        reach = model.ternary.distances.reach
        for i in range(n):
            for j in range(n):
                place = 0 if reach is None or i == j else bucket(i - j, reach)
                found[:, i, j] = model.ternary.biases[place] / model.labels
    return found


def normalised(x, allowed, kind):
    """A distribution over the last axis; zeros where nothing is allowed."""
    x = torch.where(allowed, x, -torch.inf)
    if not allowed.shape[-1]:
        return x
    if kind == "softmax":
        return torch.nan_to_num(x.softmax(-1), nan=0.0)
    positive = x.relu()
    total = positive.sum(-1, keepdim=True)
    return torch.where(total > 0, positive / torch.where(total > 0, total, 1.0), 0.0)


def mixed(share, new, old):
    return share * new + (1 - share) * old


def encode(model, scores):
    """Scores and distributions of labels, distributions of heads ``(h, n, n + ...)``, choices, root."""
    n, d = scores.shape
    how, h = model.updates, model.channels
    tables = pair_tables(model, n)
    weight = 1 / d if how.head_weight is None else how.head_weight
    i, j = torch.arange(n)[:, None], torch.arange(n)
    allowed = (j < i) if model.causal else (j != i)
    among = model.features is not None and model.among_heads
    split = model.features is not None and not model.among_heads
    extra = (model.root is not None) + (model.features.count if among else 0)
    allowed = torch.cat([allowed, torch.ones(n, extra, dtype=torch.bool)], 1).expand(h, -1, -1)
    start = scores / how.label_weight if how.weighted_start else scores
    q = normalised(start, torch.ones(n, d, dtype=torch.bool), how.normaliser)
    message, head_message = scores, torch.zeros(h, n, n + extra, dtype=scores.dtype)
    heads = normalised(head_message, allowed, "softmax")
    root = torch.full((model.root.labels,), 1 / model.root.labels, dtype=scores.dtype) if model.root else None
    root_message = torch.zeros_like(root) if model.root else None
    if split:
        shape = (model.features.channels, n, model.features.count)
        choices, choice_message = (
            torch.full(shape, 1 / shape[-1], dtype=scores.dtype),
            scores.new_zeros(shape),
        )
    for _ in range(model.iterations):
        parts = [torch.einsum("ia,ijcab,jb->cij", q, tables, q) + head_scores(model, n)]
        if model.root:
            parts.append(torch.einsum("ia,cae,e->ci", q, model.root.table, root)[..., None])
        if among:
            parts.append(torch.einsum("ia,cka->cik", q, model.features.table))
        new_head_message = mixed(1 - how.head_damping, torch.cat(parts, -1), head_message)
        new_heads = normalised(new_head_message / weight, allowed, how.normaliser)
        new_heads = mixed(how.head_step, new_heads, heads)
        told = new_heads if how.order == "asynchronous" else heads
        if split:
            told_choices = choices
            found = torch.einsum("ia,cka->cik", q, model.features.table)
            choice_message = mixed(1 - how.head_damping, found, choice_message)
            shared = model.features.channels == 1
            found = choice_message / (
                1.0 if shared and model.among_heads is False and choices.shape[0] == 1 else weight
            )
            found = normalised(found, torch.ones_like(found, dtype=torch.bool), how.normaliser)
            choices = mixed(how.head_step, found, choices)
            told_choices = choices if how.order == "asynchronous" else told_choices
        words = told[..., :n]
        into = torch.einsum("cij,ijcab,jb->ia", words, tables, q)
        if model.doubled:
            into = 2 * into
        elif model.tells_heads:
            into = into + torch.einsum("cij,ijcab,ia->jb", words, tables, q)
        if model.root:
            into = into + torch.einsum("ci,cae,e->ia", told[..., n], model.root.table, root)
        if among:
            into = into + torch.einsum(
                "cik,cka->ia", told[..., -model.features.count :], model.features.table
            )
        if split:
            into = into + torch.einsum("cik,cka->ia", told_choices, model.features.table)
        message = mixed(1 - how.label_damping, scores + into, message)
        if model.root:
            found = torch.einsum("ci,ia,cae->e", told[..., n], q, model.root.table)
            root_message = mixed(1 - how.label_damping, found, root_message)
            every = torch.ones_like(root, dtype=torch.bool)
            root = mixed(
                how.label_step, normalised(root_message / how.label_weight, every, how.normaliser), root
            )
        every = torch.ones_like(q, dtype=torch.bool)
        q = mixed(how.label_step, normalised(message / how.label_weight, every, how.normaliser), q)
        heads, head_message = new_heads, new_head_message
    return message, q, heads, choices if split else None, root
