# SPDX-License-Identifier: Apache-2.0
"""Evaluation of a linkage model on made-up sites with known answers (docs/explanation/evaluation.md)."""
