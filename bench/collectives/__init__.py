# SPDX-License-Identifier: Apache-2.0
"""Bench of the cost of campaigns that tune collectives, and of the quality of their rules: `make bench-collectives`."""
