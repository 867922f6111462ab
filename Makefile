# The two commands: `make demo` shows what gnomon does, `make test` checks that it does it.
# Both make a virtual environment in .venv when there is none and install what they need.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
NATIVE := CMakeLists.txt $(wildcard native/*.* native/*/*)
# Quick tests share the CPUs; the slow ones run beside the guests, which take one CPU.
PARALLEL := -n auto --maxprocesses 4
# Debian packages that the slow lanes of the tests use.
BENCH_PACKAGES := libpapi-dev likwid
PACKAGES := valgrind linux-perf libpfm4 libdw1 qemu-system-arm qemu-system-x86 g++-aarch64-linux-gnu chromium groff man-db zsh fish tcpdump redis-server redis-tools tshark

.PHONY: demo test test-fast lint docs bench fuzz-frames wheel packages clean

demo: $(VENV)/.demo
	@echo "== What this machine can measure"
	@$(BIN)/gnomon doctor
	@echo
	@echo "== A survey: everything that can be counted of a matrix summed across its rows"
	@mkdir -p build/demo
	@cc -O2 -o build/demo/strides examples/strides.c
	@$(BIN)/gnomon survey -r 3 --force -o build/demo/strides.gnomon \
	  --html build/demo/report.html -- build/demo/strides columns
	@echo
	@echo "Open build/demo/report.html in a browser: it needs nothing else."

test: packages $(VENV)/.test lint docs
	@echo "== Tests"
	@scripts/run-tests quick $(PARALLEL) -m "not guest and not slow"
	@echo "== Slow lanes"
	@scripts/run-tests guest -m guest > build/guest-lane.txt 2>&1 & guest=$$!; \
	  scripts/run-tests slow -m "slow and not guest"; slow=$$?; \
	  wait $$guest; guest=$$?; cat build/guest-lane.txt; exit $$((slow || guest))

test-fast: $(VENV)/.test
	@$(BIN)/python -m pytest $(PARALLEL) -m "not guest and not slow"

lint: $(VENV)/.test
	@echo "== Style, types, layers"
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports
	@scripts/house --check

docs: $(VENV)/.test
	@echo "== Documentation"
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict --site-dir build/site

bench: $(VENV)/.test
	@scripts/install-packages $(PACKAGES) $(BENCH_PACKAGES)
	@$(BIN)/python -m benchmarks

# Mutants of what the reader of stacks takes, under the sanitizers: MUTANTS=2000 for a quick look.
MUTANTS ?= 100000
FUZZED := image call_frames row expression module space walk remote symbols perf_map rust text
fuzz-frames: build/fuzz-frames
	@build/fuzz-frames $(MUTANTS) 1 /usr/bin/true /lib64/ld-linux-x86-64.so.2

build/fuzz-frames: native/frames/fuzz/fuzz.cc $(wildcard native/frames/*.*)
	@mkdir -p build
	@$(CXX) -std=c++20 -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all -Inative \
	  -o $@ $< $(FUZZED:%=native/frames/%.cc)

# Set GNOMON_TRIPLE and GNOMON_HEADERS for a wheel for another machine: cmake/cross.cmake.
wheel: $(VENV)/.test
	@PYTHON=$(BIN)/python scripts/make-wheel dist
	@ls dist

packages:
	@scripts/install-packages $(PACKAGES)

# Installing editable leaves Python sources in place; compiled kernels are built anew when
# they change.
$(VENV)/.demo: pyproject.toml $(NATIVE) | $(VENV)/bin/python
	@echo "== Installing gnomon into $(VENV)"
	@$(BIN)/pip install --quiet --disable-pip-version-check --editable '.[report]'
	@touch $@

$(VENV)/.test: pyproject.toml $(NATIVE) | $(VENV)/bin/python
	@echo "== Installing gnomon with its test tools into $(VENV)"
	@$(BIN)/pip install --quiet --disable-pip-version-check --editable '.[test,docs]'
	@touch $@ $(VENV)/.demo

$(VENV)/bin/python:
	@echo "== Making a virtual environment in $(VENV)"
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "gnomon needs Python 3.11 or later: set PYTHON=/path/to/python3.11"; exit 1; }
	@$(PYTHON) -m venv $(VENV)

clean:
	rm -rf $(VENV) build
