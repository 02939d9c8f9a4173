# SPDX-License-Identifier: Apache-2.0
"""Decisions on which jobs get a matching record's settings, by guards, user choices, site lists and hold-out blocks."""
