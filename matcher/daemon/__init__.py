# SPDX-License-Identifier: Apache-2.0
"""The matcher's daemon: its start and end, sockets, requests, database writes and metrics."""
