# SPDX-License-Identifier: Apache-2.0
"""What campaigns over collectives cost, and how good their rules are: `make bench-collectives`."""
