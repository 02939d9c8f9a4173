# SPDX-License-Identifier: Apache-2.0
"""Run trials as steps of an allocation, as Slurm jobs, or as processes on this host."""
