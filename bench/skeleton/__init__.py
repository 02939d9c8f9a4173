# SPDX-License-Identifier: Apache-2.0
"""Benchmark that compares messages and run times of skeletons and their programs: `make bench-skeleton`."""
