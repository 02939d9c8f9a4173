# SPDX-License-Identifier: Apache-2.0
# Everything that there is to do; `make help` lists it.

SHELL := /bin/bash
.DEFAULT_GOAL := help
VENV ?= .venv
PYTHON := $(VENV)/bin/python

.PHONY: help
help: ## list what there is to do
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
