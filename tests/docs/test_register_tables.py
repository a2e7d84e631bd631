"""The page of registers has a row for every kernel that the tests compile, and no kernel spills much."""

import re
from pathlib import Path

from tests.kernels.engine.gpu.test_compiled import EXPECTED

PAGE = Path(__file__).parents[2] / "docs" / "concepts" / "gpu-registers.md"
ROW = re.compile(r"^\| [^|]+ \| `([\w.]+)` \|(.*)\|$", re.MULTILINE)
CELL = re.compile(r"(\d+) / (\d+) / ([\d,]+)")

ROWS = ROW.findall(PAGE.read_text())


def test_all_compiled_kernels_have_a_row():
    assert {kernel for kernel, _ in ROWS} >= set().union(*EXPECTED.values())


def test_registers_hold_what_kernels_keep():
    numbers = [cell for _, row in ROWS for cell in CELL.findall(row)]
    cells = [[int(number.replace(",", "")) for number in cell] for cell in numbers]
    assert len(cells) > 2 * len(ROWS)
    registers, spilled, shared = map(max, zip(*cells, strict=True))
    assert registers <= 255
    assert spilled <= 100
    assert shared <= 232_448
