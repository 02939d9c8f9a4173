# SPDX-License-Identifier: Apache-2.0
"""Detectors of access patterns: a detector is a file, which is made by training and read here."""
