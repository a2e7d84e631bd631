"""Ranks of right answers: what is counted, and what is refused."""

import pytest

from strukt.metrics import Ranks


def test_the_first_of_equal_answers_counts_and_a_missing_answer_comes_last():
    ranks = Ranks(cutoffs=(1, 2))
    ranks.update(["cat", "ant"], ["dog", "cat", "cat"])
    assert ranks.result() == {"accuracy@1": 0.0, "accuracy@2": 50.0, "median rank": 3.0}


@pytest.mark.parametrize(("gold", "predicted"), [("cat", ["cat"]), (["cat"], "cat")])
def test_a_string_is_no_list_of_answers(gold, predicted):
    ranks = Ranks()
    with pytest.raises(ValueError, match="is the string 'cat'; expected a list of answers"):
        ranks.update(gold, predicted)
    assert not ranks.ranks
