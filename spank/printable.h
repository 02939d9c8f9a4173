// SPDX-License-Identifier: Apache-2.0
// Makes a line safe for a terminal or a log.
#ifndef REPRISE_PRINTABLE_H
#define REPRISE_PRINTABLE_H

// Replace each control character of `line` by `?`.
void printable(char *line);

#endif
