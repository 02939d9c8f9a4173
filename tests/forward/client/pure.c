// SPDX-License-Identifier: Apache-2.0
// Makes the library's pure functions callable from Python.
#include <string.h>

#include "map.h"
#include "settings.h"

static const char *const *names;
static const char *const *values;
static char complaint[600];

static const char *look_up(const char *name)
{
    for (int i = 0; names[i]; i++) {
        if (strcmp(names[i], name) == 0) {
            return values[i];
        }
    }
    return NULL;
}

static void complain(const char *line)
{
    strncpy(complaint, line, sizeof complaint - 1);
}

struct settings *pure_settings(const char *const *given_names, const char *const *given_values, const char *host);
const char *pure_complaint(void);

struct settings *pure_settings(const char *const *given_names, const char *const *given_values, const char *host)
{
    static struct settings settings;
    names = given_names;
    values = given_values;
    complaint[0] = '\0';
    settings_read(&settings, look_up, complain, host);
    return &settings;
}

const char *pure_complaint(void)
{
    return complaint;
}

// Fields of the settings, so that Python need not know the structure.
int pure_enabled(const struct settings *settings);
long long pure_least(const struct settings *settings);
unsigned pure_node(const struct settings *settings);
int pure_prefixes(const struct settings *settings);
const char *pure_map(const struct settings *settings);

int pure_enabled(const struct settings *settings)
{
    return settings->enabled;
}

long long pure_least(const struct settings *settings)
{
    return settings->least_bytes;
}

unsigned pure_node(const struct settings *settings)
{
    return settings->node;
}

const char *pure_map(const struct settings *settings)
{
    return settings->map;
}

int pure_prefixes(const struct settings *settings)
{
    return settings->prefix_count;
}
