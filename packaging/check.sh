#!/bin/sh
# Install a wheel into an otherwise empty environment, and do with it what a newcomer does.
set -eu
wheel=$(realpath "$1")
constraints=$(realpath constraints.txt)
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT INT TERM
cd "$place"
"${PYTHON:-python3}" -m venv bare
pip="bare/bin/python -m pip install --quiet --constraint $constraints"
$pip "$wheel"
bare/bin/python - <<'END'
import torch
from strukt import LinearChain, ProjectiveTree

for structure in (LinearChain(torch.zeros(3, 2), torch.zeros(2, 2)), ProjectiveTree(torch.zeros(3, 4))):
    assert structure.log_partition.isfinite(), structure
    assert structure.mode.shape == (3,), structure
END
bare/bin/strukt doctor
$pip "$wheel[train]"
bare/bin/strukt demo
bare/bin/strukt show strukt-demo/parser "total = price * 2"
echo "$(basename "$wheel") works"
