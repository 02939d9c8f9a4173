# SPDX-License-Identifier: Apache-2.0
"""Benefit of records in production, measured by comparing similar jobs with and without the settings."""
