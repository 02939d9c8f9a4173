// SPDX-License-Identifier: Apache-2.0
// Fuzz the arguments of the plugin's line in plugstack.conf, one per line.
#include <stdlib.h>
#include <string.h>

#include "../../spank/settings.h"
#include "harness.h"

static size_t problems;

static void count_problem(const char *problem)
{
    MUST(strlen(problem) < 512 && strstr(problem, " is ignored: "));
    problems++;
}

static void check_text(const char *text, size_t size)
{
    MUST(memchr(text, '\0', size));
}

static void check_settings(const struct settings *settings)
{
    MUST(settings->matcher.count >= 1 && settings->matcher.count <= ENDPOINTS_MAX);
    MUST(settings->deadline_ms >= 1 && settings->deadline_ms <= DEADLINE_MS_MAX);
    MUST(settings->mode == MODE_ON || settings->mode == MODE_OFF || settings->mode == MODE_OBSERVE);
    MUST(settings->minimum_uid != (uid_t)-1 && settings->matcher.uid != (uid_t)-1);
    check_text(settings->kill_switch, sizeof settings->kill_switch);
    check_text(settings->matcher.credential.munge_socket, sizeof settings->matcher.credential.munge_socket);
    MUST(settings->kill_switch[0] == '/');
    check_text(settings->matcher.credential.sack_socket, sizeof settings->matcher.credential.sack_socket);
    MUST(!settings->matcher.credential.sack_socket[0] || settings->matcher.credential.sack_socket[0] == '/');
    MUST(!settings->matcher.credential.munge_socket[0] || settings->matcher.credential.munge_socket[0] == '/');
    for (size_t i = 0; i < settings->matcher.count; i++) {
        struct endpoint again = {0};
        check_text(settings->matcher.endpoints[i].text, ENDPOINT_MAX + 1);
        MUST(endpoint_parse(&again, settings->matcher.endpoints[i].text) == 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct settings settings;
    struct settings alone;
    size_t count = 0;
    char *text = copy_text(data, size);
    char **arguments = split(text, size, '\n', 64, &count);
    problems = 0;
    settings_read(&settings, (int)count, arguments, count_problem);
    MUST(problems <= count);
    check_settings(&settings);

    // An ignored argument must have no effect: the settings must be the same without it.
    const size_t all = problems;
    for (size_t i = 0, taken = 0; i < count; i++) {
        problems = 0;
        settings_read(&alone, 1, &arguments[i], count_problem);
        if (problems == 0) {
            arguments[taken++] = arguments[i];
        }
        if (i == count - 1) {
            problems = 0;
            settings_read(&alone, (int)taken, arguments, count_problem);
            MUST(problems == all - (count - taken)); // endpoints beyond the limit, which are no problem alone
            MUST(memcmp(&alone.matcher, &settings.matcher, sizeof alone.matcher) == 0);
            MUST(strcmp(alone.kill_switch, settings.kill_switch) == 0 && alone.mode == settings.mode);
            MUST(alone.deadline_ms == settings.deadline_ms && alone.minimum_uid == settings.minimum_uid);
        }
    }
    free(arguments);
    free(text);
    return 0;
}
