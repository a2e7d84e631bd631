# make demo   installs strukt and runs its demonstration, a small parser trained in a minute
# make serve  shows the parser of the demonstration in a browser, at http://127.0.0.1:8000
# make test   installs the development extra and runs every check that CI runs
# make dist   builds the wheel and the source archive, and tries the wheel in an otherwise empty environment
# The environment is made in .venv; `make test VENV=/tmp/elsewhere` puts it somewhere else.

PYTHON ?= python3
VENV ?= .venv
WORKERS ?= 2
BIN = $(VENV)/bin
INSTALL = $(BIN)/python -m pip install --quiet --no-compile --constraint constraints.txt
SOURCES = src tests examples $(wildcard docs/*.py benchmarks)

# Whatever the environment says, bytecode is kept: else each process that a test starts compiles all of PyTorch anew.
export PYTHONDONTWRITEBYTECODE =

.PHONY: demo serve test lint types docs pytest dist clean

demo: $(VENV)/installed-train
	$(BIN)/strukt demo

serve: $(VENV)/installed-train $(VENV)/installed-serve
	$(BIN)/strukt serve strukt-demo/parser

test: lint types docs pytest

lint: $(VENV)/installed-dev
	$(BIN)/ruff check $(SOURCES)

types: $(VENV)/installed-dev
	$(BIN)/mypy

docs: $(VENV)/installed-dev
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --quiet

pytest: $(VENV)/installed-dev
	$(BIN)/python -m pytest -q -n $(WORKERS)

dist: $(VENV)/installed-dev
	rm -rf dist
	$(BIN)/python -m build --outdir dist
	PYTHON=$(PYTHON) sh packaging/check.sh dist/*.whl

$(VENV)/installed-%: pyproject.toml constraints.txt | $(BIN)/python
	$(INSTALL) --editable ".[$*]"
	touch $@

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

clean:
	rm -rf $(VENV) site dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
