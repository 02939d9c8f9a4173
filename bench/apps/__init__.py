# SPDX-License-Identifier: Apache-2.0
"""Benchmark of the gain of a rules file for whole applications, which benchmarks of single collectives cannot show."""
