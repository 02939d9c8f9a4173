# SPDX-License-Identifier: Apache-2.0
# Everything that there is to do; `make help` lists it.

SHELL := /bin/bash
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

PREFIX ?= /usr/local
SYSCONFDIR ?= /etc
UNITDIR ?= /lib/systemd/system
SYSUSERSDIR ?= /usr/lib/sysusers.d
DESTDIR ?=
# Where the libraries of accelerators go: tuner.preload_directory, and the plugin's preload_directory=.
PRELOADDIR ?= $(PREFIX)/lib
DOCDIR ?= $(PREFIX)/share/doc/reprise
export PREFIX SYSCONFDIR DESTDIR
# The systems of `make test-matrix`: where they are kept, and a mirror of Debian other than this machine's own.
MATRIX_CACHE ?= /var/cache/reprise-matrix
MATRIX_MIRROR ?=
export MATRIX_CACHE MATRIX_MIRROR

# The system's Python, not one of a user's own: service accounts must be able to run it.
BASE_PYTHON ?= /usr/bin/python3
VENV := .venv
PYTHON := $(VENV)/bin/python
PYTEST := $(PYTHON) -m pytest -q
# Kept, even where the environment says otherwise: three processes, and all that they start, compile their sources once.
unexport PYTHONDONTWRITEBYTECODE
LOCAL_TESTS := tests/unit tests/web tests/spank tests/sro tests/faults tests/fuzz
PYTHON_DIRS := reprise matcher database tuner templates web tests demo bench tools/look tools/package-links
C_DIRS := spank spank/fallbacks tuner/programs/collbench accelerators/hdf5 accelerators/sro demo bench/apps bench/fakeapp bench/mpiio \
  tuner/programs/replay tuner/programs/witness

.PHONY: help
help: ## list what there is to do
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-16s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: root
root:
	@[ "$$(id -u)" = 0 ] || { echo "make: virtual clusters need root; without it there is \`make check\`" >&2; exit 1; }

# -- to try it ---------------------------------------------------------------------------------------------------------

.PHONY: demo
demo: root deps-cluster $(VENV)/.ready build ## the main job, for real, on a virtual Slurm cluster (needs root; about 3 minutes)
	@$(PYTHON) -m demo

.PHONY: cluster
cluster: root deps-cluster $(VENV)/.ready build ## a shell on a virtual Slurm cluster with Reprise installed (needs root; NODES=8, LATENCY=500 microseconds)
	@$(PYTHON) -m tests.cluster $(if $(NODES),--nodes $(NODES)) $(if $(LATENCY),--latency $(LATENCY))

# -- to build and install ----------------------------------------------------------------------------------------------

.PHONY: all
all: deps-local $(VENV)/.ready build ## install what is missing and build everything

.PHONY: deps
deps: $(filter-out deps-bench-%,$(shell sed -n 's/^\[\(.*\)\]/deps-\1/p' etc/packages.debian)) ## install the Debian packages of all groups but those of single benchmarks

# deps-GROUP installs the missing packages of a group of etc/packages.debian, and fails where it cannot. Tests that need
# no root skip what needs a missing program, and packages are built on other systems too: OPTIONAL.
deps-%:
	@tools/deps $(if $(filter $*,$(OPTIONAL)),--optional) $*
OPTIONAL := check slow deb rpm

.PHONY: build
build: ## build the plugin, the accelerators and the MPI programs
	@for dir in $(C_DIRS); do $(MAKE) --no-print-directory --silent -C $$dir all || exit 1; done
	@test ! -x $(PYTHON) || $(PACKAGE_LINKS)

# An LLVM that is there will do, and one that was asked for (LLVM=14) is not replaced by another.
.PHONY: deps-llvm
deps-llvm:
	@test -n "$(LLVM)" || make --silent -C tuner/programs/skeleton llvm 2>/dev/null || tools/deps llvm

.PHONY: skeleton
skeleton: deps-skeleton deps-llvm ## build the compiler of skeletons with the newest LLVM of 14 to 19 here, or LLVM=14 (some minutes)
	@$(MAKE) --no-print-directory --silent -C tuner/programs/skeleton all

.PHONY: install-skeleton
install-skeleton: ## install the compiler of skeletons; `make install` leaves it out
	@$(MAKE) --no-print-directory --silent -C tuner/programs/skeleton install

.PHONY: venv
venv: $(VENV)/.ready ## make the private Python environment

# Nothing is installed from an index but files whose hashes are in the lock.
LOCKED := --quiet --disable-pip-version-check --require-hashes

$(VENV)/.locked: requirements.lock requirements-dev.lock
	@echo "venv: making $(VENV) from requirements.lock and requirements-dev.lock"
	@$(BASE_PYTHON) -m venv $(VENV)
	@$(VENV)/bin/pip install $(LOCKED) --requirement requirements.lock --requirement requirements-dev.lock
	@touch $@

# Also compiles what is written in Cython.
$(VENV)/.ready: $(VENV)/.locked pyproject.toml $(wildcard matcher/*/*.pyx)
	@$(VENV)/bin/pip install --disable-pip-version-check --no-deps --no-build-isolation --editable . \
	  > $(VENV)/install.log 2>&1 || { cat $(VENV)/install.log >&2; exit 1; }
	@tools/isolate $(VENV)/bin/reprise
	@touch $@

PACKAGE_LINKS := $(PYTHON) tools/package-links

.PHONY: install
install: install-plugin install-accelerators install-tools install-etc install-python install-manual \
  install-docs ## install everything here

.PHONY: install-plugin
install-plugin: ## install the plugin into Slurm's plugin directory (activates nothing)
	@$(MAKE) --no-print-directory --silent -C spank install

.PHONY: install-fallbacks
install-fallbacks: ## install what serves a site without the plugin: for TaskProlog and cli_filter (activates nothing)
	@$(MAKE) --no-print-directory --silent -C spank/fallbacks install PRELOADDIR=$(PRELOADDIR)

.PHONY: install-accelerators
install-accelerators: ## install the accelerators that jobs can be given (activates nothing)
	@$(MAKE) --no-print-directory --silent -C accelerators/sro install LIBDIR=$(PRELOADDIR)
	@$(MAKE) --no-print-directory --silent -C accelerators/hdf5 install LIBDIR=$(PRELOADDIR)
	@$(MAKE) --no-print-directory --silent -C accelerators/allocators install LIBDIR=$(PRELOADDIR)

.PHONY: install-tools
install-tools: ## install the benchmark and replay programs for campaigns, and what verifies hints of MPI-IO
	@$(MAKE) --no-print-directory --silent -C tuner/programs/collbench install
	@$(MAKE) --no-print-directory --silent -C tuner/programs/replay install
	@$(MAKE) --no-print-directory --silent -C tuner/programs/witness install

.PHONY: install-etc
install-etc: ## install configuration and components (never over yours), and systemd units
	@install -d $(DESTDIR)$(SYSCONFDIR)/reprise/components $(DESTDIR)$(UNITDIR) $(DESTDIR)$(SYSUSERSDIR) \
	  $(OURS)
	@$(FOR_ALL) && test -e $(DESTDIR)$(SYSCONFDIR)/reprise/reprise.toml || \
	  $(PLACED) etc/reprise.toml > $(DESTDIR)$(SYSCONFDIR)/reprise/reprise.toml
	@for new in etc/components/*.yaml; do \
	  theirs=$(DESTDIR)$(SYSCONFDIR)/reprise/components/$${new##*/}; \
	  if cmp -s $$new $$theirs; then rm -f $$theirs.new; \
	  elif test ! -e $$theirs || cmp -s $(OURS)/$${new##*/} $$theirs; then install -m 644 $$new $$theirs; \
	  else install -m 644 $$new $$theirs.new && \
	    echo "install: $$theirs was changed here and stays: look into $$theirs.new for what is new"; fi && \
	  install -m 644 $$new $(OURS)/ || exit 1; done
	@$(FOR_ALL) && for unit in etc/systemd/*; do $(PLACED) $$unit > $(DESTDIR)$(UNITDIR)/$${unit##*/} || exit 1; done
	@install -m 644 etc/sysusers.d/reprise.conf $(DESTDIR)$(SYSUSERSDIR)/
	@$(FOR_ALL) && $(PLACED) -e '/^optional /s|$$|$(if $(filter /usr/local/lib,$(PRELOADDIR)),, preload_directory=$(PRELOADDIR))$(WITNESS)|' \
	  etc/plugstack.conf.d/reprise.conf > $(DESTDIR)$(PREFIX)/share/reprise/plugstack.conf

# Where the plugin finds what profiles a job, unless it is where it looks by itself.
WITNESS = $(if $(filter /usr/local,$(PREFIX)),, witness=$(PREFIX)/libexec/reprise/reprise-witness.so)
# What was installed last: files below SYSCONFDIR that differ from it are the admin's.
OURS = $(DESTDIR)$(PREFIX)/share/reprise/components
# What is installed is read by every user and by the units, whatever the umask of the root that installs it.
FOR_ALL := umask 022
# Files that name places, with those of this installation.
PLACED = sed -e 's|/usr/local/lib\b\("\?\)$$|$(PRELOADDIR)\1|' -e 's|/usr/local/|$(PREFIX)/|g'

.PHONY: install-manual
install-manual: ## install manual pages and completions, made by the command that is installed
	@$(FOR_ALL) && made=$$(mktemp -d) && trap 'rm -rf "$$made"' EXIT && \
	cd / && $(DESTDIR)$(PREFIX)/lib/reprise/bin/python -I -m reprise.cli.manual "$$made" \
	  $(DESTDIR)$(PREFIX)/share/reprise/plugstack.conf && \
	for page in "$$made"/man/*; do \
	  install -D -m 644 -t $(DESTDIR)$(PREFIX)/share/man/man$${page##*.} "$$page" || exit 1; done && \
	install -D -m 644 "$$made/completions/reprise.bash" \
	  $(DESTDIR)$(PREFIX)/share/bash-completion/completions/reprise && \
	install -D -m 644 -t $(DESTDIR)$(PREFIX)/share/zsh/site-functions "$$made/completions/_reprise" && \
	install -D -m 644 -t $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d "$$made/completions/reprise.fish"

.PHONY: install-docs
install-docs: ## install the documentation and the licence
	@install -d -m 755 $(DESTDIR)$(DOCDIR) $(DESTDIR)$(DOCDIR)/docs $(DESTDIR)$(DOCDIR)/docs/pictures
	@install -m 644 README.md CHANGELOG.md CONTRIBUTING.md SECURITY.md LICENSE $(DESTDIR)$(DOCDIR)/
	@install -m 644 docs/*.md $(DESTDIR)$(DOCDIR)/docs/
	@install -m 644 docs/pictures/* $(DESTDIR)$(DOCDIR)/docs/pictures/

.PHONY: install-python
install-python: ## install the command `reprise` in an environment of its own below PREFIX
	@$(FOR_ALL) && $(BASE_PYTHON) -m venv $(DESTDIR)$(PREFIX)/lib/reprise
	@rm -rf build/lib* build/bdist* build/temp*
	@$(FOR_ALL) && pip="$(DESTDIR)$(PREFIX)/lib/reprise/bin/pip"; \
	  $$pip install $(LOCKED) --requirement requirements.lock && \
	  $$pip install --quiet --disable-pip-version-check --no-index --no-deps --no-build-isolation . && $$pip check --quiet
	@sed -i '1,2s|$(DESTDIR)$(PREFIX)/|$(PREFIX)/|' $(DESTDIR)$(PREFIX)/lib/reprise/bin/reprise
	@tools/isolate $(DESTDIR)$(PREFIX)/lib/reprise/bin/reprise
	@sed -i '/^command = /d' $(DESTDIR)$(PREFIX)/lib/reprise/pyvenv.cfg
	@install -d $(DESTDIR)$(PREFIX)/bin
	@ln -sf ../lib/reprise/bin/reprise $(DESTDIR)$(PREFIX)/bin/reprise

.PHONY: deb
deb: deps-deb ## build the Debian packages for the Debian and the Slurm of this host, in build/deb (2 minutes; needs debhelper)
	@command -v dh >/dev/null || { echo "deb: debhelper is missing: apt-get install debhelper" >&2; exit 1; }
	@packaging/deb build/deb

.PHONY: rpm
rpm: deps-rpm ## build the RPM packages likewise, in build/rpm (needs rpmbuild)
	@command -v rpmbuild >/dev/null || { echo "rpm: rpmbuild is missing: install it (Debian: apt-get install rpm)" >&2; exit 1; }
	@packaging/rpm build/rpm

.PHONY: uninstall
uninstall: ## remove what install put there (configuration and data stay)
	@$(MAKE) --no-print-directory -C spank uninstall
	@$(MAKE) --no-print-directory -C spank/fallbacks uninstall
	@$(MAKE) --no-print-directory -C tuner/programs/collbench uninstall
	@$(MAKE) --no-print-directory -C tuner/programs/replay uninstall
	@$(MAKE) --no-print-directory --silent -C tuner/programs/witness uninstall
	@$(MAKE) --no-print-directory --silent -C tuner/programs/skeleton uninstall
	@$(MAKE) --no-print-directory --silent -C accelerators/sro uninstall LIBDIR=$(PRELOADDIR)
	@$(MAKE) --no-print-directory --silent -C accelerators/hdf5 uninstall LIBDIR=$(PRELOADDIR)
	@$(MAKE) --no-print-directory --silent -C accelerators/allocators uninstall LIBDIR=$(PRELOADDIR)
	@rm -rf $(DESTDIR)$(PREFIX)/lib/reprise $(DESTDIR)$(PREFIX)/bin/reprise $(DESTDIR)$(PREFIX)/share/reprise $(DESTDIR)$(DOCDIR)
	@rm -f $(DESTDIR)$(PREFIX)/share/man/man[158]/reprise* $(DESTDIR)$(PREFIX)/share/man/man8/spank_reprise.8 \
	  $(DESTDIR)$(PREFIX)/share/bash-completion/completions/reprise $(DESTDIR)$(PREFIX)/share/zsh/site-functions/_reprise \
	  $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/reprise.fish
	@rm -f $(DESTDIR)$(UNITDIR)/reprise-matcher.service $(DESTDIR)$(UNITDIR)/reprise-matcher.socket $(DESTDIR)$(UNITDIR)/reprise-web.service \
	  $(DESTDIR)$(UNITDIR)/reprise-web.socket $(DESTDIR)$(UNITDIR)/reprise-snapshot.service $(DESTDIR)$(UNITDIR)/reprise-snapshot.timer \
	  $(DESTDIR)$(SYSUSERSDIR)/reprise.conf

# -- to test -----------------------------------------------------------------------------------------------------------

.PHONY: test
test: root deps-test $(VENV)/.ready build lint check test-slow test-cluster ## all tests, the ones on virtual clusters too (needs root)

.PHONY: check
check: deps-check $(VENV)/.ready build ## the quick tests: no cluster, no root
	@$(PYTEST) -n $$(($$(nproc) + 2)) --dist worksteal --hypothesis-profile quick -m "not slow" \
	  $(LOCAL_TESTS)  # some of them mostly wait

.PHONY: test-slow
test-slow: deps-slow $(VENV)/.ready build ## the tests that the quick ones leave out, but for those on virtual clusters
	@$(PYTEST) -n auto --dist worksteal -m "slow or hypothesis" $(LOCAL_TESTS)

.PHONY: test-cluster
test-cluster: root deps-test-cluster $(VENV)/.ready build ## the tests on virtual clusters (needs root)
	@$(PYTEST) -n 2 --dist loadfile --no-loadscope-reorder -m cluster tests/cluster  # most of them mostly wait

.PHONY: test-skeleton
test-skeleton: $(VENV)/.ready build skeleton ## the compiler of skeletons on programs: the same messages, refusals, speed-up (10 minutes)
	@$(PYTEST) -n 1 tests/unit/tuner/skeleton tests/skeleton

.PHONY: properties
properties: deps-slow $(VENV)/.ready build ## the properties, with 15 times as many examples and others on each run (half an hour)
	@$(PYTEST) -n auto --dist worksteal --hypothesis-profile many --timeout 3600 -m hypothesis $(LOCAL_TESTS)

.PHONY: fuzz
fuzz: deps-fuzz $(VENV)/.ready ## fuzz what the plugin reads, for 10 minutes (or FUZZ_SECONDS)
	@$(PYTHON) -m tests.fuzz

.PHONY: fuzz-corpus
fuzz-corpus: deps-fuzz $(VENV)/.ready ## the same, then make tests/fuzz/corpus anew: little that reaches all that was reached
	@$(PYTHON) -m tests.fuzz --keep

.PHONY: sanitize-plugin
sanitize-plugin: deps-fuzz $(VENV)/.ready build ## the plugin's tests, with the sanitizers of two compilers and under valgrind
	@for cc in gcc clang; do SPANK_CC=$$cc $(PYTEST) -n auto tests/spank || exit 1; done

.PHONY: test-matrix
test-matrix: root deps-matrix $(VENV)/.ready build ## the plugin on three releases of Slurm, rules files on seven of Open MPI, the quick tests on Python 3.13 (needs root; 12 minutes)
	@$(PYTHON) -m tests.matrix
	@$(PYTHON) -m pytest -v -m matrix tests/matrix

.PHONY: test-packages
test-packages: root deps-matrix $(VENV)/.ready build ## build packages, install, upgrade and remove them on clean Debian 12 and 13, also booted (needs root; 12 minutes)
	@$(PYTHON) -m pytest -v -s -m packages tests/packages

.PHONY: coverage-plugin
coverage-plugin: deps-check $(VENV)/.ready ## count which branches of spank/ its tests take; fails below 95 %, or where one is not explained
	@$(PYTHON) -m tests.spank.coverage

.PHONY: bench-match
bench-match: deps-python $(VENV)/.ready ## measure decisions over the socket, up to a million records (about 15 minutes)
	@$(PYTHON) -m bench.match

.PHONY: bench-plugin
bench-plugin: root deps-cluster $(VENV)/.ready build ## measure what the plugin costs sbatch, and a storm, on a virtual cluster (needs root; 4 minutes)
	@$(PYTHON) -m bench.plugin

.PHONY: bench-apps
bench-apps: root deps-cluster $(VENV)/.ready build ## measure whether a rules file helps applications, on a virtual cluster (needs root; a quarter hour)
	@$(PYTHON) -m bench.apps

.PHONY: bench-real
bench-real: root deps-bench-real $(VENV)/.ready build ## measure real programs of Debian on a virtual cluster with latency in parts; ONLY=NAMES of programs, LOOK=0 without the exhaustive look (needs root; four hours, with it 15)
	@$(PYTHON) -m bench.real --tune 8 --overhead 4 --look $(or $(LOOK),6) $(if $(ONLY),--only $(ONLY))

.PHONY: bench-skeleton
bench-skeleton: $(VENV)/.ready build skeleton ## measure skeletons beside their programs, some from source packages of Debian; LLVM=14 names one
	@$(PYTHON) -m bench.skeleton $(if $(LLVM),--llvm $(LLVM))

.PHONY: bench-sro
bench-sro: deps-local $(VENV)/.ready build ## measure what the Small Read Optimizer gains and costs, and that programs see nothing of it (half an hour)
	@$(PYTHON) -m bench.sro

.PHONY: bench-collectives
bench-collectives: root deps-cluster $(VENV)/.ready build ## measure campaigns over collectives beside an exhaustive search (needs root; three hours)
	@$(PYTHON) -m bench.collectives

.PHONY: bench-scenario
bench-scenario: root deps-cluster $(VENV)/.ready build ## measure users' jobs that are matched with tuned ones, on a virtual cluster (needs root; 20 minutes)
	@$(PYTHON) -m bench.scenario

.PHONY: soak
soak: root deps-cluster $(VENV)/.ready build ## run users, campaigns and faults on a virtual cluster for an hour (needs root; MINUTES=60)
	@$(PYTHON) -m tests.soak --minutes $(or $(MINUTES),60)

.PHONY: bench-ops
bench-ops: deps-python $(VENV)/.ready ## measure the guard against harm, and the daemon over its life (about 20 minutes)
	@$(PYTHON) -m bench.ops

.PHONY: bench-trust
bench-trust: root deps-python $(VENV)/.ready build ## measure what one user can do to others, and what is stored of secrets; DIR=FOLDER of scripts adds false masks (needs root; 10 minutes)
	@$(PYTHON) -m bench.trust $(if $(DIR),--scripts $(DIR))

.PHONY: bench-recognition
bench-recognition: deps-local $(VENV)/.ready ## measure how jobs of real batch scripts are recognised; DIR=FOLDER of scripts as OWNER/PROJECT/PATH (5 minutes)
	@$(PYTHON) -m bench.recognition $(DIR)

.PHONY: bench-web
bench-web: root deps-matrix deps-browser $(VENV)/.ready build ## measure pages over a million rows, in Chromium, and what it takes to install (needs root; 10 minutes)
	@$(PYTHON) -m bench.web

.PHONY: bench-mpiio
bench-mpiio: root deps-cluster $(VENV)/.ready build ## measure MPI-IO tuned by running and by prediction, on a virtual cluster (needs root; an hour)
	@$(PYTHON) -m bench.mpiio

# The peers of `make bench-tuner`, in an environment of their own; the product needs none of them.
PEERS := build/bench-tuner

$(PEERS)/.ready: bench/tuner/peers.lock
	@echo "bench: making $(PEERS) from bench/tuner/peers.lock"
	@$(BASE_PYTHON) -m venv $(PEERS)
	@$(PEERS)/bin/pip install $(LOCKED) --requirement bench/tuner/peers.lock
	@touch $@

.PHONY: bench-warm
bench-warm: deps-python $(VENV)/.ready ## measure what a warm start saves, write docs/warm-start.md anew (5 minutes)
	@$(PYTHON) -m bench.warm

.PHONY: bench-tuner
bench-tuner: deps-python $(VENV)/.ready $(PEERS)/.ready ## measure the tuner beside its peers, write docs/tuner-evaluation.md anew
	@$(PACKAGE_LINKS)
	@$(PYTHON) -m bench.tuner

.PHONY: bench-tuner-peers
bench-tuner-peers: deps-python $(VENV)/.ready $(PEERS)/.ready ## play the peers' games anew and store them (hours)
	@$(PACKAGE_LINKS)
	@$(PYTHON) -m bench.tuner --fresh --store

.PHONY: lint
lint: deps-lint $(VENV)/.ready ## formatting, lint and types of Python and C
	@$(VENV)/bin/ruff format --check --quiet $(PYTHON_DIRS)
	@$(VENV)/bin/ruff check --quiet $(PYTHON_DIRS)
	@$(PACKAGE_LINKS)
	@$(VENV)/bin/mypy --no-error-summary
	@cd build/package && $(CURDIR)/$(VENV)/bin/lint-imports --no-logo $(CURDIR)/pyproject.toml > $(CURDIR)/build/imports.log || \
	  { cat $(CURDIR)/build/imports.log >&2; exit 1; }
	@clang-format --dry-run --Werror $$(git ls-files '*.c' '*.h' '*.cpp' '*.hpp')

.PHONY: look
look: $(VENV)/.ready ## print the rooms of the house and what each imports; fails on a circle, or an arrow that runs back up
	@$(PACKAGE_LINKS)
	@$(PYTHON) tools/look

.PHONY: format
format: deps-lint $(VENV)/.ready ## format Python and C
	@$(VENV)/bin/ruff format --quiet $(PYTHON_DIRS)
	@$(VENV)/bin/ruff check --fix --quiet $(PYTHON_DIRS)
	@clang-format -i $$(git ls-files '*.c' '*.h' '*.cpp' '*.hpp')

# -- to maintain -------------------------------------------------------------------------------------------------------

.PHONY: docs-evaluation
docs-evaluation: deps-python $(VENV)/.ready ## write the numbers of docs/evaluation.md anew (half a minute)
	@$(PYTHON) -m bench.evaluation_page

.PHONY: docs-pictures
docs-pictures: deps-local deps-browser $(VENV)/.ready ## make the pictures of docs/web.md anew; look at them (half a minute)
	@REPRISE_SCREENSHOTS=write $(PYTEST) tests/web/test_pictures.py

.PHONY: landscapes
landscapes: deps-python $(VENV)/.ready ## make the emulated landscapes below bench/landscapes anew (a minute)
	@$(PYTHON) -m bench.emulated

.PHONY: landscapes-measured
landscapes-measured: root deps-cluster $(VENV)/.ready build ## measure the others on a virtual cluster anew (needs root; a quarter hour)
	@$(PYTHON) -m bench.measured

.PHONY: landscapes-sro
landscapes-sro: deps-local $(VENV)/.ready build ## measure the Small Read Optimizer's on this machine's disk anew (a quarter hour)
	@$(PYTHON) -m bench.sro.disk_landscapes

.PHONY: docs-submissions
docs-submissions: root deps-test-cluster $(VENV)/.ready build ## measure every way to submit on a virtual cluster, write docs/submissions.md's table (needs root)
	@$(PYTHON) -m tests.cluster.ways_measured

.PHONY: lock
lock: ## write requirements.lock and requirements-dev.lock anew from the ranges in pyproject.toml
	@tools/lock $(BASE_PYTHON) product > requirements.lock.new
	@mv requirements.lock.new requirements.lock
	@tools/lock $(BASE_PYTHON) dev > requirements-dev.lock.new
	@mv requirements-dev.lock.new requirements-dev.lock

.PHONY: lock-peers
lock-peers: ## write bench/tuner/peers.lock anew
	@tools/lock $(BASE_PYTHON) tuner-peers > bench/tuner/peers.lock.new
	@mv bench/tuner/peers.lock.new bench/tuner/peers.lock

.PHONY: clean
clean: ## remove what was built (the environment stays)
	@for dir in $(C_DIRS) tests/fuzz tuner/programs/skeleton; do $(MAKE) --no-print-directory -C $$dir clean; done
	@rm -rf build *.egg-info .mypy_cache .pytest_cache .ruff_cache .hypothesis
