# SPDX-License-Identifier: Apache-2.0
"""Benchmark of the daemon's decisions: how long they take and how often they are right (`make bench-match`)."""
