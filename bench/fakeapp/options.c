// SPDX-License-Identifier: Apache-2.0
#include "options.h"

#include <getopt.h>
#include <stdio.h>

#include "number.h"

static const uint64_t NUMBER_MAX = 1000000000;
static const uint64_t LENGTH_MAX = (uint64_t)1 << 50; // small enough that sums of lengths stay far below 2^64
static const uint64_t READ_MAX = (uint64_t)64 << 20;
static const uint64_t LEADS_MAX = 1000000;
static const uint64_t THREADS_MAX = 256;

const char OPTIONS_HELP[] = "\
fakeapp --file FILE [OPTION...]: read small pieces of a file in a pattern, and print the time\n\
\n\
The file is divided into chunks, one for each lead. A lead begins in the middle of its chunk. Leads are visited in turn;\n\
a visit makes --repeat reads within --scatter bytes around the lead, and moves the lead by --advance bytes. Sizes may\n\
end with K, M or G.\n\
\n\
  -p, --pattern a|b|c|d          preset for all numbers, which other options override (default: c)\n\
  -N, --operations N             total number of reads of all leads\n\
  -w, --min-size BYTES           smallest size of a read; reads begin at multiples of this size\n\
  -W, --max-size BYTES           largest size of a read\n\
  -S, --scatter BYTES            width around a lead; 0: exactly at the lead\n\
  -L, --leads N                  number of leads\n\
  -l, --advance BYTES            bytes by which a visit moves its lead\n\
  -r, --repeat N                 number of reads per visit\n\
  -g, --scatter-interval LOW,HIGH  draw a width for each lead, instead of -S; 0,0: off\n\
  -G, --repeat-interval LOW,HIGH   draw a number of reads for each lead, made in one visit, instead of -N and -r; 0,0: off\n\
  -t, --threads N                number of threads that share the leads (with MPI: per rank)\n\
      --share K/N                divide the leads into N parts, and make only the reads of part K\n\
  -s, --seed N                   seed of the random numbers; the same seed gives the same reads\n\
  -c, --compute MICROSECONDS     CPU work after each read (default: 0)\n\
      --cold                     first drop the file from the page cache (as root, you can drop all caches\n\
                                 of the machine with `echo 3 >/proc/sys/vm/drop_caches`)\n\
      --verify                   compare every byte with the byte that --create wrote\n\
      --create --size BYTES      create the file and do nothing else\n\
      --show [--size BYTES]      print lead, offset and size of each read, and read nothing\n\
";

static int read_range(const char *name, const char *text, int suffixes, uint64_t high, struct range *range,
                      char *problem)
{
    const char *end = NULL;

    if (number_take(text, suffixes, high, &range->low, &end) == 0 && *end == ',' &&
        number_take(end + 1, suffixes, high, &range->high, &end) == 0 && !*end && range->low <= range->high)
        return 0;
    snprintf(problem, PROBLEM_BYTES,
             "--%s takes two numbers up to %llu, the smaller one first, e.g. 100,500, not %.60s", name,
             (unsigned long long)high, text);
    return -1;
}

static int read_share(const char *text, struct options *options, char *problem)
{
    const char *end = NULL;

    if (number_take(text, 0, LEADS_MAX, &options->share, &end) == 0 && *end == '/' &&
        number_take(end + 1, 0, LEADS_MAX, &options->shares, &end) == 0 && !*end && options->share &&
        options->share <= options->shares)
        return 0;
    snprintf(problem, PROBLEM_BYTES, "--share takes a part and the number of parts, e.g. 1/4, not %.60s", text);
    return -1;
}

static int complain(char *problem, const char *words)
{
    snprintf(problem, PROBLEM_BYTES, "%s", words);
    return -1;
}

// Check the options that depend on each other. Return 0, or -1 with a message in `problem`.
static int check(const struct options *o, char *problem)
{
    const struct pattern *p = &o->pattern;

    if (!o->file && o->mode != MODE_SHOW)
        return complain(problem, "needs a file: give --file FILE");
    if (o->mode == MODE_CREATE && !o->size)
        return complain(problem, "--create needs a size: give --size BYTES");
    if (o->mode == MODE_SHOW && !o->size && !o->file)
        return complain(problem, "--show needs the file's size: give --size BYTES or --file FILE");
    if (o->mode == MODE_READ && o->size)
        return complain(problem, "--size is only for --create or --show: leave it out to read a file");
    if (p->min_size > p->max_size)
        return complain(problem, "--min-size is larger than --max-size: lower --min-size or raise --max-size");
    if (p->repeat_interval.high && !p->repeat_interval.low)
        return complain(problem, "--repeat-interval begins at 0: begin at 1 or more, e.g. 1,500");
    return 0;
}

enum { OPTION_COLD = 256, OPTION_VERIFY, OPTION_CREATE, OPTION_SIZE, OPTION_SHOW, OPTION_SHARE };

static const char SHORT[] = ":p:N:w:W:S:L:l:r:g:G:t:s:c:f:h";
static const struct option LONG[] = {
    {"pattern", required_argument, NULL, 'p'},
    {"operations", required_argument, NULL, 'N'},
    {"min-size", required_argument, NULL, 'w'},
    {"max-size", required_argument, NULL, 'W'},
    {"scatter", required_argument, NULL, 'S'},
    {"leads", required_argument, NULL, 'L'},
    {"advance", required_argument, NULL, 'l'},
    {"repeat", required_argument, NULL, 'r'},
    {"scatter-interval", required_argument, NULL, 'g'},
    {"repeat-interval", required_argument, NULL, 'G'},
    {"threads", required_argument, NULL, 't'},
    {"seed", required_argument, NULL, 's'},
    {"compute", required_argument, NULL, 'c'},
    {"file", required_argument, NULL, 'f'},
    {"help", no_argument, NULL, 'h'},
    {"cold", no_argument, NULL, OPTION_COLD},
    {"verify", no_argument, NULL, OPTION_VERIFY},
    {"create", no_argument, NULL, OPTION_CREATE},
    {"size", required_argument, NULL, OPTION_SIZE},
    {"show", no_argument, NULL, OPTION_SHOW},
    {"share", required_argument, NULL, OPTION_SHARE},
    {NULL, 0, NULL, 0},
};

static int take(int option, const char *text, struct options *o, char *problem)
{
    struct pattern *p = &o->pattern;
    uint64_t number = 0;

    switch (option) {
    case 'N':
        return number_read("operations", text, 0, 1, NUMBER_MAX, &p->operations, problem);
    case 'w':
        return number_read("min-size", text, 1, 1, READ_MAX, &p->min_size, problem);
    case 'W':
        return number_read("max-size", text, 1, 1, READ_MAX, &p->max_size, problem);
    case 'S':
        return number_read("scatter", text, 1, 0, LENGTH_MAX, &p->scatter, problem);
    case 'L':
        return number_read("leads", text, 0, 1, LEADS_MAX, &p->leads, problem);
    case 'l':
        return number_read("advance", text, 1, 0, LENGTH_MAX, &p->advance, problem);
    case 'r':
        return number_read("repeat", text, 0, 1, NUMBER_MAX, &p->repeat, problem);
    case 'g':
        return read_range("scatter-interval", text, 1, LENGTH_MAX, &p->scatter_interval, problem);
    case 'G':
        return read_range("repeat-interval", text, 0, NUMBER_MAX, &p->repeat_interval, problem);
    case 't':
        return number_read("threads", text, 0, 1, THREADS_MAX, &p->threads, problem);
    case 's':
        if (number_read("seed", text, 0, 0, NUMBER_MAX, &number, problem))
            return -1;
        o->seed = (unsigned long)number;
        return 0;
    case 'c':
        return number_read("compute", text, 0, 0, NUMBER_MAX, &o->compute_us, problem);
    case OPTION_SIZE:
        return number_read("size", text, 1, 1, LENGTH_MAX, &o->size, problem);
    case OPTION_SHARE:
        return read_share(text, o, problem);
    case 'f':
        o->file = text;
        return 0;
    case 'h':
        o->mode = MODE_HELP;
        return 0;
    case OPTION_CREATE:
        o->mode = MODE_CREATE;
        return 0;
    case OPTION_SHOW:
        o->mode = MODE_SHOW;
        return 0;
    case OPTION_COLD:
        o->cold = 1;
        return 0;
    case OPTION_VERIFY:
        o->verify = 1;
        return 0;
    default:
        return 0;
    }
}

// Set the parameters to those of the pattern that --pattern names. This happens before all other options are applied,
// wherever --pattern is on the command line, so that other options can override single parameters.
static int read_pattern(int argc, char **argv, struct pattern *pattern, char *problem)
{
    const char *name = "c";
    int option;

    optind = 1;
    while ((option = getopt_long(argc, argv, SHORT, LONG, NULL)) != -1) {
        if (option == 'p')
            name = optarg;
        if (option == '?' || option == ':') {
            snprintf(problem, PROBLEM_BYTES, "%.60s: %s; --help shows all", argv[optind - 1],
                     option == ':' ? "takes a value" : "unknown option");
            return -1;
        }
    }
    if (optind < argc) {
        snprintf(problem, PROBLEM_BYTES, "%.60s: not an option; --help shows all", argv[optind]);
        return -1;
    }
    if (pattern_named(name, pattern) == 0)
        return 0;
    snprintf(problem, PROBLEM_BYTES, "--pattern takes a, b, c or d, not %.60s", name);
    return -1;
}

int options_read(int argc, char **argv, struct options *options, char problem[PROBLEM_BYTES])
{
    int option;

    *options = (struct options){.mode = MODE_READ, .seed = 1, .share = 1, .shares = 1};
    if (read_pattern(argc, argv, &options->pattern, problem))
        return -1;
    optind = 1;
    while ((option = getopt_long(argc, argv, SHORT, LONG, NULL)) != -1) {
        if (take(option, optarg, options, problem))
            return -1;
    }
    return options->mode == MODE_HELP ? 0 : check(options, problem);
}
