// SPDX-License-Identifier: Apache-2.0
#include "allowlist.h"

#include <string.h>

#include "allowlist_table.h"

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

bool allowlist_takes(const char *name, size_t length, const char *value)
{
    return !strchr(value, '/') || !any_matches(bare, sizeof bare / sizeof *bare, name, length);
}

bool allowlist_tells(const char *name, size_t length)
{
    return allowlist_has(name, length) || any_matches(reported, sizeof reported / sizeof *reported, name, length);
}

int allowlist_version(void)
{
    return ALLOWLIST_VERSION;
}
