"""The page of registers names every kernel that the tests compile, and no kernel spills much."""

import re

from tests.docs.pages import DOCS, text_of
from tests.kernels.engine.gpu.test_compiled import EXPECTED

ROW = re.compile(r"^\| [^|]+ \| `([\w.]+)` \|(.*)\|$", re.MULTILINE)
CELL = re.compile(r"(\d+) / (\d+) / ([\d,]+)")

TEXT = text_of(DOCS / "concepts" / "gpu-registers.md")
ROWS = ROW.findall(TEXT)
LIGHT = re.findall(r"`([\w.]+)`", TEXT.split("These kernels have no row:")[1])


def test_all_compiled_kernels_are_named():
    assert {kernel for kernel, _ in ROWS} | set(LIGHT) >= set().union(*EXPECTED.values())
    assert {kernel for kernel, _ in ROWS} & set(LIGHT) == set()


def test_registers_hold_what_kernels_keep():
    numbers = [cell for _, row in ROWS for cell in CELL.findall(row)]
    cells = [[int(number.replace(",", "")) for number in cell] for cell in numbers]
    assert len(cells) > 2 * len(ROWS)
    registers, spilled, shared = map(max, zip(*cells, strict=True))
    assert registers <= 255
    assert spilled <= 100
    assert shared <= 232_448
