# SPDX-License-Identifier: Apache-2.0
"""Identity of a program beyond its name, determined from the program's file."""
