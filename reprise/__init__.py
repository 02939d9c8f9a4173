# SPDX-License-Identifier: Apache-2.0
"""Reprise gives each Slurm job the best settings known for jobs like it.

This package contains the code that is common to all parts: version, configuration, command line and doctor.
"""

__version__ = "0.3.0.dev0"
