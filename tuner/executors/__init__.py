# SPDX-License-Identifier: Apache-2.0
"""Where trials run: steps of an allocation, Slurm jobs, or processes of this host, behind one interface."""
