// SPDX-License-Identifier: Apache-2.0
// Control characters are dangerous: in a reply, which may contain another user's text, they could control the user's
// terminal, and in a path they could forge lines in a daemon's log.
#include "printable.h"

#include <stdbool.h>

void printable(char *line)
{
    for (unsigned char *byte = (unsigned char *)line; *byte; byte++) {
        bool is_c1 = byte[0] == 0xC2 && byte[1] >= 0x80 && byte[1] <= 0x9F; // U+0080 to U+009F, two bytes each
        if (is_c1) {
            *byte++ = '?';
        }
        if (is_c1 || *byte < ' ' || *byte == 0x7F) {
            *byte = '?';
        }
    }
}
