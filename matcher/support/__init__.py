# SPDX-License-Identifier: Apache-2.0
"""Explanations that show users how the matcher decided about their jobs, and lists of jobs for support staff."""
