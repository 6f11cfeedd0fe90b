# make demo   labels the bundled sample frames          make lint   ruff, mypy, the order of the rooms
# make test   lint, types and the tests                 make bench  the benchmarks, and a table of aims
# make docs   the documentation site, into build/site
# Each sets up .venv by itself, once; nothing is needed but Python 3.11 or newer and make.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP_INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check

# a worker for each core, but for the memory no more than four; the tests of a file share what they prepare, and the
# files come in the order of tests/conftest.py
IN_PARALLEL := --numprocesses auto --maxprocesses 4 --dist loadfile --no-loadscope-reorder

.PHONY: demo test test-slow lint docs bench coverage clean
.DELETE_ON_ERROR:

demo: $(VENV)/.has-core
	@$(BIN)/depthforest demo

test: lint
	$(BIN)/python -m pytest $(IN_PARALLEL)

# wheel in a clean environment, the oldest supported packages, kernels as plain Python
test-slow: $(VENV)/.has-dev
	$(BIN)/python -m pytest $(IN_PARALLEL) -m slow

lint: $(VENV)/.has-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python tools/code_figures.py --check

# the site, into build/site; a warning is an error
docs: $(VENV)/.has-docs
	$(BIN)/sphinx-build --quiet --nitpicky --fail-on-warning --keep-going -c docs . build/site
	@echo "open build/site/docs/index.html"

bench: $(VENV)/.has-dev
	@$(BIN)/python benchmarks/aims.py

coverage: $(VENV)/.has-dev
	NUMBA_DISABLE_JIT=1 $(BIN)/python -m coverage run -m pytest
	$(BIN)/python -m coverage report --skip-covered

clean:
	rm -rf $(VENV) .cache .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis demo build dist

$(VENV)/.has-python: 
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "depthforest needs Python 3.11 or newer; name one: make PYTHON=python3.12"; exit 2; }
	$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/.has-core: pyproject.toml | $(VENV)/.has-python
	@echo "installing depthforest into $(VENV), once ..."
	$(PIP_INSTALL) --editable .
	@touch $@

$(VENV)/.has-docs: pyproject.toml | $(VENV)/.has-python
	$(PIP_INSTALL) --editable ".[docs]"
	@touch $@

$(VENV)/.has-dev: pyproject.toml | $(VENV)/.has-python
	@echo "installing depthforest and its development tools into $(VENV), once ..."
	$(PIP_INSTALL) --editable ".[dev]"
	@touch $@ $(VENV)/.has-core
