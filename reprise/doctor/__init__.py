# SPDX-License-Identifier: Apache-2.0
"""Checks of `reprise doctor` on Slurm, the plugin, the daemon and the files that the daemon uses."""
