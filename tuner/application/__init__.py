# SPDX-License-Identifier: Apache-2.0
"""Campaigns for a batch script, chosen by its profile."""
