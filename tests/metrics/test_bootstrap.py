"""Intervals of scores, against those that are known in closed form."""

import pytest

from strukt.metrics.attachment_scores import AttachmentScore
from strukt.metrics.bootstrap import intervals


def share(right):
    return {"right": 100 * sum(right) / len(right)}


@pytest.mark.parametrize(("n", "p"), [(400, 0.9), (400, 0.5)])
def test_shares_have_the_intervals_of_the_binomial_distribution(n, p):
    right = [True] * round(n * p) + [False] * round(n * (1 - p))
    low, high = intervals(share, right, resamples=4000)["right"]
    error = 100 * 1.96 * (p * (1 - p) / n) ** 0.5
    assert low == pytest.approx(100 * p - error, abs=0.1 * error)
    assert high == pytest.approx(100 * p + error, abs=0.1 * error)


def test_sentences_are_drawn_whole():
    """Words of a sentence that are right together make the interval wider than so many words alone."""

    def score(outcomes):
        metric = AttachmentScore()
        for gold, predicted in outcomes:
            metric.update(gold, predicted)
        return metric.result()

    right, wrong = [(0, "root")] * 9, [(1, "root")] * 9
    together = intervals(score, [(right, right)] * 30 + [(right, wrong)] * 30)["UAS"]
    alone = intervals(score, [(right[:1], right[:1])] * 270 + [(right[:1], wrong[:1])] * 270)["UAS"]
    assert together[1] - together[0] == pytest.approx(3 * (alone[1] - alone[0]), rel=0.25)


def test_the_same_seed_draws_the_same():
    right = [True, False] * 50
    assert intervals(share, right, seed=3) == intervals(share, right, seed=3)
    assert intervals(share, right, seed=3) != intervals(share, right, seed=4)


def test_what_cannot_be_drawn_is_refused():
    with pytest.raises(ValueError, match="outcomes is empty; expected at least one sentence"):
        intervals(share, [])
    with pytest.raises(ValueError, match="resamples is 9; expected at least 40"):
        intervals(share, [True], resamples=9)
