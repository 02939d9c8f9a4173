# SPDX-License-Identifier: Apache-2.0
"""Benchmark of the gain of a rules file for whole applications.

Benchmarks of single collectives cannot show this gain.
"""
