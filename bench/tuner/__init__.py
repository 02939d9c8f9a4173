# SPDX-License-Identifier: Apache-2.0
"""Compare the tuner's methods with other tuners: `make bench-tuner`."""
