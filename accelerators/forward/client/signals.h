// SPDX-License-Identifier: Apache-2.0
// Blocks signals while a thread holds a lock of the library. The kernel does so too for reads and writes of files:
// signal handlers run when the call has ended.
#ifndef FORWARD_SIGNALS_H
#define FORWARD_SIGNALS_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "raw.h"

#define SIGNALS_BIT(number) (1ULL << ((number)-1))

// Signals that the kernel raises for an instruction; it would end a process that has blocked them.
#define SIGNALS_OF_INSTRUCTIONS                                                                                        \
    (SIGNALS_BIT(SIGSEGV) | SIGNALS_BIT(SIGBUS) | SIGNALS_BIT(SIGFPE) | SIGNALS_BIT(SIGILL) | SIGNALS_BIT(SIGTRAP) |   \
     SIGNALS_BIT(SIGSYS))

// Block all other signals, including those that libc keeps for itself. Returns the signals that were blocked before.
static inline uint64_t signals_block(void)
{
    const uint64_t all = ~SIGNALS_OF_INSTRUCTIONS;
    uint64_t before = 0;
    raw_call(SYS_rt_sigprocmask, SIG_BLOCK, (long)&all, (long)&before, sizeof all, 0, 0);
    return before;
}

static inline void signals_restore(uint64_t before)
{
    raw_call(SYS_rt_sigprocmask, SIG_SETMASK, (long)&before, 0, sizeof before, 0, 0);
}

#endif
