# SPDX-License-Identifier: Apache-2.0
"""The command line: modules that declare options, call the other parts and print. No other part imports them."""
