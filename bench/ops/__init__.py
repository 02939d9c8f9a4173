# SPDX-License-Identifier: Apache-2.0
"""Measure properties that a site relies on month after month: `python -m bench.ops`."""
