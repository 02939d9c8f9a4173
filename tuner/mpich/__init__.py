# SPDX-License-Identifier: Apache-2.0
"""Tuning of MPICH's collectives: selection files, which choose algorithms by size, and the proof of their effect."""
