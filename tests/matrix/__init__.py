# SPDX-License-Identifier: Apache-2.0
"""The plugin on other releases of Slurm, each on a virtual cluster with another Debian (`make test-matrix`)."""
