# SPDX-License-Identifier: Apache-2.0
"""Decisions on whether jobs get a record's settings, based on guards, user choices, site lists and hold-out blocks."""
