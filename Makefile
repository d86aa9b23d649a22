# Thin on purpose: every target is one command of the project's own Python. `make help` lists them.
SHELL := /bin/bash
.DEFAULT_GOAL := help
PYTHON ?= python3
PY := .venv/bin/python
NAME ?= control-plane

.PHONY: help demo demo-down control-plane cluster cluster-down images test test-full bench lint format generate locks

help: ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 18

.venv: .venv/.ready
.venv/.ready: locks/dev.txt pyproject.toml
	@bash tests/cluster/venv.sh $(PYTHON)

demo: .venv/.ready ## the main job on a local cluster: apply, watch, ask, rename, break, mend, delete
	@$(PY) -m tests.demo

demo-down: .venv/.ready ## remove what `make demo` left running
	@$(PY) -m tests.demo down

control-plane: .venv/.ready ## a control plane with two fake nodes (NAME=… for several)
	@$(PY) -m tests.cluster control-plane --name $(NAME)

cluster: .venv/.ready ## a control plane with a real node and the product's images
	@$(PY) -m tests.cluster cluster

cluster-down: .venv/.ready ## end and clean every local cluster and control plane
	@$(PY) -m tests.cluster down --all

images: cluster ## build the product's images and load them into the local cluster

lint: .venv/.ready ## style, strict types, import contracts, generated files
	@.venv/bin/ruff check .
	@.venv/bin/ruff format --check .
	@.venv/bin/mypy
	@.venv/bin/lint-imports
	@$(PY) -m arriero_api.generate --check

format: .venv/.ready ## put the code into the house style
	@.venv/bin/ruff check --fix .
	@.venv/bin/ruff format .

generate: .venv/.ready ## write the generated files anew: CRD, its chart copy, references
	@$(PY) -m arriero_api.generate

locks: .venv/.ready ## compile the lock files anew
	@bash locks/compile.sh

# Three at once, as most tests wait for something; those of the one real node stay on one worker.
PYTEST := .venv/bin/pytest --numprocesses=3

test: .venv/.ready ## the suite: pure, control plane, node, a few real engines
	@$(PYTEST)

test-full: .venv/.ready ## everything, also what is slow
	@$(PYTEST) --full

# NAMES="start control" for some of them, PAIRS=… for how many times.
bench: .venv/.ready ## all benchmarks, about an hour (NAMES=… for some of them; docs/benchmarks.md)
	@$(PY) -m tests.bench $(if $(PAIRS),--pairs=$(PAIRS)) $(NAMES)
