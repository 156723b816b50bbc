# Everything runs in .venv, which is made on first use and kept while pyproject.toml is unchanged.
# Another interpreter: make PYTHON=python3.12 demo   (remove .venv first when there is one already)

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
# Files are compiled when they are first imported, not all of them when they are installed.
PIP    := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile
PYTEST := $(BIN)/python -m pytest
# Compiled modules are kept: tests start many Pythons.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help demo test test-all test-oldest test-python release lint format figures notebooks bench docs clean

help:  ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-11s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

demo: $(VENV)/installed  ## derive, prove, move and scale the planar arm; writes the report build/demo/planar.html
	$(BIN)/python examples/demo.py

# While mypy takes one core, a look at the tests compiles on another what every process is going to import.
# A file of tests stays in one process, which makes what its tests share once.
test: $(VENV)/installed-dev  ## lint, then every test but the slow ones
	@$(PYTEST) --collect-only --quiet >/dev/null 2>&1 & \
	  $(MAKE) --no-print-directory lint; status=$$?; wait; exit $$status
	$(PYTEST) -n auto --dist loadfile --no-loadscope-reorder -m "not slow"

test-all: lint $(VENV)/installed-docs  ## lint, then every test
	$(PYTEST) -n auto

test-oldest: $(VENV)/installed  ## a tenth of the tests with the oldest version of every dependency
	$(BIN)/python .ci/elsewhere.py oldest -n auto

test-python: $(VENV)/installed  ## the same with another Python: make test-python OTHER=python3.13
	$(BIN)/python .ci/elsewhere.py python $(OTHER) -n auto

release: $(VENV)/installed  ## wheel and sdist, built twice to one hash; then used in an empty environment
	$(BIN)/python .ci/elsewhere.py wheel

lint: $(VENV)/installed-dev  ## ruff (rules and format) and mypy, changing nothing
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

format: $(VENV)/installed-dev  ## let ruff fix and format the code
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

figures: $(VENV)/installed  ## draw the figures of docs/ again, and write its table of functions
	$(BIN)/python docs/draw.py
	$(BIN)/python docs/functions.py

notebooks: $(VENV)/installed-notebooks  ## run the notebooks of examples/ again and store their outputs
	$(BIN)/python docs/notebooks.py

bench: $(VENV)/installed-bench  ## run the benchmarks against other libraries
	$(BIN)/python benchmarks/run.py

docs: $(VENV)/installed-docs  ## build the documentation site; open build/site/index.html
	$(BIN)/python docs/make_site.py

clean:  ## remove what was built and cached; .venv stays
	rm -rf build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find . -name .venv -prune -o -name .git -prune -o -name __pycache__ -type d -exec rm -rf {} +

# Stamps. The first is written only once the environment is complete, so an interrupted run starts over.
$(VENV)/created:
	@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
	  version=$$("$(PYTHON)" --version 2>/dev/null) || version="not there"; \
	  echo "armdyn needs Python 3.11 or newer, but $(PYTHON) is $$version. Try: make PYTHON=python3.12" >&2; exit 1; }
	@echo "Creating $(VENV) with $$("$(PYTHON)" --version 2>&1)"
	@"$(PYTHON)" -m venv --clear $(VENV)
	@$(PIP) --upgrade pip || echo "pip stays as it is; a newer one would install in half the time" >&2
	@touch $@

$(VENV)/installed: pyproject.toml | $(VENV)/created
	@echo "Installing armdyn into $(VENV)"
	@$(PIP) --editable .
	@touch $@

$(VENV)/installed-notebooks: pyproject.toml | $(VENV)/created
	@echo "Installing armdyn with what runs notebooks into $(VENV)"
	@$(PIP) --editable ".[notebooks]"
	@touch $@

$(VENV)/installed-bench: $(VENV)/installed-dev
	@echo "Installing the libraries armdyn is measured against into $(VENV)"
	@$(PIP) --editable ".[bench]" || echo "Not all could be installed; the benchmarks say which are missing"
	@touch $@

$(VENV)/installed-docs: pyproject.toml | $(VENV)/created
	@echo "Installing what builds the documentation into $(VENV)"
	@$(PIP) --editable ".[docs]"
	@touch $@ $(VENV)/installed

$(VENV)/installed-dev: pyproject.toml | $(VENV)/created
	@echo "Installing armdyn with its development tools into $(VENV)"
	@$(PIP) --editable ".[dev,parquet,peers,jax,casadi,dask,view]"
	@touch $@ $(VENV)/installed
