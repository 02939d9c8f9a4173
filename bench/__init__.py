# SPDX-License-Identifier: Apache-2.0
"""Benches: repeatable measurements that support the claims of the documentation."""
