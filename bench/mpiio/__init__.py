# SPDX-License-Identifier: Apache-2.0
"""Benchmark of tuning kernels that access a file through MPI-IO: `make bench-mpiio`."""
