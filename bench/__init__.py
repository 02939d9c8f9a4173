# SPDX-License-Identifier: Apache-2.0
"""Measurements that back the claims of the documentation, and that anyone can repeat."""
