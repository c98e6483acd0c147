# Every command needs only Python 3.11 or newer, pip and make.
#
#   make demo        train a digit classifier, on one device and on eight
#   make test        run the whole test suite
#   make lint        run ruff and mypy
#   make smoke       run a part of the suite on every supported jaxlib
#   make stress      test threads, interrupts, forks, faults (STRESS="--minutes 10 disk")
#   make bench       measure, and compare with JAX 0.10.2 (BENCH="eager grad --quick")
#   make proofs      train a transformer in every way, in one process and in several
#   make platforms   compile every primitive for GPUs and TPUs that this machine lacks
#   make fuzz        compare random programs with JAX (FUZZ="--programs 10000 --seed 7")
#   make sharded     compare programs over several devices with JAX: docs/sharded.md
#   make residuals   compare the memory of backward passes with JAX (RESIDUALS="gelu")
#   make settings    compare every function under many options with JAX
#   make far         test arrays with more than 2**31 elements: needs 5 GiB
#   make slopes      compare derivatives with mpmath (SLOPES="tanh --worst")
#   make tails       compare tails of functions and distributions with mpmath
#   make ecosystem   run other libraries (ECOSYSTEM="flax --jax PYTHON --tests")
#   make compatibility  write docs/compatibility.md: which of JAX's names minijax has
#   make docs        build the site: build/site/index.html
#   make kernel      test a notebook kernel: display, completion, interrupts
#   make notebooks   execute the tutorials and the book, into build/notebooks/
#   make clean       remove the environments and everything that was built
#
# Use another interpreter with `make PYTHON=python3.12 test`.

CANDIDATES := python3 python3.13 python3.12 python3.11 python3.14 python
NEW_ENOUGH := import sys; sys.exit(sys.version_info < (3, 11))
ifndef PYTHON
PYTHON := $(firstword $(foreach p,$(CANDIDATES),\
            $(if $(shell $(p) -c '$(NEW_ENOUGH)' 2>/dev/null && echo yes),$(p))))
endif

# The number of test processes: one per core, at most four, since each needs much memory.
CORES := $(shell getconf _NPROCESSORS_ONLN 2>/dev/null || echo 1)
TEST_ARGS ?= -n $(CORES) --maxprocesses=4
BENCH ?=
STRESS ?=
PROOFS ?=
PLATFORMS ?=
SLOPES ?=
FUZZ ?= --programs 300 --calls 10000
TAILS ?=

PIP = -m pip --disable-pip-version-check install --quiet
PARTS = pyproject.toml

.DEFAULT_GOAL := help
.PHONY: help demo test smoke lint format bench proofs platforms fuzz sharded residuals settings far slopes tails ecosystem compatibility docs kernel notebooks clean python
.NOTPARALLEL:

help:
	@sed -n 's/^#   //p' Makefile

demo: .venv/.demo
	@.venv/bin/python -m demo

test: .venv/.test
	.venv/bin/python -m pytest $(TEST_ARGS)

smoke:
	.ci/smoke

lint: .venv/.test
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .
	.venv/bin/mypy

format: .venv/.test
	.venv/bin/ruff check --fix .
	.venv/bin/ruff format .

stress: .venv/.test
	.venv/bin/python -m stress $(STRESS)

bench: .venv-bench/.ready .venv-bench-jax/.ready
	.venv-bench/bin/python -m bench --jax .venv-bench-jax/bin/python $(BENCH)

proofs: .venv/.test
	.venv/bin/python -m proofs $(PROOFS)

platforms: .venv/.test .venv/.platforms
	.venv/bin/python -m tests.platforms $(PLATFORMS)

fuzz: .venv/.test .venv-bench-jax/.ready
	.venv/bin/python -m tests.fuzz --jax .venv-bench-jax/bin/python $(FUZZ)

settings: .venv/.test .venv-bench-jax/.ready
	.venv/bin/python -m tests.settings --jax .venv-bench-jax/bin/python $(SETTINGS)

far: .venv/.test
	MINIJAX_FAR=1 .venv/bin/python -m pytest -p no:xdist tests/surface/numpy/test_far.py

sharded: .venv/.test .venv-bench-jax/.ready
	@mkdir -p build
	.venv/bin/python -m tests.sharded --jax .venv-bench-jax/bin/python \
	    --known build/sharded.json --table docs/sharded.md $(SHARDED)

residuals: .venv/.test .venv-bench-jax/.ready
	@mkdir -p build
	.venv/bin/python -m tests.residuals --jax .venv-bench-jax/bin/python \
	    --known build/residuals.json $(RESIDUALS)

slopes: .venv/.test
	.venv/bin/python -m tests.slopes $(SLOPES)

tails: .venv/.test .venv/.tails
	.venv/bin/python -m tests.tails $(TAILS)

ecosystem: .venv/.test
	.venv/bin/python ecosystem/run.py $(ECOSYSTEM)

compatibility: .venv/.test
	@mkdir -p build
	.venv/bin/python -m minijax.tools.compatibility > build/compatibility.md
	mv build/compatibility.md docs/compatibility.md

kernel: .venv/.docs
	.venv/bin/python -m proofs.kernel

notebooks: .venv/.docs
	@mkdir -p build/notebooks/stack
	@for page in tutorials/[0-9]*.py tutorials/stack/[0-9]*.py; do \
	    echo $$page; out=build/notebooks/$${page#tutorials/}; \
	    .venv/bin/jupytext --quiet --to ipynb --execute --set-kernel python3 \
	        --run-path $$(dirname $$page) --output $${out%.py}.ipynb $$page || exit 1; \
	done
	@echo "The notebooks are in build/notebooks"

# Examples in docstrings run as tests. Building the site runs tutorials and chapters. A link
# without a target, or any other warning, is an error.
docs: .venv/.test .venv/.docs
	.venv/bin/python -m pytest -q tests/test_docstrings.py $(TEST_ARGS)
	rm -rf build/pages build/site
	.venv/bin/python -m website.pages build/pages
	.venv/bin/sphinx-build --fail-on-warning --keep-going -q -c website build/pages build/site
	@echo "The site is in build/site: open build/site/index.html"

clean:
	rm -rf .venv .venv-bench .venv-bench-jax .venv-jaxlib-* build dist *.egg-info
	rm -rf .pytest_cache .mypy_cache .ruff_cache .hypothesis

# --- environments -----------------------------------------------------------------------
# One environment for work, which each command extends by the packages that it needs. Two for
# the benchmark, equal except for the measured library. A stamp file marks an installed extra.

.venv/bin/python: | python
	@$(PYTHON) -m venv .venv

.venv/.%: $(PARTS) .venv/bin/python
	@echo "Installing minijax[$*] into .venv"
	@.venv/bin/python $(PIP) --editable '.[$*]'
	@touch $@

.venv-bench/.ready: $(PARTS) | python
	@echo "Installing minijax[bench] into .venv-bench"
	@$(PYTHON) -m venv .venv-bench
	@.venv-bench/bin/python $(PIP) --editable '.[bench]'
	@touch $@

.venv-bench-jax/.ready: $(PARTS) | python
	@echo "Installing JAX 0.10.2 into .venv-bench-jax"
	@$(PYTHON) -m venv .venv-bench-jax
	@.venv-bench-jax/bin/python $(PIP) 'jax==0.10.2' 'jaxlib==0.10.2'
	@touch $@

python:
	@test -n "$(PYTHON)" || { \
	    echo 'minijax needs Python 3.11 or newer, and the PATH has none.'; \
	    echo 'Give one: make PYTHON=/path/to/python3.12 demo'; exit 1; }
	@$(PYTHON) -c '$(NEW_ENOUGH)' || { \
	    echo "minijax needs Python 3.11 or newer; $(PYTHON) is `$(PYTHON) --version 2>&1`."; \
	    echo 'Give another: make PYTHON=/path/to/python3.12 demo'; exit 1; }
