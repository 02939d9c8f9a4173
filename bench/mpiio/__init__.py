# SPDX-License-Identifier: Apache-2.0
"""Benchmark that tunes kernels which write and read a file through MPI-IO: `make bench-mpiio`."""
