# SPDX-License-Identifier: Apache-2.0
"""Reprise: the best settings known for jobs like yours.

This package holds what the parts share: version, configuration, the command line that puts them together, the doctor.
"""

__version__ = "0.2.0.dev0"
