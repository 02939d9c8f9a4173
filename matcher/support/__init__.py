# SPDX-License-Identifier: Apache-2.0
"""Explanations of jobs for their users, and lists of jobs for support staff."""
