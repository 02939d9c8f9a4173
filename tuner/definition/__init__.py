# SPDX-License-Identifier: Apache-2.0
"""Campaign files, in which an admin defines campaigns, with their components, hours, directories and checks."""
