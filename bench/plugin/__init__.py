# SPDX-License-Identifier: Apache-2.0
"""Measure the cost of the plugin for `sbatch`: `make bench-plugin`."""
