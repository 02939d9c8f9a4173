# SPDX-License-Identifier: Apache-2.0
"""Measurements: what is claimed in the documents, and how to measure it again."""
