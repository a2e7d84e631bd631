"""Labelled and unlabelled sentences in one training, by a CRF autoencoder, against sums over trees."""

import numpy as np
import pytest
import torch
from tests import tiny_corpora
from tests.fidelity.dense_sparsemap import every_tree

from strukt.data import conllu
from strukt.tasks.dependency.model import Parser

SENTENCES = [
    conllu.from_forms(forms).annotated(head=heads, deprel=["x"] * len(heads))
    for forms, heads in (
        (["a", "b", "a"], [2, 0, 2]),
        (["b", "c"], [0, 1]),
        (["c", "a", "b", "d"], [2, 0, 4, 2]),
    )
]


def crosses(heads):
    arcs = [tuple(sorted(arc)) for arc in enumerate(heads, 1)]
    return any(a < c < b < d for a, b in arcs for c, d in arcs)


@pytest.mark.parametrize("trees", ["nonprojective", "projective"])
def test_unlabelled_sentences_are_written_anew_under_all_trees(trees, tmp_path):
    path = tiny_corpora.write(SENTENCES[1:], tmp_path / "unlabelled.conllu")
    config = tiny_corpora.dependency_config(criterion="tree", trees=trees, unlabelled=str(path))
    torch.manual_seed(0)
    train = Parser.trainable(config, SENTENCES[:1])
    assert [sentence.words[0].head for sentence in train] == [2, None, None]
    model = Parser.from_corpus(config, train).double().eval()
    torch.nn.init.normal_(model.arc_score.weight)
    torch.nn.init.normal_(model.label_score.weight)
    weights = {name: value.detach().numpy() for name, value in model.autoencoder.named_parameters()}
    total = 0.0
    for sentence in train:
        batch = model.collate([sentence])
        arcs, vectors = model.scores(batch.inputs, batch.lengths)
        words = batch.inputs["words"][batch.inputs["form"][0]].tolist()
        s, n = arcs[0].detach().numpy(), len(sentence)
        q = np.zeros((n, n + 1))  # of each word under each head
        for h in range(n + 1):
            scores = weights["score.weight"] @ weights["heads.weight"][words[h - 1] if h else -1]
            scores = np.exp(scores + weights["score.bias"])
            q[:, h] = (scores / scores.sum())[words]
        every = [heads for heads in every_tree(n) if trees == "nonprojective" or not crosses(heads)]
        weight = {heads: np.exp(sum(s[m, h] for m, h in enumerate(heads))) for heads in every}
        written = {heads: np.prod([q[m, h] for m, h in enumerate(heads)]) for heads in every}
        partition = sum(weight.values())
        if sentence.words[0].head is None:
            total -= np.log(sum(weight[heads] / partition * written[heads] for heads in every))
            continue
        heads = tuple(sentence.heads)
        total -= np.log(weight[heads] / partition * written[heads])
        labels = model.label_scores(vectors, batch.targets["heads"])[0].detach().numpy()
        for m, label in enumerate(batch.targets["labels"][0].tolist()):
            total -= labels[m, label] - np.log(np.exp(labels[m]).sum())
    found = model.loss(model.collate(list(train)))
    assert found.item() == pytest.approx(total / sum(map(len, train)), abs=1e-9)
    found.backward()
    assert all(p.grad is not None for p in model.autoencoder.parameters())
