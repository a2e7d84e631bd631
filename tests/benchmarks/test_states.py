"""The cost of states and ranks."""

import pytest
from benchmarks.states import row


@pytest.mark.slow  # measured in a process of its own
def test_a_row_holds_seconds_and_megabytes():
    states, rank, parameters, *cells = row(5000, 3, 1)
    assert (states, rank) == ("5,000", "3")
    assert parameters == "20"  # a table of 5,000 states and 1,000 words, in single precision
    assert len(cells) == 4
    assert all(float(cell.replace(",", "")) > 0 for cell in cells)
