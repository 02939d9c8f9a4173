# SPDX-License-Identifier: Apache-2.0
"""Checks that `reprise doctor` makes on Slurm, the plugin, the daemon and the files that the daemon uses."""
