# The verbs; what they do lies in CMakePresets.json and scripts/.
PREFIX ?= /usr/local
DESTDIR ?=
export FULL

SOURCES = find src tests bench fuzz -name '*.[ch]'

.PHONY: build setup demo check check-gpu conformance jax-versions new-user bench format tidy install wheel clean

# On a terminal ninja shows one line that it updates; elsewhere it shows nothing but errors.
build: setup
	@echo "build: building build/release"
	@cmake --preset release --log-level=WARNING >/dev/null
	@cmake --build --preset release -- $$(test -t 2 || echo --quiet)

setup:
	@scripts/setup

demo: build
	@examples/demo

check: setup
	scripts/check

# On an NVIDIA GPU; where there is none each case is shown as skipped. REKINDLE_GPU_PYTHON=… names a Python with JAX for
# CUDA; else one is made.
check-gpu: build
	scripts/check-gpu

# Third-party programs and tests; hours. MODULES="lax …" chooses.
conformance: build
	FAULT_EVERY_CALL=1 ctest --test-dir build/release --tests-regex '^fault_bundle$$' --verbose
	scripts/python-env --create jax-models jax-newest-models conformance torch-tests torch-newest
	REKINDLE_ALL_LOOPS=1 tests/e2e/run jax-models test_loops.py
	REST=1 scripts/check
	tests/conformance/run --docs $(MODULES)

# Many versions of JAX on three CPU plugins, downloaded one after another; half an hour. VERSIONS="0.4.30 …" chooses.
jax-versions: build
	scripts/python-env --create plugins
	tests/conformance/jax_versions $(VERSIONS)

# A new user's first commands, in venv, virtualenv and uv, with the wheel and with `make install`; a quarter of an hour.
new-user: build
	tests/conformance/new_user $(KINDS)

bench: build
	bench/run

format:
	$(SOURCES) | xargs clang-format -i

tidy: setup
	cmake --preset tidy --log-level=WARNING >/dev/null
	cmake --build --preset tidy

# Installs what `make` has built.
install:
	DESTDIR="$(DESTDIR)" cmake --install build/release --prefix "$(PREFIX)" --strip

# Wheels for pip in dist/, for x86-64 and aarch64.
wheel: setup
	scripts/wheel

clean:
	rm -rf build
