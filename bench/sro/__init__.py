# SPDX-License-Identifier: Apache-2.0
"""Bench of the gains, costs and correctness of the Small Read Optimizer: `make bench-sro`."""
