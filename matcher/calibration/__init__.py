# SPDX-License-Identifier: Apache-2.0
"""Calibration, from jobs to a linkage model with a probability as its score."""
