# SPDX-License-Identifier: Apache-2.0
"""How plugin, commands and daemon talk: the protocol, a client, munge credentials, tokens for the pages."""
