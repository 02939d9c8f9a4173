# SPDX-License-Identifier: Apache-2.0
"""Tuning of Open MPI's collectives: search spaces for a build, rules files, and the proof that a file is in effect."""
