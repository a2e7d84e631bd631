"""The page of the registers of GPU kernels; `python docs/register_tables.py` compiles them and rewrites its table.

It needs Triton, but no GPU. It takes half an hour: every kernel is compiled for two compute capabilities, and
those of tables for two types.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "concepts" / "gpu-registers.md"
SECTION = re.compile(r"(<!-- kernels: begin -->\n).*(<!-- kernels: end -->)", re.DOTALL)

CAPABILITIES, TYPES = ("90", "80"), ("float32", "float64")

TABLES = (
    "ProjectiveTree", "BitSpanTree", "CTC", "NonProjectiveTree", "SpanningTree", "LowRankPCFG", "PCFG",
    "LinearChain", "256 tags", "512 tags", "long, 16 tags",
)  # fmt: skip
"""Structures, which are arguments of `tests.kernels.engine.gpu.compile_launches`."""

OTHERS = ("tests.kernels.sparsemax_entmax.compile_launches", "tests.structures.events.compile_launches")
"""Modules that compile the kernels of sparse mappings and of events, for both types."""

FEW = 64
"""The largest number of registers of a thread at which half of a multiprocessor's threads can be resident."""

Usage = dict[str, int]
"""What a kernel uses, by name, such as the registers of a thread (`reg`), and the bytes `spilled` and `shared`."""

Rows = dict[tuple[str, str], dict[str, Usage]]
"""The usage of each kernel by structure or kind and name, and then by column."""


def compiled() -> Iterator[tuple[str, str, Usage]]:
    """Compile all kernels; yield the structure or kind of each, its column in the table, and what it uses."""
    for capability in CAPABILITIES:
        for structure in TABLES:
            for dtype in TYPES:
                module = "tests.kernels.engine.gpu.compile_launches"
                for line in lines_of(module, capability, structure, dtype):
                    yield structure, f"{capability} {dtype}", json.loads(line)
        for module in OTHERS:
            for line in lines_of(module, capability):
                yield module.split(".")[-2], f"{capability} float64", json.loads(line)


def lines_of(module: str, *arguments: str) -> list[str]:
    """Return the lines that a module prints about the kernels that it compiles, each a JSON object."""
    environment = {**os.environ, "TRITON_INTERPRET": "0", "PYTHONPATH": os.pathsep.join([*sys.path, str(ROOT)])}
    command = [sys.executable, "-m", module, *arguments]
    result = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, cwd=ROOT, env=environment)
    print(module, *arguments, file=sys.stderr)
    return result.stdout.splitlines()


def usages() -> Rows:
    """Return what each kernel uses, by structure or kind and name, and by column: the most of its variants."""
    rows: Rows = {}
    for structure, column, used in compiled():
        cell = rows.setdefault((structure, str(used.pop("kernel"))), {}).setdefault(column, dict.fromkeys(used, 0))
        cell.update({name: max(value, cell[name]) for name, value in used.items()})
    return rows


def section(rows: Rows) -> str:
    """Return a table of the kernels that use many registers or spill some, and a sentence with all others."""
    columns = [f"{capability} {dtype}" for capability in CAPABILITIES for dtype in TYPES]
    titles = [f"{column[0]}.{column[1:].replace(' ', ', ')}" for column in columns]
    lines = [("kernels of", "kernel", *titles), ("---",) * (2 + len(columns))]
    heavy = {key: cells for key, cells in rows.items() if not all(map(_is_light, cells.values()))}
    for (structure, kernel), cells in heavy.items():
        shown = [_cell(cells[column]) if column in cells else "" for column in columns]
        lines.append((structure, f"`{kernel}`", *shown))
    light = sorted({kernel for _, kernel in rows} - {kernel for _, kernel in heavy})
    lists = [", ".join(f"`{kernel}`" for kernel in light[start : start + 5]) for start in range(0, len(light), 5)]
    names = ",\n".join(lists)
    table = "".join(f"| {' | '.join(line)} |\n" for line in lines)
    left_out = f"Rows with at most {FEW} registers and no spilled bytes are left out. These kernels have no row:"
    return f"{table}\n{left_out}\n{names}.\n"


def _is_light(used: Usage) -> bool:
    return used["reg"] <= FEW and not used["spilled"]


def _cell(used: Usage) -> str:
    return f"{used['reg']} / {used['spilled']} / {used['shared']:,}"


if __name__ == "__main__":
    text = section(usages())
    PAGE.write_text(SECTION.sub(lambda match: f"{match[1]}{text}{match[2]}", PAGE.read_text()))
