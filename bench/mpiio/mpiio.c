// SPDX-License-Identifier: Apache-2.0
// Writes a file through MPI-IO and reads it again, with the access patterns of HPC applications. The exit status is 2
// for wrong options and 1 for errors.
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "content.h"
#include "layout.h"
#include "options.h"

enum { STATUS_WRONG = 1, STATUS_REFUSED = 2 };

struct work {
    const struct options *options;
    struct layout layout;
    MPI_Datatype *types; // for each operation with several runs of bytes, the offsets of these runs in the file
    MPI_Comm together;   // communicator of the ranks that open the same file
    MPI_Info info;
    int rank;
    int ranks;
    char path[PATH_MAX];
    unsigned char *bytes; // this rank's bytes of one dump
};

static int failed(const struct work *w, int code, const char *what, char *problem)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int length = 0;

    if (code == MPI_SUCCESS)
        return 0;
    MPI_Error_string(code, text, &length);
    snprintf(problem, PROBLEM_BYTES, "%.200s: cannot be %s: %.200s", w->path, what, text);
    return -1;
}

// Return whether any rank has a problem. If so, copy the message of the first such rank to `problem` on all ranks.
static int any(char *problem, int rank)
{
    int mine = *problem ? rank : INT_MAX;
    int first;

    MPI_Allreduce(&mine, &first, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (first != INT_MAX)
        MPI_Bcast(problem, PROBLEM_BYTES, MPI_CHAR, first, MPI_COMM_WORLD);
    return first != INT_MAX;
}

static double largest(double value)
{
    MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return value;
}

// Return whether operations may have several runs of bytes, so that file views are necessary. If each rank has its own
// file, each operation has a single run, because a rank's bytes are contiguous.
static int has_views(const struct options *options)
{
    return !options->per_process && (options->shape.kernel == KERNEL_S3D || options->shape.kernel == KERNEL_BTIO);
}

static int make_types(struct work *w, char *problem)
{
    w->types = calloc(w->layout.count ? w->layout.count : 1, sizeof(MPI_Datatype));
    if (!w->types)
        return snprintf(problem, PROBLEM_BYTES, "no memory for %llu operations", (unsigned long long)w->layout.count);
    for (uint64_t i = 0; i < w->layout.count; i++)
        w->types[i] = MPI_DATATYPE_NULL;
    for (uint64_t i = 0; i < w->layout.count && has_views(w->options); i++) {
        const struct operation *o = &w->layout.operations[i];
        int *lengths = calloc(o->count ? o->count : 1, sizeof(*lengths));
        MPI_Aint *places = calloc(o->count ? o->count : 1, sizeof(*places));
        for (uint64_t k = 0; lengths && places && k < o->count; k++) {
            lengths[k] = (int)o->runs[k].bytes;
            places[k] = (MPI_Aint)o->runs[k].at;
        }
        if (!lengths || !places)
            snprintf(problem, PROBLEM_BYTES, "no memory for %llu runs", (unsigned long long)o->count);
        else {
            MPI_Type_create_hindexed((int)o->count, lengths, places, MPI_BYTE, &w->types[i]);
            MPI_Type_commit(&w->types[i]);
        }
        free(lengths);
        free(places);
        if (*problem)
            return -1;
    }
    return 0;
}

// Compute the correct content of this rank's part of dump `step`.
static void fill(struct work *w, uint64_t step, unsigned char *bytes)
{
    for (uint64_t i = 0; i < w->layout.count; i++) {
        const struct operation *o = &w->layout.operations[i];
        for (uint64_t k = 0; k < o->count; k++) {
            content_fill(bytes, o->runs[k].bytes, step * w->layout.dump_bytes + o->runs[k].at);
            bytes += o->runs[k].bytes;
        }
    }
}

static int compare(struct work *w, uint64_t step, unsigned char *right, char *problem)
{
    fill(w, step, right);
    if (memcmp(w->bytes, right, w->layout.own_bytes) == 0)
        return 0;
    uint64_t at = 0;
    while (w->bytes[at] == right[at])
        at++;
    snprintf(problem, PROBLEM_BYTES, "%.200s: rank %d read a wrong byte in step %llu, number %llu of its bytes",
             w->path, w->rank, (unsigned long long)step, (unsigned long long)at);
    return -1;
}

// Report a failed MPI call, and abort the whole program, because the other ranks would otherwise wait forever for this
// rank.
static void give_up(const struct work *w, int code, const char *what)
{
    char problem[PROBLEM_BYTES] = "";

    failed(w, code, what, problem);
    fprintf(stderr, "mpiio: %s\n", problem);
    MPI_Abort(MPI_COMM_WORLD, STATUS_WRONG);
}

// Write or read one dump.
static void dump(struct work *w, MPI_File file, uint64_t step, int writing)
{
    int together = !w->options->independent;
    unsigned char *bytes = w->bytes;
    MPI_Offset own = (MPI_Offset)(step * w->layout.own_bytes);

    for (uint64_t i = 0; i < w->layout.count; i++) {
        const struct operation *o = &w->layout.operations[i];
        MPI_Offset base = (MPI_Offset)(step * w->layout.dump_bytes);
        MPI_Offset at = o->count ? base + (MPI_Offset)o->runs[0].at : base;
        int count = (int)o->bytes;
        int code;
        if (w->types[i] != MPI_DATATYPE_NULL) {
            code = MPI_File_set_view(file, base, MPI_BYTE, w->types[i], "native", MPI_INFO_NULL);
            if (code != MPI_SUCCESS)
                give_up(w, code, "given a view");
            at = 0;
        } else if (w->options->per_process) {
            at = own;
            own += count;
        }
        if (writing)
            code = together ? MPI_File_write_at_all(file, at, bytes, count, MPI_BYTE, MPI_STATUS_IGNORE)
                            : MPI_File_write_at(file, at, bytes, count, MPI_BYTE, MPI_STATUS_IGNORE);
        else
            code = together ? MPI_File_read_at_all(file, at, bytes, count, MPI_BYTE, MPI_STATUS_IGNORE)
                            : MPI_File_read_at(file, at, bytes, count, MPI_BYTE, MPI_STATUS_IGNORE);
        if (code != MPI_SUCCESS)
            give_up(w, code, writing ? "written" : "read");
        bytes += count;
    }
}

// Write or read all steps. Return the seconds from before the file is opened until it is closed on the slowest rank,
// without the time for computing and comparing bytes.
static double pass(struct work *w, int writing, char *problem)
{
    const struct options *options = w->options;
    int mode = writing ? MPI_MODE_CREATE | MPI_MODE_WRONLY : MPI_MODE_RDONLY;
    unsigned char *right = writing ? NULL : malloc(w->layout.own_bytes + 1);
    MPI_File file;
    double seconds = 0;

    if (!writing && !right)
        snprintf(problem, PROBLEM_BYTES, "no memory for %llu bytes", (unsigned long long)w->layout.own_bytes);
    if (any(problem, w->rank))
        goto out;
    MPI_Barrier(MPI_COMM_WORLD);
    double begun = MPI_Wtime();
    failed(w, MPI_File_open(w->together, w->path, mode, w->info, &file), "opened", problem);
    seconds += MPI_Wtime() - begun;
    if (any(problem, w->rank))
        goto out;
    for (uint64_t step = 0; step < options->steps; step++) {
        if (writing)
            fill(w, step, w->bytes);
        MPI_Barrier(MPI_COMM_WORLD);
        begun = MPI_Wtime();
        dump(w, file, step, writing);
        seconds += MPI_Wtime() - begun;
        if (!writing)
            compare(w, step, right, problem);
        if (any(problem, w->rank))
            break;
    }
    MPI_Barrier(MPI_COMM_WORLD);
    begun = MPI_Wtime();
    if (writing && options->sync)
        failed(w, MPI_File_sync(file), "synchronized", problem);
    MPI_File_close(&file);
    seconds += MPI_Wtime() - begun;
out:
    free(right);
    return largest(seconds);
}

static void make_cold(const struct work *w, char *problem)
{
    int fd = open(w->path, O_RDONLY | O_CLOEXEC);

    if (fd < 0 || content_make_cold(fd))
        snprintf(problem, PROBLEM_BYTES, "%.200s: cannot be dropped from memory: %s", w->path, strerror(errno));
    if (fd >= 0)
        close(fd);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void tell(const struct work *w, const char *what, double seconds)
{
    double bytes = (double)w->options->steps * (double)w->layout.dump_bytes;

    if (w->rank == 0)
        printf("%s: %.6f s, %.3f MB/s\n", what, seconds, bytes / seconds / 1e6);
}

static int measure(struct work *w, char *problem)
{
    const struct options *options = w->options;

    if (w->rank == 0)
        printf("mpiio: %s, %d ranks, %llu steps of %llu bytes, %s, %s\n", KERNEL_NAMES[options->shape.kernel], w->ranks,
               (unsigned long long)options->steps, (unsigned long long)w->layout.dump_bytes,
               options->independent ? "independent" : "collective",
               options->per_process ? "a file of each rank" : "one file");
    double written = pass(w, 1, problem);
    if (any(problem, w->rank))
        return STATUS_WRONG;
    tell(w, "write", written);
    if (options->cold)
        make_cold(w, problem);
    double read = any(problem, w->rank) ? 0 : pass(w, 0, problem);
    if (any(problem, w->rank))
        return STATUS_WRONG;
    tell(w, "read", read);
    return 0;
}

static int show(const struct options *options, char *problem)
{
    for (uint64_t rank = 0; rank < options->show; rank++) {
        struct layout layout;
        int status = layout_make(&options->shape, (int)rank, (int)options->show, &layout, problem);
        for (uint64_t i = 0; !status && i < layout.count; i++) {
            for (uint64_t k = 0; k < layout.operations[i].count; k++) {
                const struct run *r = &layout.operations[i].runs[k];
                printf("%llu %llu %llu\n", (unsigned long long)rank, (unsigned long long)r->at,
                       (unsigned long long)r->bytes);
            }
        }
        layout_free(&layout);
        if (status)
            return STATUS_REFUSED;
    }
    return fflush(stdout) ? STATUS_WRONG : 0;
}

static int run(struct work *w, char *problem)
{
    const struct options *options = w->options;

    if (layout_make(&options->shape, w->rank, w->ranks, &w->layout, problem) == 0) {
        for (uint64_t i = 0; i < w->layout.count; i++) {
            if (w->layout.operations[i].bytes > INT_MAX)
                snprintf(problem, PROBLEM_BYTES,
                         "a rank writes 2 GiB or more at once: give more ranks or fewer points");
        }
    }
    if (any(problem, w->rank))
        return STATUS_REFUSED;
    w->bytes = malloc(w->layout.own_bytes + 1);
    if (!w->bytes)
        snprintf(problem, PROBLEM_BYTES, "no memory for %llu bytes", (unsigned long long)w->layout.own_bytes);
    else
        make_types(w, problem);
    if (any(problem, w->rank))
        return STATUS_WRONG;
    w->together = options->per_process ? MPI_COMM_SELF : MPI_COMM_WORLD;
    snprintf(w->path, sizeof(w->path), options->per_process ? "%s.%d" : "%s", options->file, w->rank);
    w->info = MPI_INFO_NULL;
    if (options->hint_count)
        MPI_Info_create(&w->info);
    for (int i = 0; i < options->hint_count; i++)
        MPI_Info_set(w->info, options->hints[i].name, options->hints[i].value);
    if (w->rank == 0 || options->per_process)
        unlink(w->path); // bytes left by another run could be mistaken for those of this run
    int status = measure(w, problem);
    MPI_Barrier(MPI_COMM_WORLD);
    if (!options->keep && (w->rank == 0 || options->per_process))
        unlink(w->path);
    return status;
}

static void end(struct work *w)
{
    for (uint64_t i = 0; w->types && i < w->layout.count; i++) {
        if (w->types[i] != MPI_DATATYPE_NULL)
            MPI_Type_free(&w->types[i]);
    }
    free(w->types);
    free(w->bytes);
    layout_free(&w->layout);
    if (w->info != MPI_INFO_NULL)
        MPI_Info_free(&w->info);
}

int main(int argc, char **argv)
{
    struct options options;
    struct work w = {.options = &options, .info = MPI_INFO_NULL};
    char problem[PROBLEM_BYTES] = "";
    int status = STATUS_REFUSED;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &w.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &w.ranks);
    if (options_read(argc, argv, &options, problem) == 0) {
        if (options.help)
            status = w.rank == 0 && fputs(OPTIONS_HELP, stdout) < 0 ? STATUS_WRONG : 0;
        else if (options.show)
            status = w.rank == 0 ? show(&options, problem) : 0;
        else
            status = run(&w, problem);
    }
    if (*problem && w.rank == 0)
        fprintf(stderr, "mpiio: %s\n", problem);
    end(&w);
    MPI_Finalize();
    return status;
}
