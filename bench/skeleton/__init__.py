# SPDX-License-Identifier: Apache-2.0
"""Measure skeletons of programs."""
