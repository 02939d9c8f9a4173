# SPDX-License-Identifier: Apache-2.0
"""Calibration of linkage models whose score is a probability (docs/explanation/calibration.md)."""
