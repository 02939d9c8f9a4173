# SPDX-License-Identifier: Apache-2.0
"""From a linked job to what it is given: guards, the user's own choices, the site's lists, who is held out."""
