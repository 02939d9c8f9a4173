# SPDX-License-Identifier: Apache-2.0
"""How long a decision of the daemon takes, and how often it is right: `make bench-match`."""
