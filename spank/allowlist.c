// SPDX-License-Identifier: Apache-2.0
#include "allowlist.h"

#include <string.h>

// As in docs/protocol.md, which a test compares with this table: a `*` at the end stands for one or more of
// A-Z a-z 0-9 _.
static const char *const patterns[] = {
    "OMPI_MCA_*",    "PRTE_MCA_*", "PMIX_MCA_*", "ROMIO_HINTS", "ROMIO_*",
    "PNETCDF_HINTS", "SRO_*",      "SBB_*",      "FASTIO_*",    "REPRISE_*",
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

bool allowlist_has(const char *name, size_t length)
{
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++) {
        if (matches(patterns[i], name, length)) {
            return true;
        }
    }
    return false;
}
