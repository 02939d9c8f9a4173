# SPDX-License-Identifier: Apache-2.0
"""Real programs of Debian, none written here, on a virtual cluster whose network has latency."""
