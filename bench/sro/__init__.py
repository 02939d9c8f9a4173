# SPDX-License-Identifier: Apache-2.0
"""Measure the Small Read Optimizer."""
