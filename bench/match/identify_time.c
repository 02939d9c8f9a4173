// SPDX-License-Identifier: Apache-2.0
// Measures how long a job waits when the matcher requests the identity of its program. `identify_time ENDPOINT PATH
// COUNT` prints the duration of COUNT waits in microseconds, one per line. Run it as an ordinary user: root's jobs get
// no such request.
#include <stdio.h>
#include <stdlib.h>

#include "../../spank/identify.h"
#include "../../spank/settings.h"

static void complain(const char *problem)
{
    fprintf(stderr, "%s\n", problem);
    exit(2);
}

int main(int argc, char **argv)
{
    static struct settings settings;
    if (argc != 4) {
        complain("identify_time ENDPOINT PATH COUNT");
    }
    settings_read(&settings, 1, argv + 1, complain);
    for (long left = strtol(argv[3], NULL, 10); left > 0; left--) {
        const nanoseconds begun = monotonic_now();
        identify(&settings.matcher, deadline_in_ms(settings.deadline_ms), "d-1", argv[2]);
        printf("%.1f\n", (double)(monotonic_now() - begun) / 1e3);
    }
    return 0;
}
