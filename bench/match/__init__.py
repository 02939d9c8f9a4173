# SPDX-License-Identifier: Apache-2.0
"""Benchmark of the time that the daemon takes for decisions, and how often these are right: `make bench-match`."""
