# SPDX-License-Identifier: Apache-2.0
"""Concepts that all parts of the tuner share: components, spaces, artifacts, trials as rows, statistics."""
