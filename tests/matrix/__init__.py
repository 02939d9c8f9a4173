# SPDX-License-Identifier: Apache-2.0
"""Tests on other releases of Slurm, Open MPI and Python, from other releases of Debian (`make test-matrix`)."""
