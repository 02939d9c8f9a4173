# SPDX-License-Identifier: Apache-2.0
"""How good the tuner's methods are beside others: `make bench-tuner`."""
