# SPDX-License-Identifier: Apache-2.0
"""Benchmark of real programs from Debian on a virtual cluster with network latency: `make bench-real`."""
