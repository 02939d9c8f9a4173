// SPDX-License-Identifier: Apache-2.0
// Makes calls fail (see failing.c) during the whole run of a program, except in code that the compiler has added to run
// at exit.
#include "failing.h"

__attribute__((constructor)) static void arm(void)
{
    failing_now = true;
}

__attribute__((destructor)) static void disarm(void)
{
    failing_now = false;
}
