// SPDX-License-Identifier: Apache-2.0
#include "allowlist.h"

#include <string.h>

// Variables that the plugin may set, as listed in docs/reference/variables.md; a test compares the two lists. A `*` at
// the end of a name matches one or more of the characters A-Z a-z 0-9 _.
static const char *const patterns[] = {
    "OMPI_MCA_*",
    "PRTE_MCA_*",
    "PMIX_MCA_*",
    "ROMIO_HINTS",
    "ROMIO_*",
    "PNETCDF_HINTS",
    "SRO_*",
    "SBB_*",
    "FASTIO_*",
    "UCX_RNDV_THRESH",
    "UCX_ZCOPY_THRESH",
    "UCX_RNDV_SCHEME",
    "SLURM_DISTRIBUTION",
    "OMP_NUM_THREADS",
    "OMP_PROC_BIND",
    "OMP_PLACES",
    "OMP_SCHEDULE",
    "OMP_WAIT_POLICY",
    "GOMP_SPINCOUNT",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "GLIBC_TUNABLES",
    "REPRISE_*",
};

// Variables that the plugin reports if they are set, because they conflict with a component, but never sets itself.
// They are also listed in docs/reference/variables.md.
static const char *const told[] = {
    "LD_PRELOAD", "UCX_*", "OMP_*",  "GOMP_*",   "KMP_*",      "OPENBLAS_*",
    "GOTO_*",     "MKL_*", "BLIS_*", "MALLOC_*", "MIMALLOC_*", "TCMALLOC_*",
};

static bool is_name_character(char c)
{
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
}

static bool matches(const char *pattern, const char *name, size_t length)
{
    size_t fixed = strcspn(pattern, "*");
    if (length < fixed || memcmp(name, pattern, fixed) != 0) {
        return false;
    }
    if (pattern[fixed] == '\0') {
        return length == fixed;
    }
    for (size_t i = fixed; i < length; i++) {
        if (!is_name_character(name[i])) {
            return false;
        }
    }
    return length > fixed;
}

static bool any_matches(const char *const *list, size_t count, const char *name, size_t length)
{
    for (size_t i = 0; i < count; i++) {
        if (matches(list[i], name, length)) {
            return true;
        }
    }
    return false;
}

bool allowlist_has(const char *name, size_t length)
{
    return any_matches(patterns, sizeof patterns / sizeof *patterns, name, length);
}

bool allowlist_tells(const char *name, size_t length)
{
    return allowlist_has(name, length) || any_matches(told, sizeof told / sizeof *told, name, length);
}
