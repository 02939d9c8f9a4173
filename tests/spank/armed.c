// SPDX-License-Identifier: Apache-2.0
// Calls may fail (failing.c) in all that a program does, but for what compilers add at its end.
#include "failing.h"

__attribute__((constructor)) static void arm(void)
{
    failing_now = true;
}

__attribute__((destructor)) static void disarm(void)
{
    failing_now = false;
}
