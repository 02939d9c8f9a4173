# SPDX-License-Identifier: Apache-2.0
"""Measure whether a rules file helps applications, which no benchmark of single collectives shows."""
