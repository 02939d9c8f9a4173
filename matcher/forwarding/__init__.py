# SPDX-License-Identifier: Apache-2.0
"""Service of the arbiter: which jobs run, which forwarders work, and who serves whom."""
