# SPDX-License-Identifier: Apache-2.0
"""Council of I/O forwarders: which window TWINS uses next, learned from bandwidths, without input or output."""
