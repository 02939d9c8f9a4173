# SPDX-License-Identifier: Apache-2.0
"""Communication between plugin, commands and daemon, with MUNGE credentials and with tokens for the web pages."""
