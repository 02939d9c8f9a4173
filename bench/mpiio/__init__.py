# SPDX-License-Identifier: Apache-2.0
"""Bench that tunes kernels which write and read a file through MPI-IO: `make bench-mpiio`."""
