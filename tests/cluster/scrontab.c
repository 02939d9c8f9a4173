// SPDX-License-Identifier: Apache-2.0
// Replaces scrontab(1), which Debian's packages of Slurm 22.05 lack. The program sends the same request to the
// controller as scrontab: a crontab with one entry, which starts a job every minute. Usage: scrontab COMMAND NAME
// DIRECTORY, or scrontab -r to remove the crontab.
#include <slurm/slurm.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// A crontab entry, copied from Slurm's private cron.h. Each flag says that a field of the entry is `*`.
struct cron_entry {
    uint32_t flags;
    void *fields[5];
    char *cronspec;
    char *command;
    uint32_t line_start;
    uint32_t line_end;
};
#define EVERY_FIELD_IS_WILD 0x3E
extern struct cron_entry *new_cron_entry(void);

int main(int argc, char **argv)
{
    static char login_environment[] = "SLURM_GET_USER_ENV=1"; // the only variable that scrontab sets in a job
    char *environment[] = {login_environment, NULL};
    char *crontab = NULL;
    job_desc_msg_t job;

    slurm_init(NULL);
    if (argc == 2 && strcmp(argv[1], "-r") == 0) {
        return slurm_remove_crontab(getuid(), getgid()) != 0;
    }
    if (argc != 4) {
        return 2;
    }
    struct cron_entry *entry = new_cron_entry();
    entry->flags = EVERY_FIELD_IS_WILD;
    entry->cronspec = strdup("* * * * *");
    entry->command = strdup(argv[1]);

    slurm_init_job_desc_msg(&job);
    job.crontab_entry = entry;
    job.bitflags |= CRON_JOB;
    job.environment = environment;
    job.env_size = 1;
    job.argc = 1;
    job.argv = argv + 1;
    job.name = argv[2];
    job.work_dir = argv[3];
    job.user_id = getuid();
    job.group_id = getgid();
    if (asprintf(&job.script, "#!/bin/sh\n# This job was submitted through scrontab\n%s\n", argv[1]) < 0 ||
        asprintf(&crontab, "* * * * * %s\n", argv[1]) < 0) {
        return 1;
    }
    List jobs = slurm_list_create(NULL);
    slurm_list_append(jobs, &job);
    crontab_update_response_msg_t *response = slurm_update_crontab(getuid(), getgid(), crontab, jobs);
    if (response->return_code) {
        fprintf(stderr, "scrontab: %s: %s\n", slurm_strerror((int)response->return_code), response->err_msg);
    }
    return response->return_code != 0;
}
