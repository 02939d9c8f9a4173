# SPDX-License-Identifier: Apache-2.0
"""Reprise: the best settings known for jobs like yours.

This package contains the code that the parts share: version, configuration, command line and doctor.
"""

__version__ = "0.2.0.dev0"
