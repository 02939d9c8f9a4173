// SPDX-License-Identifier: Apache-2.0
// Makes calls fail (failing.c) during the whole run of a program, except in code that compilers add at its end.
#include "failing.h"

__attribute__((constructor)) static void arm(void)
{
    failing_now = true;
}

__attribute__((destructor)) static void disarm(void)
{
    failing_now = false;
}
