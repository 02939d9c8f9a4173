# SPDX-License-Identifier: Apache-2.0
"""What users' jobs gain by being matched: `make bench-scenario`."""
