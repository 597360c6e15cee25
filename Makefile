# Each target creates .venv and installs what it needs; needs only Python 3.11 or later and make.
PYTHON ?= python3
ARGS ?=
EXAMPLE ?=
BIN := .venv/bin

.NOTPARALLEL:
.PHONY: demo test check bench docs format clean

demo: .venv/.installed-cli  ## train a classifier of handwritten digits; EXAMPLE=convnet: an example
	$(if $(EXAMPLE),$(BIN)/python examples/$(EXAMPLE).py,$(BIN)/wengert train digits) $(ARGS)

test: .venv/.installed-test  ## run the tests; ARGS="-k tanh" passes options to pytest
	$(BIN)/python -m pytest $(ARGS)

check: .venv/.installed-check  ## formatting, lint and types, changing nothing
	$(BIN)/python -m ruff format --check .
	$(BIN)/python -m ruff check .
	$(BIN)/python -m mypy

bench: .venv/.installed-bench  ## measure against NumPy, PyTorch and JAX; ARGS="gemm --quick": a part, roughly
	$(BIN)/python -m benchmarks $(ARGS)

docs: .venv/.installed-docs  ## build the site into site/; a warning or a broken link is an error
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict
	@echo "site/index.html; with the search: $(BIN)/python -m http.server --directory site"

format: .venv/.installed-check  ## format and repair what can be repaired
	$(BIN)/python -m ruff check --fix-only .
	$(BIN)/python -m ruff format .

clean:  ## remove caches and build output; delete .venv to start over
	rm -rf build dist site .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find . -name .venv -prune -o -name __pycache__ -type d -prune -exec rm -rf {} +

# One stamp per extra, so that a second run installs nothing.
.venv/.installed-%: pyproject.toml | .venv/bin/python
	@echo "installing wengert[$*] into .venv"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[$*]"
	@touch $@

.venv/bin/python:
	$(PYTHON) -m venv .venv
