// SPDX-License-Identifier: Apache-2.0
// One line for a terminal or a log.
#ifndef REPRISE_PRINTABLE_H
#define REPRISE_PRINTABLE_H

// Put a `?` in the place of each control character of `line`.
void printable(char *line);

#endif
