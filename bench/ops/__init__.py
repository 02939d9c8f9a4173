# SPDX-License-Identifier: Apache-2.0
"""Benchmark of long-term operation: quarantine of harmful records, leaks, and large databases (`make bench-ops`)."""
