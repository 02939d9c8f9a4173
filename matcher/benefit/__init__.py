# SPDX-License-Identifier: Apache-2.0
"""Benefit of records in production, from a comparison of jobs with their settings and similar jobs held out."""
