# SPDX-License-Identifier: Apache-2.0
"""Concepts that all parts of the tuner share: components, search spaces, artifacts, rows of trials, statistics."""
