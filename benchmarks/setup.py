"""Installation of the environment of the benchmarks: `python -m benchmarks.setup [FOLDER]`; default .venv-peers.

The peers are installed without their dependencies: these include parsers, tokenizers and treebanks that no
benchmark uses (see `benchmarks.peers`), and torch must remain the version with which strukt is tested.
"""

from __future__ import annotations

import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PEERS = (
    "torch-struct==0.5",
    "supar==1.1.4",
    "pytorch-crf==0.7.2",
    "torchlatent==0.4.3",
    "torchrua==0.5.0",
    "flash-semicrf==0.2.0",
    "entmax==1.3",
)
COMPILED = ("torchsparseattn==0.2",)
"""Peers that are compiled when they are installed, with a C compiler, Cython, and the installed NumPy."""


def install(python: Path, *arguments: str) -> None:
    """Run ``pip install`` with the versions of dependencies with which strukt is tested."""
    pip = [python, "-m", "pip", "install", "--quiet", "--constraint", ROOT / "constraints.txt"]
    subprocess.run([*pip, *arguments], check=True)


def main(folder: str = ".venv-peers") -> None:
    """Create a virtual environment in `folder`, with strukt from this working tree, the peers and mpmath."""
    environment = Path(folder)
    venv.create(environment, with_pip=True)
    python = environment / ("Scripts" if sys.platform == "win32" else "bin") / "python"
    install(python, "--editable", f"{ROOT}[train]", "mpmath")
    install(python, "--no-deps", *PEERS)
    install(python, "clarabel==0.11.1", "dynamax==1.0.3", "hmmlearn==0.3.3")
    install(python, "sklearn-crfsuite==0.5.0", "scikit-learn")
    install(python, "cython==3.3.1")
    install(python, "--no-deps", "--no-build-isolation", *COMPILED)
    print(f"done: {python} -m benchmarks.run", file=sys.stderr)


if __name__ == "__main__":
    main(*sys.argv[1:])
