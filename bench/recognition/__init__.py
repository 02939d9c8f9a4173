# SPDX-License-Identifier: Apache-2.0
"""Benchmark that measures how well jobs of published batch scripts are recognized: `make bench-recognition`."""
