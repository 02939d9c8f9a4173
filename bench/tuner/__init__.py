# SPDX-License-Identifier: Apache-2.0
"""Benchmark that compares the tuner's methods with other tuners: `make bench-tuner`."""
