# The verbs; what they do lies in CMakePresets.json and scripts/.
PREFIX ?= /usr/local
DESTDIR ?=
export FULL

SOURCES = find src tests bench fuzz -name '*.[ch]'

.PHONY: build setup demo check bench format tidy install clean

build: setup
	cmake --preset release --log-level=WARNING >/dev/null
	cmake --build --preset release

setup:
	scripts/setup

demo: build
	examples/demo

check: setup
	scripts/check

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

clean:
	rm -rf build
