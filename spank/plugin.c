// SPDX-License-Identifier: Apache-2.0
// The entry points that Slurm calls. They always return 0, so that no job is harmed. Only the code in this file logs.
//
// License: this code is Apache-2.0. It includes Slurm's headers and is loaded into Slurm's programs, which are
// GPL-2.0-or-later (with an exception for OpenSSL only, see Debian's slurm-wlm copyright file). Apache-2.0 is
// compatible with GPL version 3, and "or later" allows version 3 for Slurm: the two together may be conveyed under
// GPL-3.0.
#include <errno.h>
#include <slurm/slurm.h>
#include <slurm/spank.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "jobstep.h"
#include "options.h"
#include "settings.h"
#include "submit.h"

// The symbols that Slurm looks up by name; all others are hidden. Newer releases of Slurm, and `reprise doctor`, read
// the release that the plugin was built for from `plugin_version`. With the headers of Slurm 20.11, the second argument
// of SPANK_PLUGIN sets `plugin_version`; later headers set it to their own release.
#pragma GCC visibility push(default)
SPANK_PLUGIN(reprise, SLURM_VERSION_NUMBER)
spank_f slurm_spank_init, slurm_spank_init_post_opt, slurm_spank_user_init, slurm_spank_task_exit;
#pragma GCC visibility pop

static struct settings settings;
static bool foreign; // the plugin was built with the headers of a different release than the running Slurm

static void refuse_option(const char *value)
{
    slurm_error("reprise: --reprise=%.100s is invalid: use " OPTION_VALUES, value);
}

// Report a mistake in the installation to administrators, on root's terminal and in slurmd's log. Other users see the
// message with -v.
static void tell_admin(const char *problem)
{
    if (getuid() == 0) {
        slurm_error("reprise: %s", problem);
    } else {
        slurm_verbose("reprise: %s", problem);
    }
}

// Slurm 22.05 and newer do not load plugins built for another release. Slurm 20.11 was observed to load such plugins,
// although error codes differ between releases.
static void check_release(spank_t spank)
{
    char built_for[16], problem[200], *running = NULL;
    snprintf(built_for, sizeof built_for, "%d.%02d.", SLURM_VERSION_MAJOR(SLURM_VERSION_NUMBER),
             SLURM_VERSION_MINOR(SLURM_VERSION_NUMBER));
    if (spank_get_item(spank, S_SLURM_VERSION, &running) != ESPANK_SUCCESS || !running ||
        strncmp(running, built_for, strlen(built_for)) == 0) {
        return;
    }
    foreign = true;
    snprintf(problem, sizeof problem,
             "built for Slurm %sx, but this is %.20s: run `make install-plugin` with the headers of this release; "
             "until then the plugin is off",
             built_for, running);
    tell_admin(problem);
}

static void submit_and_tell(spank_t spank, spank_context_t context)
{
    struct submit_words words = {0};
    submit(spank, context, &settings, &words);
    if (words.warning) {
        slurm_spank_log("reprise: %s", words.warning);
    }
    if (words.explanation) {
        slurm_spank_log("reprise: %s", words.explanation);
    }
    if (words.remark) { // users see it with -v
        slurm_verbose("reprise: %s; the job runs unchanged", words.remark);
    }
    free(words.warning);
    free(words.explanation);
}

static void start_and_tell(spank_t spank)
{
    const char *remark = NULL;
    char *line = jobstep_start(spank, &settings, &remark);
    if (line) {
        slurm_spank_log("reprise: %s", line);
    }
    if (remark) { // slurmd's log has it, the output of the job does not
        slurm_info("reprise: %s; the job runs unchanged", remark);
    }
    free(line);
}

int slurm_spank_init(spank_t spank, int argc, char *argv[])
{
    int saved = errno;
    switch (spank_context()) {
    case S_CTX_ALLOCATOR:
    case S_CTX_LOCAL:
    case S_CTX_REMOTE:
        options_register(spank, refuse_option);
        settings_read(&settings, argc, argv, tell_admin);
        check_release(spank);
        if (!foreign) {
            submit_prepare(spank_context(), &settings);
        }
        break;
    case S_CTX_SLURMD:
        settings_read(&settings, argc, argv, tell_admin);
        break;
    case S_CTX_JOB_SCRIPT:
    case S_CTX_ERROR:
        break;
    }
    errno = saved;
    return 0;
}

int slurm_spank_init_post_opt(spank_t spank, int argc, char *argv[])
{
    int saved = errno;
    spank_context_t context = spank_context();
    (void)argc;
    (void)argv;
    if (!foreign && (context == S_CTX_ALLOCATOR || context == S_CTX_LOCAL)) {
        submit_and_tell(spank, context);
    }
    errno = saved;
    return 0;
}

int slurm_spank_user_init(spank_t spank, int argc, char *argv[])
{
    int saved = errno;
    (void)argc;
    (void)argv;
    if (!foreign && spank_context() == S_CTX_REMOTE) {
        start_and_tell(spank);
    }
    errno = saved;
    return 0;
}

int slurm_spank_task_exit(spank_t spank, int argc, char *argv[])
{
    int saved = errno;
    (void)argc;
    (void)argv;
    if (!foreign && spank_context() == S_CTX_REMOTE) {
        jobstep_end(spank, &settings);
    }
    errno = saved;
    return 0;
}
