# SPDX-License-Identifier: Apache-2.0
"""Evaluation of a linkage model: made-up sites of which the right answers are known (docs/evaluation.md)."""
