# SPDX-License-Identifier: Apache-2.0
"""Benchmark of the gain that users' jobs get from matching: `make bench-scenario`."""
