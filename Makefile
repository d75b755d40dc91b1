# Everything here works on a machine that has only python3 (3.11 or newer) and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
DEMO := build/demo

.PHONY: help demo test test-slow check bench clean
.DEFAULT_GOAL := help

help:
	@echo "make demo       set up, then show what folkmoot does (report in $(DEMO))"
	@echo "make test       set up, then run the checks and all tests (a few minutes)"
	@echo "make check      ruff, mypy --strict, the import layers, docstrings and spelling"
	@echo "make test-slow  the studies that take longer"
	@echo "make bench      speed, as JSON"
	@echo "make clean      remove $(VENV) and build"

# The versions that the tests ran with are in constraints.txt.
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt

$(VENV)/base: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "folkmoot needs Python 3.11 or newer; try: make PYTHON=python3.12" >&2; exit 1; }
	@echo "setting up $(VENV) (once; a minute or two)"
	@$(PYTHON) -m venv $(VENV) || \
	  { echo "python3 cannot make a virtual environment; on Debian: apt-get install python3-venv" >&2; exit 1; }
	@$(INSTALL) --editable .
	@touch $@

$(VENV)/dev: $(VENV)/base
	@$(INSTALL) --editable '.[dev]'
	@touch $@

demo: $(VENV)/base
	@$(BIN)/folkmoot demo --out $(DEMO)

check: $(VENV)/dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python tools/check_docstrings.py
	$(BIN)/codespell

# One worker more than cores: many tests wait for processes, sockets and clocks. Each takes a row of neighbouring
# tests, which share what they set up, and helps the others when it is done.
WORKERS = $(shell $(PYTHON) -c 'import os; print(len(os.sched_getaffinity(0)) + 1)')

test: $(VENV)/dev
	@PYTHONPATH=tests $(BIN)/python -m support.compile_kernels & \
	$(MAKE) --no-print-directory check && wait && $(BIN)/pytest -n $(WORKERS) --dist worksteal

$(VENV)/slow: $(VENV)/dev
	@$(INSTALL) --editable '.[dev,ray,torch]'
	@touch $@

test-slow: $(VENV)/slow
	$(BIN)/pytest -n auto -m slow

bench: $(VENV)/dev
	$(BIN)/python benchmarks/startup.py --json
	$(BIN)/python benchmarks/theory.py --json
	$(BIN)/python benchmarks/simulation.py --json
	$(BIN)/python benchmarks/learning.py --json
	$(BIN)/python benchmarks/trust.py --json
	$(BIN)/python benchmarks/player.py --json
	$(BIN)/python benchmarks/network.py --json
	$(BIN)/python benchmarks/network_hostile.py --json
	$(BIN)/python benchmarks/network_largest.py --json
	$(BIN)/python benchmarks/page.py --json

clean:
	rm -rf $(VENV) build
