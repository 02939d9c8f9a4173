# SPDX-License-Identifier: Apache-2.0
"""Measurements of I/O forwarding: see `__main__.py`."""
