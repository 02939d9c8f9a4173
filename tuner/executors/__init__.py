# SPDX-License-Identifier: Apache-2.0
"""Executors, which run trials as steps of an allocation, as Slurm jobs, or as processes on this host."""
