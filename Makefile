# make demo    both example programs
# make test    the tests; needs no GPU and no PyTorch
# make oracle  the tests against PyTorch
# make nvrtc   compiles the CUDA kernels, and checks cuDNN's graphs; needs no GPU
# make bench   times PyTorch and NumPy beside pyx_tensor
# make docs    the pages of docs/ as HTML
# make clean   forgets the environment and everything built
#
# Each sets up what it lacks: an environment in .venv, and an editable build in it, which is renewed when
# a source of an extension module or the metadata changed, and then compiles only the modules concerned.

.DEFAULT_GOAL := test
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip -qq --disable-pip-version-check

# The first Python of 3.10 or later that can make environments and has the headers to compile against.
USABLE := import ensurepip, os, sys, sysconfig; \
	sys.exit(sys.version_info < (3, 10) or not os.path.exists(os.path.join(sysconfig.get_path("include"), "Python.h")))
PYTHON ?= $(shell for python in python3 python3.13 python3.12 python3.11 python3.10 python3.14; do \
	$$python -c '$(USABLE)' 2>/dev/null && echo $$python && break; done)

COMPILED := $(shell find pyx_tensor backends -name '*.pyx' -o -name '*.pxd' -o -name '*.pxi' -o -name '*.h')

.PHONY: demo test nvrtc oracle bench docs clean python

demo: $(VENV)/demo
	$(BIN)/python docs/examples/demo/polynomial.py
	$(BIN)/python docs/examples/demo/digits.py

test: $(VENV)/test
	$(BIN)/pytest -q tests --ignore=tests/oracle --ignore=tests/nvrtc

nvrtc: $(VENV)/nvrtc
	$(BIN)/pytest -q tests/nvrtc

oracle: $(VENV)/oracle
	$(BIN)/pytest -q tests/oracle

bench: $(VENV)/oracle
	$(BIN)/python asv_benchmarks/ratios.py

docs: $(VENV)/docs
	$(BIN)/sphinx-build -q -b html docs docs/_build

python:  # tells which Python is used
	@echo $(PYTHON)

clean:
	rm -rf $(VENV) build *.egg-info
	find pyx_tensor backends -name '*.so' -delete

$(VENV)/tools: pyproject.toml
	@test -n "$(PYTHON)" || { echo "no Python >= 3.10 with ensurepip and headers found; set PYTHON=..."; exit 1; }
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) install --upgrade 'pip>=25.1'
	$(PIP) install --group build
	touch $@

# An editable install with the extras of one target.
$(VENV)/test: EXTRAS := test
$(VENV)/demo: EXTRAS := demo
$(VENV)/nvrtc: EXTRAS := test,nvrtc
$(VENV)/oracle: EXTRAS := test,demo,oracle
$(VENV)/docs: EXTRAS := docs
$(VENV)/test $(VENV)/demo $(VENV)/nvrtc $(VENV)/oracle $(VENV)/docs: $(VENV)/tools setup.py $(COMPILED)
	$(PIP) install --no-build-isolation --editable '.[$(EXTRAS)]'
	touch $@
