// SPDX-License-Identifier: Apache-2.0
// The report is a JSON object; docs/reference/profiles.md describes its contents. All times are in nanoseconds.
#define _GNU_SOURCE
#include "report.h"

#include <limits.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "clock.h"
#include "mpi_state.h"
#include "process_facts.h"
#include "raw.h"

enum {
    VERSION = 1,
    // Minimum run time, in nanoseconds, at which a program without MPI leaves a report. Without this minimum, a script
    // would leave a report for each of its commands.
    WORTH_NS = 10000000,
    // If the directory of the reports is larger than this number of bytes, programs without MPI leave no reports. The
    // size is that of the directory itself, without its files. A directory on ext4 reaches this size with about 25,000
    // reports.
    DIRECTORY_BYTES = 2097152,
    ROOM = 65536,
    HOST_BYTES = 64,
};

static const char *const meta_names[METAS] = {"open", "close", "stat", "change", "sync", "list"};
static const char *const direction_names[DIRECTIONS] = {"read", "write"};

struct output {
    int fd;
    bool is_broken;
    size_t length;
    double ns_per_tick;
    char text[ROOM];
};

static void flush(struct output *to)
{
    for (size_t at = 0; at < to->length && !to->is_broken;) {
        ssize_t written = raw_append(to->fd, to->text + at, to->length - at);
        to->is_broken = written <= 0;
        at += written > 0 ? (size_t)written : 0;
    }
    to->length = 0;
}

__attribute__((format(printf, 2, 3))) static void say(struct output *to, const char *format, ...)
{
    va_list more;

    if (to->length > ROOM - 1024)
        flush(to);
    va_start(more, format);
    int length = vsnprintf(to->text + to->length, ROOM - to->length, format, more);
    va_end(more);
    to->length += length > 0 ? (size_t)length : 0;
}

static void say_string(struct output *to, const char *text)
{
    say(to, "\"");
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        if (c == '"' || c == '\\' || c < 0x20 || c >= 0x7f)
            say(to, "\\u%04x", c);
        else
            say(to, "%c", c);
    }
    say(to, "\"");
}

static unsigned long long in_ns(const struct output *to, uint64_t ticks)
{
    return (unsigned long long)((double)ticks * to->ns_per_tick);
}

// Convert a time in ticks to nanoseconds of CLOCK_REALTIME.
static unsigned long long at_ns(const struct output *to, uint64_t ticks)
{
    return witness->realtime + in_ns(to, ticks - witness->ticks);
}

// Add a cell to the sums. Calls since the last timed call are assumed to have the same average bytes and ticks as the
// calls before.
static void add(const struct io_cell *cell, uint64_t *calls, uint64_t *bytes, uint64_t *ticks)
{
    const uint64_t timed = cell->calls - cell->since;
    const unsigned __int128 more = timed ? cell->since : 0;

    *calls += cell->calls;
    *bytes += cell->bytes + (uint64_t)(more * cell->bytes / (timed ? timed : 1));
    *ticks += cell->ticks + (uint64_t)(more * cell->ticks / (timed ? timed : 1));
}

static void say_files(struct output *to)
{
    int said = 0;

    say(to, ",\n\"files\": [");
    for (int mount = 0; mount < MOUNTS_MAX; mount++)
        for (int direction = 0; direction < DIRECTIONS; direction++)
            for (int variant = 0; variant < 4 * CLASSES; variant++) {
                const int sequential = variant / (2 * CLASSES), inside = variant / CLASSES % 2,
                          class = variant % CLASSES;
                uint64_t calls = 0, bytes = 0, ticks = 0;
                for (int i = 0; i < THREADS_MAX && (i == 0 || witness->blocks[i].used); i++) {
                    add(&witness->blocks[i].io[mount][direction][sequential][inside][class], &calls, &bytes, &ticks);
                }
                if (calls)
                    say(to,
                        "%s{\"op\": \"%s\", \"fs\": %lld, \"sequential\": %s, \"mpi\": %s, \"class\": %d, "
                        "\"calls\": %llu, \"bytes\": %llu, \"ns\": %llu}",
                        said++ ? ",\n " : "", direction_names[direction], (long long)witness->mounts[mount].type,
                        sequential ? "true" : "false", inside ? "true" : "false", class, (unsigned long long)calls,
                        (unsigned long long)bytes, in_ns(to, ticks));
            }
    say(to, "],\n\"inputs\": [");
    said = 0;
    for (int i = 0; i < INPUTS_MAX; i++) {
        const struct input *input = &witness->inputs[i];
        const int64_t bytes = atomic_load_explicit(&input->bytes, memory_order_acquire);
        if (bytes) {
            say(to, "%s[", said++ ? ",\n " : "");
            say_string(to, input->path);
            say(to, ", %lld]", (long long)bytes);
        }
    }
    say(to, "],\n\"meta\": {");
    for (int meta = 0; meta < METAS; meta++) {
        uint64_t calls = 0, bytes = 0, ticks = 0;
        for (int i = 0; i < THREADS_MAX && (i == 0 || witness->blocks[i].used); i++) {
            add(&witness->blocks[i].meta[meta], &calls, &bytes, &ticks);
        }
        say(to, "%s\"%s\": [%llu, %llu]", meta ? ", " : "", meta_names[meta], (unsigned long long)calls,
            in_ns(to, ticks));
    }
    say(to, "}");
}

static void say_process(struct output *to, uint64_t now)
{
    static struct process_facts facts;
    static const char *const asked[] = {"OMP_NUM_THREADS", "OMP_PROC_BIND", "OMP_PLACES",   "OMP_SCHEDULE",
                                        "OMP_WAIT_POLICY", "SLURM_PROCID",  "SLURM_JOB_ID", "SLURM_STEP_ID",
                                        "PMIX_NAMESPACE",  "PMI_JOBID"};
    int said = 0;

    process_facts_take(&facts);
    say(to, ",\n\"start\": %llu, \"wall\": %llu, \"cpu\": %llu, \"system\": %llu, \"main_cpu\": %llu, ",
        (unsigned long long)witness->realtime, in_ns(to, now - witness->ticks), (unsigned long long)facts.cpu_ns,
        (unsigned long long)facts.system_ns, (unsigned long long)facts.main_cpu_ns);
    say(to,
        "\"minor_faults\": %lld, \"major_faults\": %lld, \"fault\": %llu, \"voluntary\": %lld, \"involuntary\": %lld, ",
        facts.minor_faults, facts.major_faults, (unsigned long long)facts.fault_ns, facts.voluntary, facts.involuntary);
    say(to, "\"threads\": %d, \"processors\": %d, \"online\": %d, \"peak_rss\": %lld, ", facts.threads,
        facts.processors, facts.online, facts.peak_rss);
    say(to, "\"rchar\": %llu, \"wchar\": %llu, \"read_bytes\": %llu, \"write_bytes\": %llu,\n\"affinity\": ",
        (unsigned long long)facts.rchar, (unsigned long long)facts.wchar, (unsigned long long)facts.read_bytes,
        (unsigned long long)facts.write_bytes);
    say_string(to, facts.affinity);
    say(to, ", \"libraries\": [");
    for (int i = 0; i < facts.libraries; i++) {
        say(to, i ? ", " : "");
        say_string(to, facts.library[i]);
    }
    say(to, "], \"environment\": {");
    for (size_t i = 0; i < sizeof(asked) / sizeof(*asked); i++) {
        const char *value = getenv(asked[i]);
        if (!value || strlen(value) > 256)
            continue;
        say(to, "%s\"%s\": ", said++ ? ", " : "", asked[i]);
        say_string(to, value);
    }
    say(to, "}");
}

static void say_samples(struct output *to, const char *name, const struct samples *samples)
{
    say(to, ",\n\"%s\": {\"stride\": %u, \"calls\": [", name, samples->stride ? samples->stride : 1);
    for (uint32_t i = 0; i < samples->count; i++) {
        const struct sample *one = &samples->samples[i];
        say(to, "%s[\"%llx\", \"%s\", %d, %u, %d, %llu, %llu, %llu]", i ? ",\n " : "", (unsigned long long)one->key,
            kind_names[one->kind], one->is_send, one->class, one->other, at_ns(to, one->arrived),
            at_ns(to, one->blocked), at_ns(to, one->left));
    }
    say(to, "]}");
}

static void say_shapes(struct output *to, const struct mpi_state *mpi)
{
    int said = 0;

    say(to, ",\n\"shapes\": [");
    for (int i = 1; i < SHAPES_MAX && mpi->shapes[i].id; i++) {
        const struct shape *shape = &mpi->shapes[i];
        say(to, "%s{\"shape\": %d, \"id\": \"%llx\", \"size\": %d, \"world\": %s", said++ ? ",\n " : "", i,
            (unsigned long long)shape->id, shape->size, shape->is_world ? "true" : "false");
        if (shape->rank <= 0 && shape->members) { // the first member reports the list for all members
            say(to, ", \"members\": [");
            for (int at = 0; at < shape->size; at++)
                say(to, "%s%d", at ? "," : "", shape->members[at]);
            say(to, "]");
        }
        say(to, "}");
    }
    say(to, "]");
}

static void say_mpi(struct output *to)
{
    static const char *const file_names[] = {"read", "write", "meta"};
    const struct mpi_state *mpi = mpi_state();
    int said = 0;

    if (!mpi->begun)
        return;
    say(to,
        ",\n\"mpi\": {\"rank\": %d, \"ranks\": %d, \"threads\": %s, \"begun\": %llu, \"ended\": %llu, \"init\": %llu, ",
        mpi->rank, mpi->ranks, mpi->has_threads ? "true" : "false", at_ns(to, mpi->begun),
        mpi->ended ? at_ns(to, mpi->ended) : 0ULL, in_ns(to, mpi->in_init));
    say(to, "\"lost\": %llu, \"unnumbered\": %u,\n\"kinds\": {", (unsigned long long)mpi->lost, mpi->unnumbered);
    for (int kind = 0; kind < KINDS; kind++)
        if (mpi->kind_calls[kind])
            say(to, "%s\"%s\": [%llu, %llu]", said++ ? ", " : "", kind_names[kind],
                (unsigned long long)mpi->kind_calls[kind], in_ns(to, mpi->kind_ticks[kind]));
    say(to, "}");
    say_shapes(to, mpi);
    say(to, ",\n\"collectives\": [");
    said = 0;
    for (int i = 0; i < CELLS_MAX; i++) {
        const struct cell *cell = &mpi->collectives[i];
        if (cell->key)
            say(to,
                "%s{\"kind\": \"%s\", \"shape\": %d, \"class\": %d, \"calls\": %llu, \"bytes\": %llu, \"largest\": "
                "%llu, "
                "\"ns\": %llu}",
                said++ ? ",\n " : "", kind_names[cell->key >> 24 & 0xffff], (int)(cell->key >> 8 & 0xffff),
                (int)(cell->key & 0xff), (unsigned long long)cell->calls, (unsigned long long)cell->bytes,
                (unsigned long long)cell->largest, in_ns(to, cell->ticks));
    }
    say(to, "],\n\"messages\": [");
    said = 0;
    for (int i = 0; i < CELLS_MAX; i++) {
        const struct cell *cell = &mpi->messages[i];
        if (cell->key)
            say(to, "%s{\"peer\": %d, \"class\": %d, \"calls\": %llu, \"sent\": %llu, \"bytes\": %llu, \"ns\": %llu}",
                said++ ? ",\n " : "", (int)(uint32_t)(cell->key >> 8 & 0xffffffff) - 2, (int)(cell->key & 0xff),
                (unsigned long long)cell->calls, (unsigned long long)cell->sent, (unsigned long long)cell->bytes,
                in_ns(to, cell->ticks));
    }
    say(to, "],\n\"mpi_files\": [");
    said = 0;
    for (int i = 0; i < 3 * CLASSES; i++) {
        const struct cell *cell = &mpi->files[i];
        if (cell->calls)
            say(to, "%s{\"op\": \"%s\", \"class\": %d, \"calls\": %llu, \"bytes\": %llu, \"ns\": %llu}",
                said++ ? ",\n " : "", file_names[i / CLASSES], i % CLASSES, (unsigned long long)cell->calls,
                (unsigned long long)cell->bytes, in_ns(to, cell->ticks));
    }
    say(to, "]");
    say_samples(to, "collective_samples", &mpi->collective_samples);
    say_samples(to, "message_samples", &mpi->message_samples);
    say(to, "}");
}

static void say_all(struct output *to, const char *host, uint64_t now)
{
    static char program[PATH_MAX];

    ssize_t length = readlink("/proc/self/exe", program, sizeof(program) - 1);
    program[length > 0 ? length : 0] = '\0';
    say(to, "{\"version\": %d, \"host\": ", VERSION);
    say_string(to, host);
    say(to, ", \"pid\": %d, \"parent\": %d, \"program\": ", (int)getpid(), (int)getppid());
    say_string(to, program);
    say_process(to, now);
    say_files(to);
    say_mpi(to);
    say(to, "}\n");
    flush(to);
}

// True if the directory has too many files for further reports of programs without MPI. A script that starts a million
// programs must not use up its user's quota of files. The number of files is estimated from the size of the directory
// itself, without listing them. This works on file systems where that size grows with the number of files (ext4, XFS
// and others; NFS shows the size on its server).
static bool is_full(const char *directory)
{
    struct statx status;

    return syscall(SYS_statx, AT_FDCWD, directory, 0, STATX_SIZE, &status) == 0 && status.stx_size > DIRECTORY_BYTES;
}

void report_write(void)
{
    // Large variables are static and not on the stack, because a signal handler that ends the process may have a stack
    // of only 8 KiB. They are not thread-local, because a process ends only once.
    static struct output output;
    static char host[HOST_BYTES];
    static char path[PATH_MAX + 2 * HOST_BYTES];
    static char part[PATH_MAX + 2 * HOST_BYTES];

    if (!witness || !*witness_profile || witness->pid != getpid())
        return;
    const uint64_t now = clock_ticks();
    const uint64_t wall = clock_ns(CLOCK_MONOTONIC) - witness->monotonic;
    if (!mpi_state()->begun && (wall < WORTH_NS || is_full(witness_profile)))
        return;
    if (atomic_exchange(&witness->is_writing, 1))
        return;
    gethostname(host, sizeof(host) - 1);
    const int length = snprintf(path, sizeof(path), "%s/%s.%d.%llx.json", witness_profile, host, (int)getpid(),
                                (unsigned long long)witness->realtime);
    snprintf(part, sizeof(part), "%.*s.part", length, path);
    output = (struct output){.fd = raw_open(part, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644)};
    output.ns_per_tick = now > witness->ticks ? (double)wall / (double)(now - witness->ticks) : 1;
    if (output.fd >= 0) {
        say_all(&output, host, now);
        raw_close(output.fd);
        if (output.is_broken || syscall(SYS_renameat, AT_FDCWD, part, AT_FDCWD, path))
            syscall(SYS_unlinkat, AT_FDCWD, part, 0);
    }
    atomic_store(&witness->is_writing, 0);
}
