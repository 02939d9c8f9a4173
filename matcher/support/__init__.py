# SPDX-License-Identifier: Apache-2.0
"""Explanations of decisions about jobs for their users, and lists of jobs for support staff."""
