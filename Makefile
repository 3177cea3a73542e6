# Everything that is done in this repository, by name. `make` alone lists it.

SHELL := /bin/sh
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

# Programs that are started again and again, as the tests and the demo do, should not be compiled again each time.
unexport PYTHONDONTWRITEBYTECODE
# gRPC tells the terminal whenever a server that it talks to stops, which is what many tests do.
export GRPC_VERBOSITY ?= ERROR

# uv and pip bring certificates of their own; those of the system also know the proxy that a company may have.
SYSTEM_CERTIFICATES := $(firstword $(wildcard \
  /etc/ssl/certs/ca-certificates.crt /etc/pki/tls/certs/ca-bundle.crt /etc/ssl/ca-bundle.pem))
ifneq ($(SYSTEM_CERTIFICATES),)
export SSL_CERT_FILE ?= $(SYSTEM_CERTIFICATES)
export PIP_CERT ?= $(SYSTEM_CERTIFICATES)
endif

BIN := .venv/bin
SOURCES := packages tests scripts
PYTEST := $(BIN)/pytest -n auto --dist worksteal
# What to test: `make test TESTS=tests/core`. How: `make test OPTIONS=--lf`.
TESTS ?= tests
OPTIONS ?=
# What is run whole is measured too: a run of its own for that would take longer than counting does.
WHOLE := $(and $(filter tests tests/,$(TESTS)),$(if $(OPTIONS),,whole))
# What `make test-fast` leaves out: Helm, other processes, real time, and histories without end.
SLOW := $(addprefix tests/,chart demo images outside programs signals \
  config_manager/test_app.py config_manager/test_command.py config_manager/test_full_disk.py \
  core/config/test_laws.py core/health/test_health_stateful.py \
  device_plugin/test_hangs.py device_plugin/test_life.py device_plugin/test_list_size.py \
  device_plugin/test_nvml_histories.py device_plugin/test_nvml_matrix.py device_plugin/test_process.py \
  device_plugin/test_two_plugins.py \
  gpu_feature_discovery/test_golden_labels.py gpu_feature_discovery/test_moves.py \
  gpu_feature_discovery/test_program.py \
  mps_control_daemon/test_changes.py mps_control_daemon/test_ending.py mps_control_daemon/test_failures.py \
  mps_control_daemon/test_life.py mps_control_daemon/test_operation.py mps_control_daemon/test_program.py \
  mps_control_daemon/test_with_plugin.py)
# The tests for which Helm, schemas and hadolint are fetched.
NEED_TOOLS := tests tests/ tests/chart% tests/images%

##@ Use

.PHONY: help
help: ## List the targets
	@awk 'BEGIN { FS = ":.*## "; print "make TARGET" } \
	  /^##@ / { printf "\n%s\n", substr($$0, 5) } \
	  /^[a-z-]+:.*## / { printf "  %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: demo
demo: .venv/.synced ## Show the programs at work on a simulated node with 8 GPUs
	@$(BIN)/gpu-demo

.PHONY: sync
sync: .venv/.synced ## Set up .venv with every program; the other targets do this by themselves

# The stamp is older than what it was made from after every change to the locked set or to a package's metadata.
.venv/.synced: requirements.lock $(wildcard packages/*/pyproject.toml) scripts/sync scripts/uv
	@scripts/sync

.PHONY: tools
tools: .venv/.synced ## Fetch what checks chart and Dockerfile; the other targets do this by themselves
	@$(BIN)/python scripts/chart_tools.py

##@ Check

# Before the tests, which have a time limit each. Where the tools are not to be had, the tests that need them are
# skipped and say so; `make check` insists on them.
.tools/chart/.complete: scripts/chart_tools.py | .venv/.synced
	-@$(BIN)/python scripts/chart_tools.py

.PHONY: test
test: .venv/.synced $(if $(filter $(NEED_TOOLS),$(TESTS)),.tools/chart/.complete)
test: ## Run the tests on every core (TESTS=path, OPTIONS='--lf -x')
	$(PYTEST) $(if $(WHOLE),--cov --cov-report=) $(OPTIONS) $(TESTS)
	$(if $(WHOLE),PYTHONPATH=tests $(BIN)/python scripts/coverage_gate.py)

.PHONY: test-fast
test-fast: .venv/.synced ## Run the tests that take less than a minute in all
	$(PYTEST) $(SLOW:%=--ignore=%) $(OPTIONS) tests
	@echo "Left out, and run by make test:"; printf '  %s\n' $(SLOW)

.PHONY: check
check: check-style check-types check-layers check-generated ## All checks but the tests; `make -k check` goes on after a failure

.PHONY: check-style
check-style: .venv/.synced
	$(BIN)/ruff check $(SOURCES)
	$(BIN)/ruff format --check $(SOURCES)

.PHONY: check-types
check-types: .venv/.synced
	$(BIN)/mypy packages tests scripts

.PHONY: check-layers
check-layers: .venv/.synced
	$(BIN)/pytest -q tests/layers

.PHONY: check-generated
check-generated: .venv/.synced
	for script in protos config_docs chart_docs manifests; do $(BIN)/python scripts/$$script.py --check || exit; done

.PHONY: format
format: .venv/.synced ## Put the sources into the form that `make check` asks for
	$(BIN)/ruff check --fix $(SOURCES)
	$(BIN)/ruff format $(SOURCES)

.PHONY: fuzz
fuzz: .venv/.synced ## Search the property tests for much longer than `make test` does
	$(PYTEST) --hypothesis-profile=fuzz --timeout 0 -m hypothesis $(OPTIONS) $(TESTS)
	HEALTH_HISTORIES=10000 $(PYTEST) --timeout 0 $(OPTIONS) tests/core/resources/test_health_stateful.py
	CONFIG_MANAGER_SCHEDULES=200 $(PYTEST) $(OPTIONS) tests/config_manager/test_schedules.py
	KUBELET_RESTARTS=1000 $(PYTEST) --timeout 0 $(OPTIONS) tests/device_plugin/test_churn.py
	NVML_TRIALS=all NVML_HISTORIES=1000 $(PYTEST) --timeout 0 $(OPTIONS) $(wildcard tests/device_plugin/test_nvml_*.py)

.PHONY: mutants
mutants: .venv/.synced ## Show changes of the code that no test notices, in modules that differ from BASE=main (MODULES=, TESTS=)
	@PYTHONPATH=tests $(BIN)/python scripts/mutants.py --base $(or $(BASE),main) \
	  $(if $(filter-out tests,$(TESTS)),--tests $(TESTS) --) $(MODULES)

.PHONY: bench
bench: .venv/.synced ## Measure start, memory and latency against a simulated node
	$(BIN)/python scripts/bench.py
	$(BIN)/python tests/bench/preferred.py

##@ Make

.PHONY: protos
protos: .venv/.synced ## Generate the Python code of protos/
	$(BIN)/python scripts/protos.py

.PHONY: chart
chart: .venv/.synced ## Check the Helm chart and package it into dist/ (NFD=1: with Node Feature Discovery)
	$(BIN)/python scripts/package_chart.py $(if $(NFD),--nfd)

.PHONY: manifests
manifests: .venv/.synced ## Generate charts/static and the table of the chart's values
	$(BIN)/python scripts/chart_docs.py
	$(BIN)/python scripts/manifests.py

.PHONY: config-docs
config-docs: .venv/.synced ## Generate the pages of the config file, the flags and the XIDs, and the JSON Schema
	$(BIN)/python scripts/config_docs.py

.PHONY: images
images: ## Build the container images
	scripts/images

.PHONY: lock
lock: .venv/.synced ## Resolve the dependencies again (OPTIONS=--upgrade for the newest)
	@$(BIN)/python scripts/lock.py --uv scripts/uv $(OPTIONS)

.PHONY: clean
clean: ## Remove what was made here
	rm -rf .venv .tools .tools-cache dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .coverage htmlcov
