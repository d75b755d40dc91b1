# Everything here works on a machine that has only python3 (3.11 or newer) and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
DEMO := build/demo

.PHONY: help demo test test-slow check bench clean
.DEFAULT_GOAL := help

help:
	@echo "make demo       set up, then show what folkmoot does (pictures in $(DEMO))"
	@echo "make test       set up, then run the checks and all tests (a few minutes)"
	@echo "make check      ruff, mypy --strict and the import layers"
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
	@mkdir -p $(DEMO)
	@echo; echo "101 participants of different skill talk until they agree. How many liars can they bear?"; echo
	@$(BIN)/python examples/plot_liars.py $(DEMO)/liars.png
	@echo; echo "Exactly, and for any number of participants: 101 of them, each right 60% of the time, 5 liars."; echo
	@$(BIN)/folkmoot theory accuracy --n 101 --byzantine 5 --p 0.6 --rounds 50 --per-node --plot $(DEMO)/accuracy.png
	@echo; echo "From b of 61 right at the start, how sure is the network to agree on the right answer?"; echo
	@$(BIN)/folkmoot theory absorption --n 61 --k 10 --alpha 7 --plot $(DEMO)/absorption.png
	@echo; echo "Up to which accuracy does talking beat a vote that needs 55 of 101? (the paper could not say)"; echo
	@$(BIN)/folkmoot theory threshold --n 101 --k 20 --alpha 14 --delta 4 --plot $(DEMO)/threshold.png
	@echo; echo "The pictures are in $(DEMO)."

check: $(VENV)/dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

test: check
	$(BIN)/pytest -n auto

test-slow: $(VENV)/dev
	$(BIN)/pytest -n auto -m slow

bench: $(VENV)/dev
	$(BIN)/python benchmarks/theory.py --json
	$(BIN)/python benchmarks/simulation.py --json

clean:
	rm -rf $(VENV) build
