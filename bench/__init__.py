# SPDX-License-Identifier: Apache-2.0
"""Benchmarks: repeatable measurements that back up the claims in the documentation."""
