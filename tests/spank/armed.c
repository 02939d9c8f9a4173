// SPDX-License-Identifier: Apache-2.0
// Makes calls fail (see failing.c) from the start of a program until it exits. Code that the compiler adds and that
// runs at exit is not affected: gcov can store its counts, and the sanitizers can check for leaks.
#include "failing.h"

__attribute__((constructor)) static void arm(void)
{
    failing_now = true;
}

__attribute__((destructor)) static void disarm(void)
{
    failing_now = false;
}
