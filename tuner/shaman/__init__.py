# SPDX-License-Identifier: Apache-2.0
"""SHAMan's component and experiment files, as they are: turned into component files and campaigns of ours."""
