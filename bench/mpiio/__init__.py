# SPDX-License-Identifier: Apache-2.0
"""Kernels that write and read through MPI-IO, and the bench that tunes them."""
