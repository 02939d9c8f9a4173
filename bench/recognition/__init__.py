# SPDX-License-Identifier: Apache-2.0
"""Measure the recognition of jobs with batch scripts that other people wrote."""
