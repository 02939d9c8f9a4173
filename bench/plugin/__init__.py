# SPDX-License-Identifier: Apache-2.0
"""Benchmark of the time that the plugin adds to `sbatch`, and of its effect on jobs: `make bench-plugin`."""
