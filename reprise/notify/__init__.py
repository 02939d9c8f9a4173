# SPDX-License-Identifier: Apache-2.0
"""Notifications of administrators by mail, webhook or a command of the site, as `[notify]` configures them."""
