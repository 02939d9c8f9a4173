# SPDX-License-Identifier: Apache-2.0
"""Benchmark of the gain that users' jobs have from matching: `make bench-scenario`."""
