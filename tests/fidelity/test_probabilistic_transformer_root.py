"""Wu and Tu (2023), section 2.3.5: the root of a sentence, whose scores are classified."""

import math

import torch

from strukt.nn import ProbabilisticTransformer


def softmax(scores):
    """The softmax of a list of numbers."""
    positive = [math.exp(score) for score in scores]
    return [value / sum(positive) for value in positive]


def scores_of_root(words, ternary, root_ternary, iterations):
    """The scores of the root's labels after mean field, heads first, by sums over every value of every variable.

    Args:
        words: S, ``[i][a]``.
        ternary: T^(c)[a][b], of a word and its head.
        root_ternary: T'^(c)[a][e], of a word and the root as its head.
        iterations: How often all distributions are updated.
    """
    places, channels = range(len(words)), range(len(ternary))
    labels, root_labels = range(len(words[0])), range(len(root_ternary[0][0]))
    of_words = [softmax(row) for row in words]
    of_root = [1 / len(root_labels)] * len(root_labels)
    for _ in range(iterations):
        heads = {}  # of word i in channel c: a probability for each word, and at the end for the root
        for i in places:
            for c in channels:
                messages = [
                    sum(of_words[i][a] * of_words[j][b] * ternary[c][a][b] for a in labels for b in labels)
                    for j in places
                ]
                to_root = sum(
                    of_words[i][a] * of_root[e] * root_ternary[c][a][e] for a in labels for e in root_labels
                )
                # lambda_H = 1/d
                others = [len(labels) * message for j, message in enumerate(messages) if j != i]
                found = softmax([*others, len(labels) * to_root])
                heads[c, i] = [*found[:i], 0.0, *found[i:]]
        new_words = [
            softmax(
                [
                    words[i][a]
                    + sum(
                        heads[c, i][j] * of_words[j][b] * ternary[c][a][b]
                        + heads[c, j][i] * of_words[j][b] * ternary[c][b][a]
                        for c in channels
                        for j in places
                        for b in labels
                    )
                    + sum(
                        heads[c, i][-1] * of_root[e] * root_ternary[c][a][e]
                        for c in channels
                        for e in root_labels
                    )
                    for a in labels
                ]
            )
            for i in places
        ]
        root_scores = [
            sum(
                heads[c, i][-1] * of_words[i][a] * root_ternary[c][a][e]
                for c in channels
                for i in places
                for a in labels
            )
            for e in root_labels
        ]
        of_words, of_root = new_words, softmax(root_scores)
    return root_scores, of_root


def test_the_scores_of_the_root_are_those_of_the_equations():
    torch.manual_seed(0)
    model = ProbabilisticTransformer(
        4, channels=2, iterations=3, distance=None, decomposition="full", root_labels=3
    ).double()
    words = torch.randn(1, 5, 4, dtype=torch.float64)
    tables = model.ternary.tables()[0].tolist()
    expected, probabilities = scores_of_root(words[0].tolist(), tables, model.root.table.tolist(), 3)
    found = model(words)
    torch.testing.assert_close(found.root_scores[0], torch.tensor(expected, dtype=torch.float64))
    torch.testing.assert_close(found.root[0], torch.tensor(probabilities, dtype=torch.float64))
