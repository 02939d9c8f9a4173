# SPDX-License-Identifier: Apache-2.0
"""Checks of `reprise doctor`: Slurm, the plugin, the daemon and the files that the daemon uses."""
