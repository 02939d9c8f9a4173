# SPDX-License-Identifier: Apache-2.0
"""Executors of trials, behind one interface: steps of an allocation, Slurm jobs, or processes of this host."""
