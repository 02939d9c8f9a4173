# SPDX-License-Identifier: Apache-2.0
"""Bench of what a rules file gains for whole applications, which benchmarks of single collectives cannot show."""
