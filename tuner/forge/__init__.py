# SPDX-License-Identifier: Apache-2.0
"""Patterns of the forwarding explorer, which measures bandwidth by the number of I/O forwarders."""
