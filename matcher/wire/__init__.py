# SPDX-License-Identifier: Apache-2.0
"""Communication of plugin, commands and daemon: the protocol, a client, MUNGE credentials, tokens for the pages."""
