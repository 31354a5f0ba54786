# The doors of the house. Every target makes its own virtual environment first,
# from nothing but a Python 3.11 or newer; a second call finds it and goes on at once.

PYTHON ?= $(shell for p in python3.13 python3.12 python3.11 python3 python; do \
	command -v $$p >/dev/null 2>&1 && $$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1 && { command -v $$p; break; }; done)
VENV    := .venv
BIN     := $(VENV)/bin
READY   := $(VENV)/.ready
PYTEST  ?= $(BIN)/python -m pytest -n 2 --dist loadgroup

.DEFAULT_GOAL := help
.PHONY: help demo demo-plan test check lint types contracts format bench data manifests control-plane soak clean

help:  ## show the targets
	@grep -hE '^[a-z%-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z%-]+):.*## (.*)/  make \1|\2/' | column -t -s '|'

$(READY): pyproject.toml constraints.txt
	@test -n "$(PYTHON)" || { echo "dovetail needs Python 3.11 or newer; none was found on PATH (set PYTHON=/path/to/python)" >&2; exit 1; }
	@echo "making $(VENV) with $(PYTHON)"
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt 'pip>=25.1'
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt --editable . --group dev
	@touch $@

demo: $(READY)  ## the main job, shown: no cluster, cloud account or Go needed
	@$(BIN)/python -m scenarios.demo

demo-plan: $(READY)  ## a walk through the catalogue and a plan
	@$(BIN)/python -m scenarios.walk

test: $(READY) lint types contracts  ## everything that must hold: lint, types, contracts, tests
	@$(BIN)/python -m tools.control_plane build --if-possible
	$(PYTEST)

check: test  ## the one door: what CI runs

lint: $(READY)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

types: $(READY)
	$(BIN)/mypy

contracts: $(READY)
	$(BIN)/lint-imports --no-cache

format: $(READY)  ## put the code in shape
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(READY)  ## all benchmarks, then docs/reference/performance.md
	$(BIN)/python -m bench

bench-%: $(READY)  ## one benchmark by name, e.g. bench-catalog
	$(BIN)/python -m bench $*

data: $(READY)  ## make the bundled data anew from package-registry artefacts (needs Go)
	$(BIN)/python -m tools.data

manifests: $(READY)  ## make deploy/ and the reference of custom resources anew from the code
	$(BIN)/python -m tools.deploy
	$(BIN)/python -m tools.controller_reference
	$(BIN)/python -m tools.aws_reference
	$(BIN)/python -m tools.requirements

soak: $(READY)  ## ten minutes of random load and faults; fails if anything is left or memory grows
	$(BIN)/python -m tools.soak --minutes 10

control-plane: $(READY)  ## compile a real Kubernetes control plane for the tests (needs Go; minutes once, then cached)
	$(BIN)/python -m tools.control_plane build

clean:  ## remove what the targets made
	rm -rf $(VENV) build dist
