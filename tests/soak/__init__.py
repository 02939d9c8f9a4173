# SPDX-License-Identifier: Apache-2.0
"""Everything at once for as long as one likes: `make soak`."""
