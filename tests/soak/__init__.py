# SPDX-License-Identifier: Apache-2.0
"""Users, campaigns and faults at the same time, for any duration: `make soak`."""
