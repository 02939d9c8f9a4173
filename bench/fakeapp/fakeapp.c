// SPDX-License-Identifier: Apache-2.0
// Reads small pieces of a file in a pattern, like the programs that an accelerator of small reads is meant for.
// `fakeapp-mpi` is built from the same source with MPI. The exit status is 2 for wrong options and 1 for errors.
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "content.h"
#include "options.h"
#include "pattern.h"
#include "world.h"

enum { STATUS_WRONG = 1, STATUS_REFUSED = 2 };

struct worker {
    pthread_t thread;
    int started;
    int fd;
    const struct options *options;
    struct walk walk;
    uint64_t reads;
    uint64_t bytes;
    uint64_t sum;
    char problem[PROBLEM_BYTES]; // error message; "": no error
};

static double now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

__attribute__((format(printf, 2, 3))) static int complain(char *problem, const char *format, ...)
{
    va_list words;

    va_start(words, format);
    vsnprintf(problem, PROBLEM_BYTES, format, words);
    va_end(words);
    return -1;
}

static int read_all(struct worker *w, const struct operation *o, unsigned char *bytes)
{
    size_t done = 0;

    while (done < o->size) {
        ssize_t count = pread(w->fd, bytes + done, o->size - done, (off_t)(o->offset + done));
        if (count < 0 && errno == EINTR)
            continue;
        if (count <= 0)
            return complain(w->problem, "%s: %llu bytes at %llu cannot be read: %s", w->options->file,
                            (unsigned long long)o->size, (unsigned long long)o->offset,
                            count ? strerror(errno) : "the file was truncated");
        done += (size_t)count;
    }
    return 0;
}

static int verify(struct worker *w, const struct operation *o, const unsigned char *bytes, unsigned char *right)
{
    content_fill(right, o->size, o->offset);
    if (memcmp(bytes, right, o->size) == 0)
        return 0;
    return complain(w->problem, "%s: wrong bytes at %llu: create the file again with --create", w->options->file,
                    (unsigned long long)o->offset);
}

static void compute(uint64_t microseconds)
{
    double end = now() + (double)microseconds * 1e-6;

    while (now() < end)
        ;
}

static void *work(void *argument)
{
    struct worker *w = argument;
    const struct options *options = w->options;
    struct operation operation;
    unsigned char *bytes = malloc(options->pattern.max_size * 2);

    if (!bytes) {
        complain(w->problem, "no memory for reads of %llu bytes", (unsigned long long)options->pattern.max_size);
        return NULL;
    }
    while (walk_next(&w->walk, &operation)) {
        if (read_all(w, &operation, bytes))
            break;
        if (options->verify && verify(w, &operation, bytes, bytes + options->pattern.max_size))
            break;
        w->reads++;
        w->bytes += operation.size;
        w->sum += content_sum(bytes, operation.size);
        if (options->compute_us)
            compute(options->compute_us);
    }
    free(bytes);
    return NULL;
}

static int show(const struct options *options)
{
    struct walk walk = {.pattern = &options->pattern, .seed = options->seed, .file_size = options->size, .workers = 1};
    struct operation o;

    while (walk_next(&walk, &o))
        printf("%llu %llu %llu\n", (unsigned long long)o.lead, (unsigned long long)o.offset,
               (unsigned long long)o.size);
    return fflush(stdout) ? STATUS_WRONG : 0;
}

// Open the file and prepare it for reading. Return its descriptor, or -1 with a message in `problem`.
static int open_file(struct options *options, char *problem)
{
    struct stat info;
    int fd = open(options->file, O_RDONLY | O_CLOEXEC);

    if (fd < 0)
        return complain(problem, "%s: cannot be opened: %s; create it with --create --size BYTES", options->file,
                        strerror(errno));
    if (fstat(fd, &info) || !S_ISREG(info.st_mode)) {
        complain(problem, "%s: not a regular file: give one made by --create", options->file);
        goto fail;
    }
    options->size = options->size ? options->size : (uint64_t)info.st_size;
    if (options->cold && content_make_cold(fd)) {
        complain(problem, "%s: cannot be dropped from memory: %s", options->file, strerror(errno));
        goto fail;
    }
    return fd;
fail:
    close(fd);
    return -1;
}

// Make this rank's reads in several threads, and add up the threads' results in `total`.
static int run(const struct options *options, struct world world, int fd, struct worker *total, double *elapsed)
{
    uint64_t threads = options->pattern.threads;
    struct worker *workers = calloc(threads, sizeof(*workers));
    int status = 0;

    if (!workers)
        status = complain(total->problem, "no memory for %llu threads", (unsigned long long)threads);
    world_meet();
    double begin = now();
    for (uint64_t i = 0; !status && i < threads; i++) {
        struct worker *w = &workers[i];
        *w = (struct worker){.fd = fd, .options = options};
        w->walk = (struct walk){
            .pattern = &options->pattern,
            .seed = options->seed,
            .file_size = options->size,
            .worker = ((options->share - 1) * (uint64_t)world.ranks + (uint64_t)world.rank) * threads + i,
            .workers = options->shares * (uint64_t)world.ranks * threads,
        };
        if (threads == 1) {
            work(w);
            continue;
        }
        int error = pthread_create(&w->thread, NULL, work, w);
        w->started = !error;
        if (error)
            status =
                complain(total->problem, "cannot start %llu threads: %s", (unsigned long long)threads, strerror(error));
    }
    for (uint64_t i = 0; workers && i < threads; i++) {
        struct worker *w = &workers[i];
        if (w->started)
            pthread_join(w->thread, NULL);
        total->reads += w->reads;
        total->bytes += w->bytes;
        total->sum += w->sum;
        if (*w->problem && !status)
            status = complain(total->problem, "%s", w->problem);
    }
    *elapsed = now() - begin;
    free(workers);
    return status;
}

static int check_size(const struct options *options, char *problem)
{
    if (options->size >= options->pattern.max_size && options->size >= options->pattern.leads)
        return 0;
    return complain(problem, "a file of %llu bytes is too small for reads of %llu and %llu leads: give a larger one",
                    (unsigned long long)options->size, (unsigned long long)options->pattern.max_size,
                    (unsigned long long)options->pattern.leads);
}

static int check_workers(const struct options *options, struct world world, char *problem)
{
    uint64_t workers = options->shares * (uint64_t)world.ranks * options->pattern.threads;

    if (workers <= options->pattern.leads)
        return 0;
    return complain(
        problem, "%llu leads are too few for %llu that share them: give more leads, or fewer ranks, threads or shares",
        (unsigned long long)options->pattern.leads, (unsigned long long)workers);
}

// Make and report all reads. All ranks call this function together. If one rank has a problem, all ranks end, because
// the other ranks would otherwise wait for that rank forever.
static int measure(struct options *options, struct world world, char *problem)
{
    struct worker total = {.fd = -1};
    double elapsed = 0;
    int fd = -1;
    int status = 0;

    if (check_workers(options, world, problem) || (fd = open_file(options, problem)) < 0 ||
        check_size(options, problem))
        status = STATUS_REFUSED;
    if (world_sum(status != 0)) {
        status = STATUS_REFUSED;
        goto out;
    }
    if (run(options, world, fd, &total, &elapsed)) {
        memcpy(problem, total.problem, PROBLEM_BYTES);
        status = STATUS_WRONG;
    }
    if (world_sum(status != 0)) {
        status = STATUS_WRONG;
        goto out;
    }
    elapsed = world_largest(elapsed);
    total.reads = world_sum(total.reads);
    total.bytes = world_sum(total.bytes);
    total.sum = world_sum(total.sum);
    if (world.rank == 0)
        printf("fakeapp: %llu reads of %llu bytes, checksum %016llx, time %.6f s\n", (unsigned long long)total.reads,
               (unsigned long long)total.bytes, (unsigned long long)total.sum, elapsed);
out:
    if (fd >= 0)
        close(fd);
    return status;
}

// Perform a task for which one rank is enough: create the file, list the reads, or print the help. Return the exit
// status.
static int alone(struct options *options, char *problem)
{
    int fd = -1;

    if (options->mode == MODE_HELP)
        return fputs(OPTIONS_HELP, stdout) < 0 ? STATUS_WRONG : 0;
    if (options->mode == MODE_CREATE) {
        if (content_create(options->file, options->size) == 0)
            return 0;
        complain(problem, "%s: cannot be created: %s; give a new name, and free space on the disk", options->file,
                 strerror(errno));
        return STATUS_WRONG;
    }
    if (options->file && (fd = open_file(options, problem)) < 0)
        return STATUS_REFUSED;
    if (fd >= 0)
        close(fd);
    return check_size(options, problem) ? STATUS_REFUSED : show(options);
}

int main(int argc, char **argv)
{
    struct world world = world_begin(&argc, &argv);
    struct options options;
    char problem[PROBLEM_BYTES] = "";
    int status = 0;

    if (options_read(argc, argv, &options, problem))
        status = STATUS_REFUSED;
    else if (options.mode == MODE_READ)
        status = measure(&options, world, problem);
    else if (world.rank == 0)
        status = alone(&options, problem);
    if (world_least(*problem ? world.rank : world.ranks) == world.rank) // one rank prints for all
        fprintf(stderr, "fakeapp: %s\n", problem);
    world_end();
    return status;
}
