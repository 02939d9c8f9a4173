# SPDX-License-Identifier: Apache-2.0
"""Service of the council: receives reports of I/O forwarders, and announces the window that all of them use."""
