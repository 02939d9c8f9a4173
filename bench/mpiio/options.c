// SPDX-License-Identifier: Apache-2.0
#include "options.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>

static const uint64_t NUMBER_MAX = 1000000000;
static const uint64_t RANKS_MAX = 1000000;
static const uint64_t GRID_MAX = 4096;
static const uint64_t BYTES_MAX = (uint64_t)1 << 30; // limit of one write, because MPI counts bytes in an int

const char OPTIONS_HELP[] = "\
mpirun mpiio --file FILE [OPTION...]: write a file through MPI-IO, read it again, and print both times\n\
\n\
  --kernel NAME          contiguous: each rank has a block of the file\n\
                         strided: the ranks' transfers alternate\n\
                         segmented: each rank has a block of each segment\n\
                         s3d: four variables on a 3-D grid divided into boxes, like the restart files of S3D\n\
                         btio: five numbers at each point, diagonal multi-partitioning, like BT-IO of NAS\n\
                         genericio: nine variables of particles, like GenericIO of HACC   (default: contiguous)\n\
  --block BYTES          size of a rank's block in a segment (default: 4M); may end with K, M or G\n\
  --transfer BYTES       size of one write (default: 256K); --block must be a multiple of it\n\
  --segments N           number of segments, for segmented (default: 4)\n\
  --grid X,Y,Z           grid points along each axis, for s3d and btio (default: 64,64,64)\n\
  --split X,Y,Z          ranks along each axis, for s3d (default: as evenly as possible)\n\
  --particles N          total number of particles, for genericio (default: 1000000)\n\
  --steps N              number of dumps, one after the other (default: 1)\n\
  --independent          use independent instead of collective calls\n\
  --per-process          use one file per rank, FILE.RANK\n\
  --sync                 include the flush to disk in the write time\n\
  --cold                 drop the file from the page cache of each node before it is read\n\
  --hint NAME=VALUE      MPI-IO hint that the program sets; up to 16 times\n\
  --keep                 keep the file\n\
  --show RANKS           print rank, offset and length of each run of a dump with RANKS ranks, and write nothing\n\
\n\
Every byte read is compared with the byte written.\n\
";

enum {
    OPTION_KERNEL = 256,
    OPTION_FILE,
    OPTION_BLOCK,
    OPTION_TRANSFER,
    OPTION_SEGMENTS,
    OPTION_GRID,
    OPTION_SPLIT,
    OPTION_PARTICLES,
    OPTION_STEPS,
    OPTION_HINT,
    OPTION_INDEPENDENT,
    OPTION_PER_PROCESS,
    OPTION_SYNC,
    OPTION_COLD,
    OPTION_KEEP,
    OPTION_SHOW,
    OPTION_HELP,
};

static const struct option LONG[] = {
    {"kernel", required_argument, NULL, OPTION_KERNEL},
    {"file", required_argument, NULL, OPTION_FILE},
    {"block", required_argument, NULL, OPTION_BLOCK},
    {"transfer", required_argument, NULL, OPTION_TRANSFER},
    {"segments", required_argument, NULL, OPTION_SEGMENTS},
    {"grid", required_argument, NULL, OPTION_GRID},
    {"split", required_argument, NULL, OPTION_SPLIT},
    {"particles", required_argument, NULL, OPTION_PARTICLES},
    {"steps", required_argument, NULL, OPTION_STEPS},
    {"hint", required_argument, NULL, OPTION_HINT},
    {"independent", no_argument, NULL, OPTION_INDEPENDENT},
    {"per-process", no_argument, NULL, OPTION_PER_PROCESS},
    {"sync", no_argument, NULL, OPTION_SYNC},
    {"cold", no_argument, NULL, OPTION_COLD},
    {"keep", no_argument, NULL, OPTION_KEEP},
    {"show", required_argument, NULL, OPTION_SHOW},
    {"help", no_argument, NULL, OPTION_HELP},
    {NULL, 0, NULL, 0},
};

static int read_kernel(const char *text, enum kernel *kernel, char *problem)
{
    for (int i = 0; i < KERNELS; i++) {
        if (strcmp(text, KERNEL_NAMES[i]) == 0) {
            *kernel = (enum kernel)i;
            return 0;
        }
    }
    snprintf(problem, PROBLEM_BYTES, "--kernel takes contiguous, strided, segmented, s3d, btio or genericio, not %.60s",
             text);
    return -1;
}

static int read_axes(const char *name, const char *text, uint64_t axes[AXES], char *problem)
{
    const char *end = text;

    for (int i = 0; i < AXES; i++) {
        if (number_take(end, 0, GRID_MAX, &axes[i], &end) || !axes[i] || *end++ != (i < AXES - 1 ? ',' : '\0')) {
            snprintf(problem, PROBLEM_BYTES, "--%s takes three numbers from 1 to %llu, e.g. 4,2,1, not %.60s", name,
                     (unsigned long long)GRID_MAX, text);
            return -1;
        }
    }
    return 0;
}

static int read_hint(const char *text, struct options *o, char *problem)
{
    const char *equals = strchr(text, '=');
    struct hint *hint = &o->hints[o->hint_count];

    if (o->hint_count == HINTS_MAX || !equals || equals == text || (size_t)(equals - text) >= sizeof(hint->name)) {
        snprintf(problem, PROBLEM_BYTES, "--hint takes NAME=VALUE, at most %d times, not %.60s", HINTS_MAX, text);
        return -1;
    }
    memcpy(hint->name, text, (size_t)(equals - text));
    hint->value = equals + 1;
    o->hint_count++;
    return 0;
}

static int take(int option, const char *text, struct options *o, char *problem)
{
    struct shape *s = &o->shape;

    switch (option) {
    case OPTION_KERNEL:
        return read_kernel(text, &s->kernel, problem);
    case OPTION_BLOCK:
        return number_read("block", text, 1, 1, BYTES_MAX, &s->block, problem);
    case OPTION_TRANSFER:
        return number_read("transfer", text, 1, 1, BYTES_MAX, &s->transfer, problem);
    case OPTION_SEGMENTS:
        return number_read("segments", text, 0, 1, NUMBER_MAX, &s->segments, problem);
    case OPTION_GRID:
        return read_axes("grid", text, s->grid, problem);
    case OPTION_SPLIT:
        return read_axes("split", text, s->split, problem);
    case OPTION_PARTICLES:
        return number_read("particles", text, 0, 1, NUMBER_MAX, &s->particles, problem);
    case OPTION_STEPS:
        return number_read("steps", text, 0, 1, NUMBER_MAX, &o->steps, problem);
    case OPTION_HINT:
        return read_hint(text, o, problem);
    case OPTION_FILE:
        o->file = text;
        return 0;
    case OPTION_INDEPENDENT:
        o->independent = 1;
        return 0;
    case OPTION_PER_PROCESS:
        o->per_process = 1;
        return 0;
    case OPTION_SYNC:
        o->sync = 1;
        return 0;
    case OPTION_COLD:
        o->cold = 1;
        return 0;
    case OPTION_KEEP:
        o->keep = 1;
        return 0;
    case OPTION_SHOW:
        return number_read("show", text, 0, 1, RANKS_MAX, &o->show, problem);
    default:
        o->help = 1;
        return 0;
    }
}

int options_read(int argc, char **argv, struct options *options, char problem[PROBLEM_BYTES])
{
    int option;

    *options = (struct options){
        .shape = {.block = 4 << 20, .transfer = 256 << 10, .segments = 4, .grid = {64, 64, 64}, .particles = 1000000},
        .steps = 1,
    };
    while ((option = getopt_long(argc, argv, ":", LONG, NULL)) != -1) {
        if (option == '?' || option == ':') {
            snprintf(problem, PROBLEM_BYTES, "%.60s: %s; --help shows all", argv[optind - 1],
                     option == ':' ? "takes a value" : "unknown option");
            return -1;
        }
        if (take(option, optarg, options, problem))
            return -1;
    }
    const char *wrong = NULL;
    if (optind < argc)
        wrong = "takes options only; --help shows all";
    else if (!options->file && !options->help && !options->show)
        wrong = "needs a file: give --file FILE";
    else if (options->shape.block % options->shape.transfer)
        wrong = "--block is not a multiple of --transfer: change one of the two";
    if (wrong)
        snprintf(problem, PROBLEM_BYTES, "%s", wrong);
    return wrong ? -1 : 0;
}
