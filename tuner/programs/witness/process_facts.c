// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "process_facts.h"

#include <link.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "clock.h"
#include "raw.h"

enum { FILE_BYTES = 4096, PAGES = 64 };

static uint64_t in_ns(struct timeval time)
{
    return (uint64_t)time.tv_sec * 1000000000U + (uint64_t)time.tv_usec * 1000U;
}

static void read_file(const char *path, char *text, size_t room)
{
    int fd = raw_open(path, O_RDONLY | O_CLOEXEC, 0);
    ssize_t length = fd >= 0 ? raw_read(fd, text, room - 1) : 0;

    text[length > 0 ? length : 0] = '\0';
    if (fd >= 0)
        raw_close(fd);
}

static uint64_t number_after(const char *text, const char *name)
{
    const char *found = strstr(text, name);

    return found ? strtoull(found + strlen(name), NULL, 10) : 0;
}

// Return the time that a page fault takes, in nanoseconds, measured on memory that is used for the first time.
static uint64_t fault_cost(void)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    volatile char *memory = mmap(NULL, PAGES * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (memory == MAP_FAILED)
        return 0;
    const uint64_t before = clock_ns(CLOCK_MONOTONIC);
    for (int i = 0; i < PAGES; i++)
        memory[(size_t)i * page] = 1;
    const uint64_t cost = (clock_ns(CLOCK_MONOTONIC) - before) / PAGES;
    munmap((void *)memory, PAGES * page);
    return cost;
}

static void take_affinity(struct process_facts *facts)
{
    cpu_set_t set;
    size_t length = 0;

    if (sched_getaffinity(0, sizeof(set), &set))
        return;
    facts->processors = CPU_COUNT(&set);
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        int last = cpu;
        if (!CPU_ISSET(cpu, &set))
            continue;
        while (last + 1 < CPU_SETSIZE && CPU_ISSET(last + 1, &set))
            last++;
        if (length + 16 >= AFFINITY_BYTES)
            break;
        length += (size_t)snprintf(facts->affinity + length, AFFINITY_BYTES - length, last > cpu ? "%s%d-%d" : "%s%d",
                                   length ? "," : "", cpu, last);
        cpu = last;
    }
}

static int take_library(struct dl_phdr_info *info, size_t size, void *data)
{
    static const char *const known[] = {"libgomp",     "libomp",      "libiomp",     "libopenblas", "libblis",
                                        "libmkl_",     "libblas",     "libhdf5",     "libpnetcdf",  "libnetcdf",
                                        "libjemalloc", "libtcmalloc", "libmimalloc", "libucp",      "libfftw3",
                                        "libmpi.so",   "libmpich"};
    struct process_facts *facts = data;
    const char *name = info->dlpi_name ? strrchr(info->dlpi_name, '/') : NULL;

    (void)size;
    for (int i = 0; name && i < facts->libraries; i++)
        if (strncmp(facts->library[i], name + 1, LIBRARY_BYTES - 1) == 0)
            return 0;
    for (size_t i = 0; name && i < sizeof(known) / sizeof(*known) && facts->libraries < LIBRARIES_MAX; i++)
        if (strncmp(name + 1, known[i], strlen(known[i])) == 0) {
            snprintf(facts->library[facts->libraries++], LIBRARY_BYTES, "%s", name + 1);
            break;
        }
    return 0;
}

void process_facts_take(struct process_facts *facts)
{
    struct rusage all = {0}, first = {0};
    static char text[FILE_BYTES]; // static, because the stack may be small (see report_write)

    memset(facts, 0, offsetof(struct process_facts, libraries));
    getrusage(RUSAGE_SELF, &all);
    facts->cpu_ns = in_ns(all.ru_utime) + in_ns(all.ru_stime);
    facts->system_ns = in_ns(all.ru_stime);
    facts->main_cpu_ns = facts->cpu_ns;
    if (getpid() == (pid_t)syscall(SYS_gettid) && getrusage(RUSAGE_THREAD, &first) == 0)
        facts->main_cpu_ns = in_ns(first.ru_utime) + in_ns(first.ru_stime);
    facts->minor_faults = all.ru_minflt;
    facts->major_faults = all.ru_majflt;
    facts->voluntary = all.ru_nvcsw;
    facts->involuntary = all.ru_nivcsw;
    facts->peak_rss = all.ru_maxrss * 1024LL;
    facts->online = (int)sysconf(_SC_NPROCESSORS_ONLN);
    facts->fault_ns = fault_cost();
    read_file("/proc/self/status", text, sizeof(text));
    facts->threads = (int)number_after(text, "\nThreads:");
    read_file("/proc/self/io", text, sizeof(text));
    facts->rchar = number_after(text, "rchar:");
    facts->wchar = number_after(text, "wchar:");
    facts->read_bytes = number_after(text, "\nread_bytes:");
    facts->write_bytes = number_after(text, "\nwrite_bytes:");
    take_affinity(facts);
    dl_iterate_phdr(take_library, facts);
}
