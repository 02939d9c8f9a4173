# SPDX-License-Identifier: Apache-2.0
"""The service: sockets, requests, what it writes, its metrics, and how it starts and stops."""
