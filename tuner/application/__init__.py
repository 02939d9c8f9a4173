# SPDX-License-Identifier: Apache-2.0
"""Campaigns for the application in a batch script, with components chosen by the application's profile."""
