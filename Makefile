# Everything that this project can be asked to do. `make help` lists it.
SHELL := /bin/bash
.ONESHELL:
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

BIN := .venv/bin
PY := $(BIN)/python
CODE := jobset tests e2e benchmarks
READY := .venv/.ready
USABLE := .venv/.usable

.PHONY: help
help:  ## list the targets
	@grep -hE '^[a-z0-9-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 18

# The interpreter of the system where it is new enough: images are made of the same one.
$(READY): requirements/dev.txt pyproject.toml tools/prepare
	@tools/prepare .venv requirements/dev.txt
	touch $@ $(USABLE)

# Without what only developers need.
$(USABLE): requirements/run.txt pyproject.toml tools/prepare
	@tools/prepare .venv requirements/run.txt
	touch $@

.PHONY: venv
venv: $(READY)  ## Python packages from the lock file, and this checkout, in .venv

.PHONY: demo
demo: $(USABLE)  ## a data-prep -> train JobSet on the embedded control plane, in under a minute
	@$(BIN)/jobset run samples/pipeline.yaml

.PHONY: demo-cluster
demo-cluster: $(READY)  ## the same on a real Kubernetes cluster, with the controller in it
	@$(PY) -m e2e.demo

.PHONY: test
test: lint unit golden e2e  ## all that must pass

.PHONY: lint
lint: $(READY)  ## style, types, and which room may import which
	$(BIN)/ruff check $(CODE)
	$(BIN)/ruff format --check $(CODE)
	$(BIN)/mypy
	$(BIN)/lint-imports

.PHONY: unit
unit: $(READY)  ## tests that need no cluster
	$(PY) -m pytest -q tests

.PHONY: golden
golden: $(READY)  ## the recorded behaviour of the Go controller, on the embedded API server and on a real one
	$(PY) -m e2e.golden --embedded
	$(PY) -m e2e.golden

.PHONY: e2e
e2e: $(READY)  ## samples and stories in real pods on a real cluster; kubectl and writes on it and on the embedded one
	$(PY) -m pytest -q e2e/tests e2e/soak e2e/differential

.PHONY: soak
soak: $(READY)  ## the long checks in full: kills, faults, random scenarios, differential runs
	JOBSET_SOAK=1 $(PY) -m pytest -q --timeout 7200 tests e2e/tests e2e/soak e2e/differential e2e/cluster

.PHONY: bench
bench: $(READY)  ## speed, as ratios in one run where there are any: controller, agent, placement, embedded cluster
	$(PY) -m benchmarks.controller
	$(PY) -m benchmarks.restart
	$(PY) -m benchmarks.agent
	$(PY) -m benchmarks.inplace
	$(PY) -m benchmarks.webhook
	$(PY) -m benchmarks.placement
	$(PY) -m benchmarks.local

.PHONY: cluster-up
cluster-up: $(READY)  ## start a cluster and print its kubeconfig (NAME=..., CLUSTER=kind|existing)
	@$(PY) -m e2e.cluster up $(if $(NAME),--name $(NAME))

.PHONY: cluster-down
cluster-down: $(READY)  ## end it, also after a crash
	@$(PY) -m e2e.cluster down $(if $(NAME),--name $(NAME))

.PHONY: generate
generate: $(READY)  ## make the CRD anew from jobset/api
	$(PY) -m jobset.api.crd

.PHONY: agent
agent:  ## pack the agent that runs in pods into dist/jobset-agent.pyz
	@tools/agent

.PHONY: lock
lock: $(READY)  ## choose the versions of all Python packages anew
	UV=$(BIN)/uv tools/lock
