# SPDX-License-Identifier: Apache-2.0
"""The command line. These modules declare options, call other parts and print results; no other part imports them."""
