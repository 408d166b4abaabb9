# Two commands: `make demo` and `make test`. Each sets up what it needs.
SHELL := /bin/bash
VENV ?= .venv
PY := $(VENV)/bin/python
# The first of these that runs and is 3.11 or later; set PYTHON to choose another.
PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11; do \
  $$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { command -v $$p; break; }; done)

.PHONY: help demo demo-k8s test lint format types layers unit controlplane prometheus bench bench-operator bench-evidence clean setup setup-dev lock

help:            ## what can be done here
	@grep -hE '^[a-z0-9-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z0-9-]+):.*## ?/  make \1\t/' | expand -t 20

demo: setup      ## a good candidate is promoted, a bad one is aborted, live in the terminal
	@$(PY) -m sluicegate.console.main demo

demo-k8s: controlplane ## the same on a real Kubernetes control plane, started and stopped here
	@$(PY) -m examples.kubernetes.demo

test: lint types layers controlplane prometheus unit  ## everything that CI runs

lint: setup-dev  ## style
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .

format: setup-dev
	$(VENV)/bin/ruff format .
	$(VENV)/bin/ruff check --fix .

types: setup-dev ## mypy strict
	$(VENV)/bin/mypy

layers: setup-dev ## who may import whom
	$(VENV)/bin/lint-imports

unit: setup-dev  ## all tests, in parallel, with coverage
	$(VENV)/bin/python -m pytest -n auto --dist loadfile --durations=40 --cov --cov-report=term:skip-covered

controlplane: setup-dev ## the programs of a Kubernetes control plane for tests, built once into ~/.cache/sluicegate
	@$(PY) -m tests.controlplane build

prometheus: setup-dev ## a Prometheus for tests, built once into ~/.cache/sluicegate
	@$(PY) -m tests.prometheus

bench: setup-dev ## one machine-readable run of every benchmark
	$(PY) -m benchmarks.run

bench-operator: controlplane ## the operator with 1,000 and 5,000 workflows on a real control plane; more than an hour
	$(PY) -m benchmarks.operator

bench-evidence: setup-dev ## the gates beside Kayenta's judge, a threshold gate and a fixed-horizon test; some minutes
	$(PY) -m benchmarks.evidence

setup: $(VENV)/.base-done
setup-dev: $(VENV)/.dev-done

$(VENV)/.base-done: requirements/base.lock pyproject.toml
	@PYTHON=$(PYTHON) VENV=$(VENV) bash requirements/install.sh base

$(VENV)/.dev-done: requirements/dev.lock pyproject.toml
	@PYTHON=$(PYTHON) VENV=$(VENV) bash requirements/install.sh dev

lock:            ## rewrite the lock files
	requirements/compile.sh

clean:           ## remove what was built
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .coverage .coverage.* .import_linter_cache dist build
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
