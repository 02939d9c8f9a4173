# SPDX-License-Identifier: Apache-2.0
"""What support staff look for among jobs: which there were, how one did beside others, what nobody tuned yet."""
