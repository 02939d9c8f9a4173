# SPDX-License-Identifier: Apache-2.0
"""Who a program is, beyond its name: taken from the file that a job runs."""
