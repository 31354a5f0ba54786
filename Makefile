# The doors of the house. Every target makes its own virtual environment first,
# from nothing but a Python 3.11 or newer; a second call finds it and goes on at once.

PYTHON ?= $(shell for p in python3.13 python3.12 python3.11 python3 python; do \
	command -v $$p >/dev/null 2>&1 && $$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1 && { command -v $$p; break; }; done)
VENV    := .venv
BIN     := $(VENV)/bin
READY   := $(VENV)/.ready
# Three workers have a control plane each, and two of those wait much; the rest is work for two cores all the time.
PYTEST  ?= $(BIN)/python -m pytest -n 4 --dist loadgroup
# Where there is a C compiler, the planner is measured as DOVETAIL_COMPILE=1 ships it.
WITH_COMPILED = PYTHONPATH="$$($(BIN)/python -m tools.compiled --if-possible)"
SEED    := $(or $(SEED),$(shell date +%s))

# Tests start Python hundreds of times: what is compiled once must be found the next time.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help demo demo-plan check test test-fast test-random test-compiled dist audit lint types contracts docs format bench data manifests control-plane soak coverage mutants clean

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
	@$(BIN)/python -m dovetail.main demo

demo-plan: $(READY)  ## a walk through the catalogue and a plan
	@$(BIN)/python -m scenarios.walk

check: lint types contracts docs  ## format, lint, types, arrows between rooms, the docs: within two minutes

test: check  ## everything that must hold, on the real control plane too: what CI runs
	@$(BIN)/python -m tools.control_plane build --if-possible
	$(PYTEST)

test-fast: $(READY)  ## what answers within a minute, without a control plane; says what it leaves out
	$(PYTEST) -n 2 --fast

test-random: $(READY)  ## the whole suite in a random order; SEED=… brings an order back
	@echo "this order again: make test-random SEED=$(SEED)"
	@$(BIN)/python -m tools.control_plane build --if-possible
	$(PYTEST) --shuffle $(SEED) --hypothesis-seed $(SEED)

test-compiled: $(READY)  ## the planner compiled as DOVETAIL_COMPILE=1 ships it, and the tests of the core on it
	$(WITH_COMPILED) $(PYTEST) -n 2 tests/core

dist: $(READY)  ## wheel and sdist in dist/, a bill of materials beside the wheel, licences audited
	@rm -rf dist
	@$(BIN)/python -m tools.sbom licences >/dev/null
	$(BIN)/python -m hatchling build -d dist
	@$(BIN)/python -m tools.sbom write dist

audit: $(READY)  ## every package's licence, then the known problems of every version (asks PyPI)
	$(BIN)/python -m tools.sbom licences
	@test -x build/audit/bin/pip-audit || { $(BIN)/python -m venv build/audit && \
		build/audit/bin/python -m pip install --quiet --disable-pip-version-check pip-audit==2.10.1; }
	build/audit/bin/pip-audit --strict --progress-spinner off --no-deps --disable-pip -r constraints.txt

lint: $(READY)
	$(BIN)/ruff format --no-cache --check .
	$(BIN)/ruff check --no-cache .

types: $(READY)
	$(BIN)/mypy

contracts: $(READY)
	$(BIN)/lint-imports --no-cache

docs: $(READY)  ## the book: docs/ built strictly into build/site, every link of it checked
	$(BIN)/python -m mkdocs build --strict

format: $(READY)  ## put the code in shape
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(READY)  ## all benchmarks, then docs/reference/performance.md
	$(WITH_COMPILED) $(BIN)/python -m bench

bench-%: $(READY)  ## one benchmark by name, e.g. bench-catalog
	$(WITH_COMPILED) $(BIN)/python -m bench $*

data: $(READY)  ## make the bundled data anew from package-registry artefacts (needs Go)
	$(BIN)/python -m tools.data

manifests: $(READY)  ## make deploy/ and what is made of docs/reference anew from the code
	$(BIN)/python -m tools.deploy
	$(BIN)/python -m tools.reference
	$(BIN)/python -m tools.requirements

soak: $(READY)  ## ten minutes of random load and faults; fails if anything is left or memory grows
	$(BIN)/python -m tools.soak --minutes 10

control-plane: $(READY)  ## compile a real Kubernetes control plane for the tests (needs Go; minutes once, then cached)
	$(BIN)/python -m tools.control_plane build

coverage: $(READY)  ## which branches of the core its own tests take: 95 % at least, a report in build/coverage
	$(BIN)/python -m tools.covered

mutants: $(READY)  ## mistakes made on purpose in scheduling and disruption, and which of them no test notices
	$(BIN)/python -m tools.mutants

clean:  ## remove what the targets made
	rm -rf $(VENV) build dist
