# SPDX-License-Identifier: Apache-2.0
"""Life cycle of a campaign, from its start, through one coordinator at a time, to its records."""
