# SPDX-License-Identifier: Apache-2.0
"""Open MPI's collectives: search spaces of a build, rules files, and the proof that one is in effect."""
