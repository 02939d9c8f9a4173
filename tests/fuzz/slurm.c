// SPDX-License-Identifier: Apache-2.0
// Stubs without effect for Slurm's functions, for harnesses that define no stubs themselves.
#include <slurm/spank.h>

#define NEVER(name, parameters)                                                                                        \
    __attribute__((weak)) spank_err_t name parameters                                                                  \
    {                                                                                                                  \
        return ESPANK_ERROR;                                                                                           \
    }
#pragma GCC diagnostic ignored "-Wunused-parameter"
NEVER(spank_option_register, (spank_t spank, struct spank_option *option))
NEVER(spank_get_item, (spank_t spank, spank_item_t item, ...))
NEVER(spank_getenv, (spank_t spank, const char *name, char *buffer, int size))
NEVER(spank_setenv, (spank_t spank, const char *name, const char *value, int overwrite))
NEVER(spank_unsetenv, (spank_t spank, const char *name))
NEVER(spank_job_control_setenv, (spank_t spank, const char *name, const char *value, int overwrite))
NEVER(spank_job_control_unsetenv, (spank_t spank, const char *name))
