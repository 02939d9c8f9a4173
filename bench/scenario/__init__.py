# SPDX-License-Identifier: Apache-2.0
"""Measure the gain of users' jobs from matching: `make bench-scenario`."""
