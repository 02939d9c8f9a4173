# SPDX-License-Identifier: Apache-2.0
"""Identification of programs by the contents of their files, rather than by their names alone."""
