# SPDX-License-Identifier: Apache-2.0
"""Bench: does a rules file speed up applications? Benchmarks of single collectives cannot show that."""
