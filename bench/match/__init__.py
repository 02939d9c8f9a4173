# SPDX-License-Identifier: Apache-2.0
"""Measure the time of the daemon's decisions and how often they are right: `make bench-match`."""
