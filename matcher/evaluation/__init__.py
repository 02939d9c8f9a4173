# SPDX-License-Identifier: Apache-2.0
"""Evaluation of linkage models on made-up sites and real scripts, for which the right matches are known."""
