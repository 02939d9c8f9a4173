// SPDX-License-Identifier: Apache-2.0
// A stub of the Slurm functions that the plugin calls.
#define _GNU_SOURCE
#include "stub_slurm.h"

#include <slurm/slurm.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

struct stub stub;

static char **find(struct environment *environment, const char *name)
{
    size_t length = strlen(name);
    for (size_t i = 0; i < environment->count; i++) {
        if (strncmp(environment->entries[i], name, length) == 0 && environment->entries[i][length] == '=') {
            return &environment->entries[i];
        }
    }
    return NULL;
}

static int set(struct environment *environment, const char *name, const char *value, int overwrite)
{
    char **entry = find(environment, name);
    char *text = NULL;
    if (entry && !overwrite) {
        return ESPANK_ENV_EXISTS;
    }
    if (asprintf(&text, "%s=%s", name, value) < 0) {
        return ESPANK_ERROR;
    }
    if (entry) {
        free(*entry);
    } else {
        entry = &environment->entries[environment->count++];
    }
    *entry = text;
    return ESPANK_SUCCESS;
}

spank_context_t spank_context(void)
{
    return stub.context;
}

spank_err_t spank_option_register(spank_t spank, struct spank_option *registered)
{
    (void)spank;
    stub.option = *registered;
    return ESPANK_SUCCESS;
}

spank_err_t spank_getenv(spank_t spank, const char *name, char *buffer, int size)
{
    (void)spank;
    char **entry = find(&stub.job, name);
    if (stub.context != S_CTX_REMOTE || !entry) {
        return stub.context != S_CTX_REMOTE ? ESPANK_NOT_REMOTE : ESPANK_ENV_NOEXIST;
    }
    int length = snprintf(buffer, (size_t)size, "%s", *entry + strlen(name) + 1);
    return length < size ? ESPANK_SUCCESS : ESPANK_NOSPACE;
}

spank_err_t spank_setenv(spank_t spank, const char *name, const char *value, int overwrite)
{
    (void)spank;
    return stub.context == S_CTX_REMOTE ? (spank_err_t)set(&stub.job, name, value, overwrite) : ESPANK_NOT_REMOTE;
}

static spank_err_t unset(struct environment *environment, const char *name)
{
    char **entry = find(environment, name);
    if (entry) {
        free(*entry);
        *entry = environment->entries[--environment->count];
    }
    return ESPANK_SUCCESS;
}

spank_err_t spank_unsetenv(spank_t spank, const char *name)
{
    (void)spank;
    return stub.context == S_CTX_REMOTE ? unset(&stub.job, name) : ESPANK_NOT_REMOTE;
}

spank_err_t spank_job_control_setenv(spank_t spank, const char *name, const char *value, int overwrite)
{
    (void)spank;
    return stub.context == S_CTX_REMOTE ? ESPANK_NOT_LOCAL : (spank_err_t)set(&stub.control, name, value, overwrite);
}

spank_err_t spank_job_control_unsetenv(spank_t spank, const char *name)
{
    (void)spank;
    return unset(&stub.control, name);
}

spank_err_t spank_get_item(spank_t spank, spank_item_t item, ...)
{
    (void)spank;
    spank_err_t result = ESPANK_SUCCESS;
    va_list arguments;
    va_start(arguments, item);
    if (stub.lacking && (item == S_SLURM_VERSION || item == S_JOB_ENV || item == S_JOB_ARGV)) {
        result = ESPANK_NOT_AVAIL;
    } else if (item == S_SLURM_VERSION) {
        *va_arg(arguments, const char **) = stub.slurm_version;
    } else if (stub.context != S_CTX_REMOTE) {
        result = ESPANK_NOT_AVAIL;
    } else if (item == S_JOB_ENV) {
        stub.job.entries[stub.job.count] = NULL;
        *va_arg(arguments, char ***) = stub.job.entries;
    } else if (item == S_JOB_ARGV) {
        *va_arg(arguments, int *) = stub.job_argv[0] ? 1 : 0;
        *va_arg(arguments, char ***) = stub.job_argv;
    } else if (stub.has_item[item]) {
        *va_arg(arguments, uint32_t *) = stub.items[item];
    } else {
        result = ESPANK_NOT_AVAIL;
    }
    va_end(arguments);
    return result;
}

#define LOGGER(name, level)                                                                                            \
    void name(const char *format, ...)                                                                                 \
    {                                                                                                                  \
        va_list arguments;                                                                                             \
        va_start(arguments, format);                                                                                   \
        fprintf(stub.report, "log %s ", level);                                                                        \
        vfprintf(stub.report, format, arguments);                                                                      \
        fputc('\n', stub.report);                                                                                      \
        va_end(arguments);                                                                                             \
    }
LOGGER(slurm_error, "error")
LOGGER(slurm_info, "info")
LOGGER(slurm_verbose, "verbose")
LOGGER(slurm_spank_log, "user")
