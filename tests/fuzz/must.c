// SPDX-License-Identifier: Apache-2.0
#include "must.h"

#include <stdio.h>
#include <stdlib.h>

_Noreturn void broken(const char *condition, const char *file, int line)
{
    fprintf(stderr, "%s:%d: does not hold: %s\n", file, line, condition);
    abort();
}
