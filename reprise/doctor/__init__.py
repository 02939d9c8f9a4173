# SPDX-License-Identifier: Apache-2.0
"""What `reprise doctor` looks at: Slurm, the plugin, the daemon and what it works with."""
