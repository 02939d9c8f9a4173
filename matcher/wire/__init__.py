# SPDX-License-Identifier: Apache-2.0
"""Communication between plugin, commands and daemon: protocol, client, MUNGE credentials, and tokens for web pages."""
