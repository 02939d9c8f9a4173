# SPDX-License-Identifier: Apache-2.0
"""Measure real programs from Debian on a virtual cluster with network latency."""
