# SPDX-License-Identifier: Apache-2.0
# All tasks of this repository; `make help` lists them.

SHELL := /bin/bash
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

PREFIX ?= /usr/local
SYSCONFDIR ?= /etc
UNITDIR ?= /lib/systemd/system
SYSUSERSDIR ?= /usr/lib/sysusers.d
DESTDIR ?=
# Directory for the accelerators' libraries: tuner.preload_directory, and the plugin's preload_directory=.
PRELOADDIR ?= $(PREFIX)/lib
DOCDIR ?= $(PREFIX)/share/doc/reprise
DOC_KINDS := tutorial how-to reference explanation
export PREFIX SYSCONFDIR DESTDIR
# Root file systems of `make test-matrix`: their directory, and a Debian mirror other than this machine's.
MATRIX_CACHE ?= /var/cache/reprise-matrix
MATRIX_MIRROR ?=
export MATRIX_CACHE MATRIX_MIRROR

# The system's Python, not a user's: service accounts must be able to run it.
BASE_PYTHON ?= /usr/bin/python3
VENV := .venv
PYTHON := $(VENV)/bin/python
PYTEST := $(PYTHON) -m pytest -q
# Keep bytecode, whatever the environment sets, so that the processes of a test run compile each source file only once.
unexport PYTHONDONTWRITEBYTECODE
LOCAL_TESTS := tests/unit tests/web tests/spank tests/sro tests/forward tests/faults tests/fuzz
PYTHON_DIRS := reprise matcher database tuner templates web tests demo bench etc/open-ondemand tools/look tools/package-links tools/docs_site.py tools/slurm_options.py
C_DIRS := spank spank/fallbacks tuner/programs/collbench accelerators/hdf5 accelerators/sro accelerators/forward/client \
  accelerators/forward/forwarder demo bench/apps bench/fakeapp bench/mpiio tuner/programs/forge tuner/programs/replay tuner/programs/witness

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-16s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: root
root:
	@[ "$$(id -u)" = 0 ] || { echo "make: virtual clusters need root: run this as root, or run \`make check\`" >&2; exit 1; }

# -- to try it ---------------------------------------------------------------------------------------------------------

.PHONY: demo
demo: root deps-cluster $(VENV)/.ready build ## run the main use case on a virtual Slurm cluster (needs root; about 3 minutes)
	@$(PYTHON) -m demo

.PHONY: cluster
cluster: root deps-cluster $(VENV)/.ready build ## open a shell on a virtual Slurm cluster with Reprise installed (needs root; NODES=8, LATENCY=500 microseconds)
	@$(PYTHON) -m tests.cluster $(if $(NODES),--nodes $(NODES)) $(if $(LATENCY),--latency $(LATENCY))

# -- to build and install ----------------------------------------------------------------------------------------------

.PHONY: all
all: deps-local $(VENV)/.ready build ## install missing packages and build everything

.PHONY: deps
deps: $(filter-out deps-bench-%,$(shell sed -n 's/^\[\(.*\)\]/deps-\1/p' etc/packages.debian)) ## install the Debian packages of all groups except those of single benchmarks

# deps-GROUP installs the missing packages of a group in etc/packages.debian, and fails if it cannot. OPTIONAL ignores the
# failure, since tests without root skip cases that need a missing program, and packages are also built on other systems.
deps-%:
	@tools/deps $(if $(filter $*,$(OPTIONAL)),--optional) $*
OPTIONAL := check slow deb rpm

.PHONY: build
build: ## build the plugin, the accelerators and the MPI programs
	@for dir in $(C_DIRS); do $(MAKE) --no-print-directory --silent -C $$dir all || exit 1; done
	@test ! -x $(PYTHON) || $(PACKAGE_LINKS)

# Any installed LLVM is used; if a release is requested (LLVM=14), no other one is.
.PHONY: deps-llvm
deps-llvm:
	@test -n "$(LLVM)" || make --silent -C tuner/programs/skeleton llvm 2>/dev/null || tools/deps llvm

.PHONY: skeleton
skeleton: deps-skeleton deps-llvm ## build the compiler of skeletons with the newest installed LLVM of 14 to 19, or LLVM=14 (some minutes)
	@$(MAKE) --no-print-directory --silent -C tuner/programs/skeleton all

.PHONY: install-skeleton
install-skeleton: ## install the compiler of skeletons; `make install` leaves it out
	@$(MAKE) --no-print-directory --silent -C tuner/programs/skeleton install

.PHONY: venv
venv: $(VENV)/.ready ## make the private Python environment

# Only files with hashes in the lock are installed from an index.
LOCKED := --quiet --disable-pip-version-check --require-hashes

$(VENV)/.locked: requirements.lock requirements-dev.lock
	@echo "venv: making $(VENV) from requirements.lock and requirements-dev.lock"
	@$(BASE_PYTHON) -m venv $(VENV)
	@$(VENV)/bin/pip install $(LOCKED) --requirement requirements.lock --requirement requirements-dev.lock
	@touch $@

# Also compiles the Cython modules.
$(VENV)/.ready: $(VENV)/.locked pyproject.toml $(wildcard matcher/*/*.pyx)
	@$(VENV)/bin/pip install --disable-pip-version-check --no-deps --no-build-isolation --editable . \
	  > $(VENV)/install.log 2>&1 || { cat $(VENV)/install.log >&2; exit 1; }
	@tools/isolate $(VENV)/bin/reprise
	@touch $@

PACKAGE_LINKS := $(PYTHON) tools/package-links

.PHONY: install
install: install-plugin install-accelerators install-forwarder install-tools install-etc install-python install-manual \
  install-docs ## install everything here

.PHONY: install-plugin
install-plugin: ## install the plugin into Slurm's plugin directory (activates nothing)
	@$(MAKE) --no-print-directory --silent -C spank install

.PHONY: install-fallbacks
install-fallbacks: ## install the replacements of the plugin, for TaskProlog and cli_filter (activates nothing)
	@$(MAKE) --no-print-directory --silent -C spank/fallbacks install PRELOADDIR=$(PRELOADDIR)

.PHONY: install-accelerators
install-accelerators: ## install the accelerators (activates nothing)
	@$(MAKE) --no-print-directory --silent -C accelerators/sro install LIBDIR=$(PRELOADDIR)
	@$(MAKE) --no-print-directory --silent -C accelerators/hdf5 install LIBDIR=$(PRELOADDIR)
	@$(MAKE) --no-print-directory --silent -C accelerators/forward/client install LIBDIR=$(PRELOADDIR)
	@$(MAKE) --no-print-directory --silent -C accelerators/allocators install LIBDIR=$(PRELOADDIR)

.PHONY: install-forwarder
install-forwarder: ## install the forwarder of I/O nodes and its units, if libevent is there to build it (activates nothing)
	@$(MAKE) --no-print-directory --silent -C accelerators/forward/forwarder install

.PHONY: install-tools
install-tools: ## install the programs of campaigns: benchmarks, replay, I/O patterns, and the check of MPI-IO hints
	@$(MAKE) --no-print-directory --silent -C tuner/programs/collbench install
	@$(MAKE) --no-print-directory --silent -C tuner/programs/replay install
	@$(MAKE) --no-print-directory --silent -C tuner/programs/forge install
	@$(MAKE) --no-print-directory --silent -C tuner/programs/witness install

.PHONY: install-etc
install-etc: ## install configuration and components (keeping changed ones), and systemd units
	@install -d $(DESTDIR)$(SYSCONFDIR)/reprise/components $(DESTDIR)$(UNITDIR) $(DESTDIR)$(SYSUSERSDIR) \
	  $(OURS)
	@$(FOR_ALL) && test -e $(DESTDIR)$(SYSCONFDIR)/reprise/reprise.toml || \
	  $(PLACED) etc/reprise.toml > $(DESTDIR)$(SYSCONFDIR)/reprise/reprise.toml
	@for new in etc/components/*.yaml; do \
	  theirs=$(DESTDIR)$(SYSCONFDIR)/reprise/components/$${new##*/}; \
	  if cmp -s $$new $$theirs; then rm -f $$theirs.new; \
	  elif test ! -e $$theirs || cmp -s $(OURS)/$${new##*/} $$theirs; then install -m 644 $$new $$theirs; \
	  else install -m 644 $$new $$theirs.new && \
	    echo "install: $$theirs was changed and is kept: see $$theirs.new for the new version"; fi && \
	  install -m 644 $$new $(OURS)/ || exit 1; done
	@$(FOR_ALL) && for unit in etc/systemd/*; do $(PLACED) $$unit > $(DESTDIR)$(UNITDIR)/$${unit##*/} || exit 1; done
	@install -m 644 etc/sysusers.d/reprise.conf $(DESTDIR)$(SYSUSERSDIR)/
	@$(FOR_ALL) && $(PLACED) -e '/^optional /s|$$|$(if $(filter /usr/local/lib,$(PRELOADDIR)),, preload_directory=$(PRELOADDIR))$(WITNESS)|' \
	  etc/plugstack.conf.d/reprise.conf > $(DESTDIR)$(PREFIX)/share/reprise/plugstack.conf
	@$(FOR_ALL) && $(PLACED) accelerators/forward/slurm/burst_buffer.lua > $(DESTDIR)$(PREFIX)/share/reprise/burst_buffer.lua

# The plugin's witness= argument, unless the library is in the default place.
WITNESS = $(if $(filter /usr/local,$(PREFIX)),, witness=$(PREFIX)/libexec/reprise/reprise-witness.so)
# The files installed last: files below SYSCONFDIR that differ from them were changed by the admin.
OURS = $(DESTDIR)$(PREFIX)/share/reprise/components
# Installed files must be readable by every user and by the units, whatever root's umask.
FOR_ALL := umask 022
# Insert this installation's paths into files.
PLACED = sed -e 's|/usr/local/lib\b\("\?\)$$|$(PRELOADDIR)\1|' -e 's|/usr/local/|$(PREFIX)/|g'

.PHONY: install-manual
install-manual: ## install manual pages and completions, generated by the installed command
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
install-docs: ## install the documentation, examples and the licence
	@install -d -m 755 $(addprefix $(DESTDIR)$(DOCDIR),/ /docs /examples /examples/open-ondemand /examples/open-ondemand/bin $(addprefix /docs/,$(DOC_KINDS) pictures))
	@install -m 644 README.md CHANGELOG.md CONTRIBUTING.md SECURITY.md LICENSE $(DESTDIR)$(DOCDIR)/
	@install -m 644 docs/*.md $(DESTDIR)$(DOCDIR)/docs/
	@for kind in $(DOC_KINDS); do install -m 644 docs/$$kind/*.md $(DESTDIR)$(DOCDIR)/docs/$$kind/ || exit 1; done
	@install -m 644 docs/pictures/* $(DESTDIR)$(DOCDIR)/docs/pictures/
	@$(FOR_ALL) && cd etc && for one in monitoring/*.* mail/reprise-* open-ondemand/*.* open-ondemand/bin/python; do \
	  case $$one in open-ondemand/*) made=$$one ;; *) made=$${one##*/} ;; esac && made=$(DESTDIR)$(DOCDIR)/examples/$$made && \
	  sed -e 's|/usr/local/share/doc/reprise|$(DOCDIR)|g' -e 's|/usr/local/|$(PREFIX)/|g' $$one > $$made && \
	  { test ! -x $$one || chmod 755 $$made; } || exit 1; done

.PHONY: install-site
install-site: docs-site ## install the site of the documentation
	@install -d -m 755 $(DESTDIR)$(DOCDIR)
	@rm -rf $(DESTDIR)$(DOCDIR)/html && cp -r $(SITE) $(DESTDIR)$(DOCDIR)/html && chmod -R u=rwX,go=rX $(DESTDIR)$(DOCDIR)/html

.PHONY: install-python
install-python: ## install the command `reprise` with a separate Python environment below PREFIX
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
deb: deps-deb ## build Debian packages for this host's releases of Debian and Slurm, in build/deb (7 minutes on two cores; needs debhelper)
	@command -v dh >/dev/null || { echo "deb: debhelper is missing: apt-get install debhelper" >&2; exit 1; }
	@packaging/deb build/deb

.PHONY: rpm
rpm: deps-rpm ## build RPM packages for this host's releases of EL and Slurm, in build/rpm (needs rpmbuild)
	@command -v rpmbuild >/dev/null || { echo "rpm: rpmbuild is missing: install it (Debian: apt-get install rpm)" >&2; exit 1; }
	@packaging/rpm build/rpm

.PHONY: uninstall
uninstall: ## remove installed files (configuration and data stay)
	@$(MAKE) --no-print-directory -C spank uninstall
	@$(MAKE) --no-print-directory -C spank/fallbacks uninstall
	@$(MAKE) --no-print-directory -C tuner/programs/collbench uninstall
	@$(MAKE) --no-print-directory -C tuner/programs/replay uninstall
	@$(MAKE) --no-print-directory --silent -C tuner/programs/forge uninstall
	@$(MAKE) --no-print-directory --silent -C tuner/programs/witness uninstall
	@$(MAKE) --no-print-directory --silent -C tuner/programs/skeleton uninstall
	@$(MAKE) --no-print-directory --silent -C accelerators/forward/forwarder uninstall
	@$(MAKE) --no-print-directory --silent -C accelerators/sro uninstall LIBDIR=$(PRELOADDIR)
	@$(MAKE) --no-print-directory --silent -C accelerators/hdf5 uninstall LIBDIR=$(PRELOADDIR)
	@$(MAKE) --no-print-directory --silent -C accelerators/forward/client uninstall LIBDIR=$(PRELOADDIR)
	@$(MAKE) --no-print-directory --silent -C accelerators/allocators uninstall LIBDIR=$(PRELOADDIR)
	@rm -rf $(DESTDIR)$(PREFIX)/lib/reprise $(DESTDIR)$(PREFIX)/bin/reprise $(DESTDIR)$(PREFIX)/share/reprise $(DESTDIR)$(DOCDIR)
	@rm -f $(DESTDIR)$(PREFIX)/share/man/man[158]/reprise* $(DESTDIR)$(PREFIX)/share/man/man8/spank_reprise.8 \
	  $(DESTDIR)$(PREFIX)/share/bash-completion/completions/reprise $(DESTDIR)$(PREFIX)/share/zsh/site-functions/_reprise \
	  $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/reprise.fish
	@rm -f $(DESTDIR)$(UNITDIR)/reprise-matcher.service $(DESTDIR)$(UNITDIR)/reprise-matcher.socket $(DESTDIR)$(UNITDIR)/reprise-web.service \
	  $(DESTDIR)$(UNITDIR)/reprise-web.socket $(DESTDIR)$(UNITDIR)/reprise-snapshot.service $(DESTDIR)$(UNITDIR)/reprise-snapshot.timer \
	  $(DESTDIR)$(UNITDIR)/reprise-arbiter.service $(DESTDIR)$(UNITDIR)/reprise-council.service $(DESTDIR)$(UNITDIR)/reprise-config.service \
	  $(DESTDIR)$(SYSUSERSDIR)/reprise.conf

# -- to test -----------------------------------------------------------------------------------------------------------

.PHONY: test
test: root deps-test $(VENV)/.ready build lint check test-slow test-cluster test-containers ## run all tests, including those on virtual clusters (needs root)

.PHONY: check
check: deps-check $(VENV)/.ready build ## run the quick tests: no cluster, no root
	@$(PYTEST) -n $$(($$(nproc) + 2)) --dist worksteal --hypothesis-profile quick -m "not slow" \
	  $(LOCAL_TESTS)  # more processes than CPUs, because some tests mostly wait

.PHONY: test-slow
test-slow: deps-slow $(VENV)/.ready build ## run the longer tests that need no virtual cluster
	@$(PYTEST) -n auto --dist worksteal -m "slow or hypothesis" $(LOCAL_TESTS)

.PHONY: test-cluster
test-cluster: root deps-test-cluster $(VENV)/.ready build ## run the tests on virtual clusters (needs root)
	@$(PYTEST) -n 2 --dist loadfile --no-loadscope-reorder -m cluster tests/cluster  # two tests at once, because most of them wait

.PHONY: test-containers
test-containers: root deps-containers $(VENV)/.ready build ## compare what decisions assume about containers with podman and crun (needs root)
	@$(PYTEST) -rs tests/containers

.PHONY: test-skeleton
test-skeleton: $(VENV)/.ready build skeleton ## test the compiler of skeletons on programs: equal messages, refusals, speed-up (10 minutes)
	@$(PYTEST) -n 1 tests/unit/tuner/skeleton tests/skeleton

.PHONY: properties
properties: deps-slow $(VENV)/.ready build ## run the property tests with 15 times as many examples, different ones on each run (half an hour)
	@$(PYTEST) -n auto --dist worksteal --hypothesis-profile many --timeout 3600 -m hypothesis $(LOCAL_TESTS)

.PHONY: fuzz
fuzz: deps-fuzz $(VENV)/.ready ## fuzz the inputs of the plugin and the forwarder for 10 minutes (or FUZZ_SECONDS)
	@$(PYTHON) -m tests.fuzz

.PHONY: fuzz-corpus
fuzz-corpus: deps-fuzz $(VENV)/.ready ## fuzz these inputs, then reduce tests/fuzz/corpus to few files with the same coverage
	@$(PYTHON) -m tests.fuzz --keep

.PHONY: sanitize-plugin
sanitize-plugin: deps-fuzz $(VENV)/.ready build ## run the plugin's tests with the sanitizers of two compilers and under valgrind
	@for cc in gcc clang; do SPANK_CC=$$cc $(PYTEST) -n auto tests/spank || exit 1; done

.PHONY: test-matrix
test-matrix: root deps-matrix $(VENV)/.ready build ## test the plugin on four releases of Slurm, rules files on eight of Open MPI, the quick tests on Python 3.13 (needs root; 20 minutes)
	@$(PYTHON) -m tests.matrix
	@$(PYTHON) -m pytest -v -n 2 --dist loadfile --timeout 900 tests/matrix  # two files at once, because most tests wait

.PHONY: test-packages
test-packages: root deps-matrix deps-containers $(VENV)/.ready build ## build packages; install, upgrade and remove them on clean and booted Debian 12 and 13; run the Ansible role, the image and the Spack recipe (needs root; half an hour)
	@$(PYTHON) -m pytest -v -s -m packages tests/packages

.PHONY: coverage-plugin
coverage-plugin: deps-check $(VENV)/.ready ## measure the branch coverage of spank/; fails below 95 %, or if a missed branch is not explained
	@$(PYTHON) -m tests.spank.coverage

.PHONY: bench-match
bench-match: deps-python $(VENV)/.ready ## measure decisions over the socket, up to a million records (about 15 minutes)
	@$(PYTHON) -m bench.match

.PHONY: bench-plugin
bench-plugin: root deps-cluster $(VENV)/.ready build ## measure the plugin's cost per sbatch and in a storm of them, on a virtual cluster (needs root; 4 minutes)
	@$(PYTHON) -m bench.plugin

.PHONY: bench-apps
bench-apps: root deps-cluster $(VENV)/.ready build ## measure whether a rules file helps applications, on a virtual cluster (needs root; a quarter hour)
	@$(PYTHON) -m bench.apps

.PHONY: bench-real
bench-real: root deps-bench-real $(VENV)/.ready build ## measure real programs of Debian on a virtual cluster, partly with latency; ONLY=NAMES of programs, LOOK=0 without the exhaustive search (needs root; about six hours, with it 21)
	@$(PYTHON) -m bench.real --tune 8 --overhead 4 --look $(or $(LOOK),6) $(if $(ONLY),--only $(ONLY))

.PHONY: bench-skeleton
bench-skeleton: $(VENV)/.ready build skeleton ## compare skeletons with their programs, some from source packages of Debian; LLVM=14 selects a release
	@$(PYTHON) -m bench.skeleton $(if $(LLVM),--llvm $(LLVM))

.PHONY: bench-sro
bench-sro: deps-local $(VENV)/.ready build ## measure gain and cost of the Small Read Optimizer, and check that programs run unchanged (half an hour)
	@$(PYTHON) -m bench.sro

.PHONY: bench-collectives
bench-collectives: root deps-cluster $(VENV)/.ready build ## compare campaigns over collectives with an exhaustive search (needs root; three hours)
	@$(PYTHON) -m bench.collectives

.PHONY: bench-scenario
bench-scenario: root deps-cluster $(VENV)/.ready build ## measure the gain of users' jobs that match tuned ones, on a virtual cluster (needs root; 20 minutes)
	@$(PYTHON) -m bench.scenario

.PHONY: soak
soak: root deps-cluster $(VENV)/.ready build ## run users, campaigns and faults on a virtual cluster for an hour (needs root; MINUTES=60)
	@$(PYTHON) -m tests.soak --minutes $(or $(MINUTES),60)

.PHONY: bench-ops
bench-ops: deps-python $(VENV)/.ready ## measure the guard against harm, and the daemon over years of jobs (about 20 minutes)
	@$(PYTHON) -m bench.ops

.PHONY: bench-releases
bench-releases: root deps-matrix deps-mpich $(VENV)/.ready build ## run campaigns and users' jobs with five MPI releases, and all tests of releases; ONLY=PART (needs root; an hour)
	@$(PYTHON) -m bench.releases $(addprefix --only ,$(ONLY))

.PHONY: bench-trust
bench-trust: root deps-python $(VENV)/.ready build ## measure attacks of one user on others, and secrets that are stored; DIR=FOLDER of scripts adds false masks (needs root; 10 minutes)
	@$(PYTHON) -m bench.trust $(if $(DIR),--scripts $(DIR))

.PHONY: bench-recognition
bench-recognition: deps-local $(VENV)/.ready ## measure how well jobs of real batch scripts are matched; DIR=FOLDER of scripts as OWNER/PROJECT/PATH (5 minutes)
	@$(PYTHON) -m bench.recognition $(DIR)

.PHONY: bench-web
bench-web: root deps-matrix deps-browser $(VENV)/.ready build ## measure pages over a million rows in Chromium, and the size of an installation (needs root; 10 minutes)
	@$(PYTHON) -m bench.web

.PHONY: bench-forwarding
bench-forwarding: root deps-forwarding $(VENV)/.ready build ## measure I/O forwarding, the arbiter and burst buffers, on virtual clusters; ONLY=PARTS (needs root; three hours)
	@$(PYTHON) -m bench.forwarding $(addprefix --only ,$(ONLY))

.PHONY: bench-patterns
bench-patterns: deps-python $(VENV)/.ready build ## measure detectors of access patterns and learned windows; ONLY=PARTS (three minutes)
	@$(PYTHON) -m bench.patterns $(addprefix --only ,$(ONLY))

.PHONY: bench-mpiio
bench-mpiio: root deps-cluster $(VENV)/.ready build ## measure MPI-IO tuned by trials and by prediction, on a virtual cluster (needs root; an hour)
	@$(PYTHON) -m bench.mpiio

# The peers of `make bench-tuner`, in a separate environment; the product needs none of them.
PEERS := build/bench-tuner

$(PEERS)/.ready: bench/tuner/peers.lock
	@echo "bench: making $(PEERS) from bench/tuner/peers.lock"
	@$(BASE_PYTHON) -m venv $(PEERS)
	@$(PEERS)/bin/pip install $(LOCKED) --requirement bench/tuner/peers.lock
	@touch $@

.PHONY: bench-warm
bench-warm: deps-python $(VENV)/.ready ## measure the savings of a warm start, and regenerate docs/reference/warm-start.md (5 minutes)
	@$(PYTHON) -m bench.warm

.PHONY: bench-tuner
bench-tuner: deps-python $(VENV)/.ready $(PEERS)/.ready ## compare the tuner with its peers, and regenerate docs/reference/tuner-evaluation.md
	@$(PACKAGE_LINKS)
	@$(PYTHON) -m bench.tuner

.PHONY: bench-tuner-peers
bench-tuner-peers: deps-python $(VENV)/.ready $(PEERS)/.ready ## run the peers' searches again and store them (hours)
	@$(PACKAGE_LINKS)
	@$(PYTHON) -m bench.tuner --fresh --store

.PHONY: lint
lint: deps-lint $(VENV)/.ready ## check format, lint and types of Python and C, and the wording of texts
	@$(VENV)/bin/ruff format --check --quiet $(PYTHON_DIRS)
	@$(VENV)/bin/ruff check --quiet $(PYTHON_DIRS)
	@$(PACKAGE_LINKS)
	@$(VENV)/bin/mypy --no-error-summary
	@cd build/package && $(CURDIR)/$(VENV)/bin/lint-imports --no-logo $(CURDIR)/pyproject.toml > $(CURDIR)/build/imports.log || \
	  { cat $(CURDIR)/build/imports.log >&2; exit 1; }
	@clang-format --dry-run --Werror $$(git ls-files '*.c' '*.h' '*.cpp' '*.hpp')
	@tools/prose

.PHONY: look
look: $(VENV)/.ready ## print the rooms and their imports; fails on a cycle, or an import of an upper layer
	@$(PACKAGE_LINKS)
	@$(PYTHON) tools/look

.PHONY: format
format: deps-lint $(VENV)/.ready ## format Python and C
	@$(VENV)/bin/ruff format --quiet $(PYTHON_DIRS)
	@$(VENV)/bin/ruff check --fix --quiet $(PYTHON_DIRS)
	@clang-format -i $$(git ls-files '*.c' '*.h' '*.cpp' '*.hpp')

# -- to maintain -------------------------------------------------------------------------------------------------------

# The site's generator, in a separate environment; the product does not need it.
SITE_MAKER := build/docs-site
SITE ?= build/site

$(SITE_MAKER)/.ready: requirements-docs.lock
	@echo "docs: making $(SITE_MAKER) from requirements-docs.lock"
	@$(BASE_PYTHON) -m venv $(SITE_MAKER)
	@$(SITE_MAKER)/bin/pip install $(LOCKED) --requirement requirements-docs.lock
	@touch $@

# The output goes to a file, because --strict ignores all warnings if --quiet is given.
.PHONY: docs-site
docs-site: $(SITE_MAKER)/.ready ## make the site of the documentation, build/site/index.html (or SITE=DIRECTORY); fails on a broken link
	@NO_MKDOCS_2_WARNING=1 $(SITE_MAKER)/bin/mkdocs build --strict --site-dir "$(abspath $(SITE))" > "$(SITE).log" 2>&1 || \
	  { grep -v "^INFO" "$(SITE).log" >&2; exit 1; }

.PHONY: docs-evaluation
docs-evaluation: deps-python $(VENV)/.ready ## regenerate docs/reference/evaluation-tables.md and its summary (half a minute)
	@$(PYTHON) -m bench.evaluation_page

.PHONY: install-mpich-tools
install-mpich-tools: ## install the benchmark and the probe of MPICH's collectives (MPICC=mpicc.mpich)
	@$(MAKE) --no-print-directory --silent -C tuner/programs/collbench install FAMILY=mpich MPICC=$(or $(MPICC),mpicc.mpich)

.PHONY: allow-list
allow-list: deps-python $(VENV)/.ready ## regenerate the plugin's table of variables from reprise/allowlist.toml
	@$(PYTHON) tools/allow-list

.PHONY: docs-matrix
docs-matrix: deps-python $(VENV)/.ready ## store the results of the last `make test-matrix`, and regenerate their table in docs/reference/installation.md
	@$(PYTHON) -m tests.matrix.results

.PHONY: docs-settings
docs-settings: deps-python $(VENV)/.ready ## regenerate docs/reference/configuration.md
	@$(PYTHON) -m reprise.cli.settings > build/configuration.md
	@mv build/configuration.md docs/reference/configuration.md

.PHONY: docs-pictures
docs-pictures: deps-local deps-browser $(VENV)/.ready ## regenerate the pictures of docs/reference/pages.md; look at them afterwards (half a minute)
	@REPRISE_SCREENSHOTS=write $(PYTEST) tests/web/test_pictures.py

.PHONY: landscapes
landscapes: deps-python $(VENV)/.ready ## regenerate the emulated landscapes below bench/landscapes (a minute)
	@$(PYTHON) -m bench.emulated

.PHONY: landscapes-measured
landscapes-measured: root deps-cluster $(VENV)/.ready build ## measure the other landscapes again, on a virtual cluster (needs root; a quarter hour)
	@$(PYTHON) -m bench.measured

.PHONY: landscapes-sro
landscapes-sro: deps-local $(VENV)/.ready build ## measure the landscapes of the Small Read Optimizer again, on this machine's disk (a quarter hour)
	@$(PYTHON) -m bench.sro.disk_landscapes

.PHONY: docs-submissions
docs-submissions: root deps-test-cluster $(VENV)/.ready build ## measure every way to submit on a virtual cluster, and regenerate the table in docs/reference/submissions.md (needs root)
	@$(PYTHON) -m tests.cluster.ways_measured

.PHONY: lock
lock: ## regenerate requirements.lock and requirements-dev.lock from the ranges in pyproject.toml
	@tools/lock $(BASE_PYTHON) product > requirements.lock.new
	@mv requirements.lock.new requirements.lock
	@tools/lock $(BASE_PYTHON) dev > requirements-dev.lock.new
	@mv requirements-dev.lock.new requirements-dev.lock

.PHONY: lock-docs
lock-docs: ## regenerate requirements-docs.lock
	@tools/lock $(BASE_PYTHON) docs > requirements-docs.lock.new
	@mv requirements-docs.lock.new requirements-docs.lock

.PHONY: lock-peers
lock-peers: ## regenerate bench/tuner/peers.lock
	@tools/lock $(BASE_PYTHON) tuner-peers > bench/tuner/peers.lock.new
	@mv bench/tuner/peers.lock.new bench/tuner/peers.lock

.PHONY: clean
clean: ## remove built files (the environment stays)
	@for dir in $(C_DIRS) tests/fuzz tuner/programs/skeleton; do $(MAKE) --no-print-directory -C $$dir clean; done
	@rm -rf build *.egg-info .mypy_cache .pytest_cache .ruff_cache .hypothesis
