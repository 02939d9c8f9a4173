# SPDX-License-Identifier: Apache-2.0
"""Inexpensive replacements for an application in trials, and whether they communicate as it does."""
