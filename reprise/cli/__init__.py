# SPDX-License-Identifier: Apache-2.0
"""Every command line: declares options, calls the other parts, prints. Nothing else of the package imports one."""
