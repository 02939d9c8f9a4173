# SPDX-License-Identifier: Apache-2.0
"""The daemon: its sockets, requests, writes and metrics, and how it starts and stops."""
