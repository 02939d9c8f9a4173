# SPDX-License-Identifier: Apache-2.0
"""Measure the cost of campaigns over collectives and the quality of their rules: `make bench-collectives`."""
