# SPDX-License-Identifier: Apache-2.0
"""Identity of a program beyond its name, taken from the file that a job runs."""
