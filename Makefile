# Makefile: the front door. Everything it does is written down in CMakeLists.txt, CMakePresets.json and tools/;
# a fresh Debian 12 with git and make is enough, tools/setup.sh brings the rest.
JOBS ?= 2
PREFIX ?= /usr/local
DESTDIR ?=
T ?= 60

.PHONY: all demo check bench fuzz install setup clean

all: build/release/Makefile
	cmake --build build/release -j$(JOBS)

demo: build/release/Makefile
	cmake --build build/release -j$(JOBS) --target carat
	build/release/carat run tiny "Turn on the kitchen lights" </dev/null

check: setup
	tools/setup_arm.sh
	tools/check.sh $(JOBS)

bench: build/release/Makefile
	cmake --build build/release -j$(JOBS) --target carat
	build/release/carat bench tiny

fuzz:
	tools/setup.sh fuzz
	tools/fuzz.sh $(T)

install: setup
	cmake --preset release -DCMAKE_INSTALL_PREFIX=$(PREFIX)
	cmake --build build/release -j$(JOBS) --target carat carat_static carat_shared
	DESTDIR=$(DESTDIR) cmake --install build/release

build/release/Makefile: | setup
	cmake --preset release

setup:
	@tools/setup.sh
