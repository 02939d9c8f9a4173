# SPDX-License-Identifier: Apache-2.0
"""Calibration: from jobs to a linkage model whose score is a probability (docs/linkage.md, "Calibration")."""
