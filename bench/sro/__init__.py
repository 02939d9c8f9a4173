# SPDX-License-Identifier: Apache-2.0
"""Benchmark of the gains, costs and correctness of the Small Read Optimizer: `make bench-sro`."""
