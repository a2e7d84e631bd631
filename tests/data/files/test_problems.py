"""Problems as exceptions and as warnings."""

import pytest

from strukt.data.files.problems import DataWarning, Problem, stop
from strukt.errors import DataError


def test_stop_warns_of_repairs_and_raises_the_rest():
    with pytest.warns(DataWarning, match=r"^a\.txt:3: found x; did y$"):
        stop(Problem("rule", "found x", "did y", "a.txt", 3, repaired=True))
    with pytest.raises(DataError, match=r"^a\.txt: found x; do y$"):
        stop(Problem("rule", "found x", "do y", "a.txt"))
