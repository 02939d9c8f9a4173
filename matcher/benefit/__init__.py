# SPDX-License-Identifier: Apache-2.0
"""Benefit of records in production, measured by comparing jobs that got the settings with similar held-out jobs."""
