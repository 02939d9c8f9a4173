# SPDX-License-Identifier: Apache-2.0
"""A soak test: users, campaigns and faults at the same time, for any duration (`make soak`)."""
