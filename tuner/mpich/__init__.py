# SPDX-License-Identifier: Apache-2.0
"""MPICH's collectives: a table of algorithms by message size, and the settings of the other MPI of its family."""
