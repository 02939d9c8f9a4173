# SPDX-License-Identifier: Apache-2.0
"""Measure how well forwarders learn: access patterns and windows."""
