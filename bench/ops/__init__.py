# SPDX-License-Identifier: Apache-2.0
"""Benchmark of long-term operation: quarantine of harmful records, leaks, and a large database (`make bench-ops`)."""
