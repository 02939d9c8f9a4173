# SPDX-License-Identifier: Apache-2.0
"""Explanations of jobs for their users, and the lists of jobs that support staff work with."""
