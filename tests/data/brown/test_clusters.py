"""Brown clusters: what they find, what they are given, and files of them."""

import io
import re

import pytest

from strukt.data.brown import brown_clusters, read_clusters
from strukt.errors import DataError


def test_words_between_like_neighbours_are_together():
    """Words 0 and 1, 2 and 3, 4 and 5 stand in the same places."""
    texts = [[x, 2 + y, 4 + z] * 3 for x in range(2) for y in range(2) for z in range(2)]
    found = brown_clusters(texts, 6, 3)
    assert [found[word] == found[word + 1] for word in (0, 2, 4)] == [True] * 3
    assert len(set(found)) == 3


def test_each_word_may_have_a_cluster_of_its_own():
    assert sorted(brown_clusters([[0, 1, 2, 3]], 4, 4)) == [0, 1, 2, 3]


def test_words_of_different_texts_are_no_neighbours():
    apart, together = ([[0, 1], [2, 1], [0, 3]], [[0, 1, 2, 1, 0, 3]])
    assert brown_clusters(apart, 4, 2) != brown_clusters(together, 4, 2)


def test_words_that_do_not_occur_are_in_the_last_cluster():
    assert brown_clusters([[0, 2, 0, 2, 4, 0]], 6, 2)[1::2] == [1, 1, 1]


@pytest.mark.parametrize(("clusters", "texts"), [(3, [[0, 1]]), (0, [[0, 1]]), (1, [[0]]), (1, [])])
def test_there_must_be_words_for_all_clusters(clusters, texts):
    with pytest.raises(ValueError, match=f"clusters is {clusters}; expected 1 to"):
        brown_clusters(texts, 2, clusters)


@pytest.mark.parametrize("word", [-1, 2])
def test_words_outside_the_vocabulary_are_named(word):
    with pytest.raises(ValueError, match=f"texts has word {word}; expected 0 to 1, as words is 2"):
        brown_clusters([[0, 1], [1, word]], 2, 2)


PATHS = b"00\tthe\t7\n00\ta\t3\n0110\tcat\t2\n01\tdog\t1\n"


def test_clusters_of_a_file_are_numbered_as_they_come():
    assert read_clusters(io.BytesIO(PATHS)) == {"the": 0, "a": 0, "cat": 1, "dog": 2}


@pytest.mark.parametrize("line", ["the", "0\tthe", "02\tthe\t7", "\tthe\t7", ""])
def test_other_lines_are_named(line, tmp_path):
    path = tmp_path / "paths"
    path.write_bytes(PATHS + line.encode() + b"\n")
    with pytest.raises(DataError, match=re.escape(f"{path}:5: expected the path of a cluster")):
        read_clusters(path)
