# SPDX-License-Identifier: Apache-2.0
"""Evaluation of linkage models on made-up sites and on real scripts, for which the correct matches are known."""
