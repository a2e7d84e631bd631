"""Factor graphs with scores on another device are solved on the CPU, and the results come back."""

import subprocess
import sys

from tests.factor_graph.elsewhere import GRAPHS


def test_graphs_on_another_device_equal_those_on_the_cpu():
    command = [sys.executable, "-m", "tests.factor_graph.elsewhere"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr[-3000:]
    assert result.stdout.split() == [build.__name__ for build in GRAPHS]
