# SPDX-License-Identifier: Apache-2.0
"""Open MPI's collectives: spaces from the build, rules files, and the proof that a rules file is in effect."""
