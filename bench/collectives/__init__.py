# SPDX-License-Identifier: Apache-2.0
"""Benchmark of the cost of campaigns for collectives, and of the quality of their rules: `make bench-collectives`."""
