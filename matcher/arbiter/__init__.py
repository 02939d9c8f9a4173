# SPDX-License-Identifier: Apache-2.0
"""Arbiter of I/O forwarders: how a pool of forwarders is shared out among the running jobs, without input or output."""
